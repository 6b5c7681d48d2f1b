-- When a session was last used, by the hour, unless that is when it was opened, and what its client said of itself.
ALTER TABLE sessions ADD COLUMN last_seen_at timestamptz;
ALTER TABLE sessions ADD COLUMN user_agent text;

-- Those of an account that were not ended, in the order of their list.
CREATE INDEX sessions_live ON sessions (user_id, opened_at, id) WHERE revoked_at IS NULL;
