-- The requests of the last day that clients may send again, each with the answer that a retry gets: stored in the
-- transaction of what the request wrote.
CREATE TABLE idempotency (
    attempt uuid NOT NULL PRIMARY KEY,
    -- The nil UUID where no account is needed.
    caller uuid NOT NULL,
    route text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    begun_at timestamptz NOT NULL,
    answer bytea,
    CONSTRAINT idempotency_name UNIQUE (caller, key, route)
);

CREATE INDEX idempotency_by_time ON idempotency (begun_at);
