-- What users are told. One of a like or a follow tells of all of a day (counted from 1970-01-01, UTC) with the same target; each
-- other one stands alone, and has no day. What it is about may be gone: that is seen when it is read. Its id is a UUIDv7 of
-- the time when it was made, by which the old ones are found.
CREATE TABLE notifications (
    id uuid NOT NULL PRIMARY KEY,
    recipient_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind smallint NOT NULL,
    -- Whose act it is; NULL where it tells of several.
    actor_id uuid,
    post_id uuid,
    comment_id uuid,
    day integer,
    target_id uuid,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- Of how many it tells.
    count bigint NOT NULL CHECK (count >= 0),
    -- Whether that is none any more: kept for the case that one of them acts again on the same day.
    is_empty boolean NOT NULL,
    is_read boolean NOT NULL,
    CHECK ((day IS NULL) = (target_id IS NULL) AND (day IS NULL) <> (actor_id IS NULL))
);

CREATE INDEX notifications_by_time ON notifications (recipient_id, is_empty, updated_at, id, is_read);
CREATE UNIQUE INDEX notifications_of_day ON notifications (day, kind, target_id) WHERE day IS NOT NULL;

-- Of whose likes or follows one tells; the id is that of the like or follow. No foreign key, neither here nor below: each act would
-- check it. Whoever deletes a notification deletes these with it.
CREATE TABLE notification_actors (
    notification_id uuid NOT NULL,
    id uuid NOT NULL,
    actor_id uuid NOT NULL,
    PRIMARY KEY (notification_id, id)
);

-- Who took such a like or follow back: one who acts again on the same day is told of no second time.
CREATE TABLE notification_withdrawals (
    notification_id uuid NOT NULL,
    actor_id uuid NOT NULL,
    PRIMARY KEY (notification_id, actor_id)
);

-- Whose acts of a kind a user is told of, where these are not everybody's: those of whom the user follows (1), or nobody's (2).
CREATE TABLE notification_settings (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind smallint NOT NULL,
    policy smallint NOT NULL CHECK (policy IN (1, 2)),
    PRIMARY KEY (user_id, kind)
);
