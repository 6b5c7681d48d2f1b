-- What users are told. One of a like or a follow tells of all of a day (counted from 1970-01-01, UTC) with the same target; each
-- other one stands alone, and has no day. What it is about may be gone: that is seen when it is read. Its id is a UUIDv7 of
-- the time when it was made, by which the old ones are found.
CREATE TABLE notifications (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    recipient_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    -- Whose act it is; NULL where it tells of several.
    actor_id BLOB,
    post_id BLOB,
    comment_id BLOB,
    day INTEGER,
    target_id BLOB,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Of how many it tells.
    count INTEGER NOT NULL CHECK (count >= 0),
    -- Whether that is none any more: kept for the case that one of them acts again on the same day.
    is_empty INTEGER NOT NULL CHECK (is_empty IN (0, 1)),
    is_read INTEGER NOT NULL CHECK (is_read IN (0, 1)),
    CHECK ((day IS NULL) = (target_id IS NULL) AND (day IS NULL) <> (actor_id IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX notifications_by_time ON notifications (recipient_id, is_empty, updated_at, id, is_read);
CREATE UNIQUE INDEX notifications_of_day ON notifications (day, kind, target_id) WHERE day IS NOT NULL;

-- Of whose likes or follows one tells; the id is that of the like or follow. No foreign key, neither here nor below: each act would
-- check it. Whoever deletes a notification deletes these with it.
CREATE TABLE notification_actors (
    notification_id BLOB NOT NULL,
    id BLOB NOT NULL,
    actor_id BLOB NOT NULL,
    PRIMARY KEY (notification_id, id)
) STRICT, WITHOUT ROWID;

-- Who took such a like or follow back: one who acts again on the same day is told of no second time.
CREATE TABLE notification_withdrawals (
    notification_id BLOB NOT NULL,
    actor_id BLOB NOT NULL,
    PRIMARY KEY (notification_id, actor_id)
) STRICT, WITHOUT ROWID;

-- Whose acts of a kind a user is told of, where these are not everybody's: those of whom the user follows (1), or nobody's (2).
CREATE TABLE notification_settings (
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    policy INTEGER NOT NULL CHECK (policy IN (1, 2)),
    PRIMARY KEY (user_id, kind)
) STRICT, WITHOUT ROWID;
