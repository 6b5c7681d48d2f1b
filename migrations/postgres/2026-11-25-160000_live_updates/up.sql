-- What happened in the last minutes, for those who listen. It goes with the server's memory: nobody can go on behind what a crash
-- or a failover has emptied, and is told so, since the log then has another epoch.
CREATE UNLOGGED TABLE events (
    -- In the order in which they were put here, some of them by transactions that others do not see yet.
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The place in the log: given once it is committed, by one node at a time, so that each node reads the same order.
    number bigint,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind smallint NOT NULL,
    post_id uuid,
    comment_id uuid,
    -- The author of the post, or who was told.
    user_id uuid,
    notification_id uuid,
    -- The visibility of the post, or the kind of the notification.
    detail smallint
);

CREATE INDEX events_without_number ON events (id) WHERE number IS NULL;
CREATE UNIQUE INDEX events_by_number ON events (number) WHERE number IS NOT NULL;

-- Up to where events have numbers, and up to which number they were deleted: one row, also the lock of whoever gives numbers.
CREATE UNLOGGED TABLE event_log (
    id smallint NOT NULL PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    epoch bigint NOT NULL DEFAULT floor(random() * 9007199254740992),
    last_number bigint NOT NULL DEFAULT 0,
    trimmed bigint NOT NULL DEFAULT 0
);

-- Tickets that opened a stream, until they have expired.
CREATE TABLE used_tickets (
    id uuid NOT NULL PRIMARY KEY,
    expires_at timestamptz NOT NULL
);

CREATE INDEX used_tickets_by_expiry ON used_tickets (expires_at);

-- Each notification locked the row of its recipient for it: others who tell the same user waited, and it took as long as the
-- notification itself. Accounts are not deleted.
ALTER TABLE notifications DROP CONSTRAINT notifications_recipient_id_fkey;
