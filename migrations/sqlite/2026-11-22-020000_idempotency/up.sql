-- The requests of the last day that clients may send again, each with the answer that a retry gets: stored in the
-- transaction of what the request wrote.
CREATE TABLE idempotency (
    attempt BLOB NOT NULL PRIMARY KEY CHECK (length(attempt) = 16),
    -- Sixteen zero bytes where no account is needed.
    caller BLOB NOT NULL CHECK (length(caller) = 16),
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    begun_at INTEGER NOT NULL,
    answer BLOB,
    CONSTRAINT idempotency_name UNIQUE (caller, key, route)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_time ON idempotency (begun_at);
