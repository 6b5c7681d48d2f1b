-- What others are shown beside a username, and what they find and see of an account, as its user has chosen.
ALTER TABLE users ADD COLUMN display_name TEXT;
ALTER TABLE users ADD COLUMN discoverable INTEGER NOT NULL DEFAULT 1 CHECK (discoverable IN (0, 1));
ALTER TABLE users ADD COLUMN searchable INTEGER NOT NULL DEFAULT 1 CHECK (searchable IN (0, 1));
ALTER TABLE users ADD COLUMN hide_counts INTEGER NOT NULL DEFAULT 0 CHECK (hide_counts IN (0, 1));

-- Those who want to be found, in the order of the directory.
CREATE INDEX users_directory ON users (created_at, id) WHERE enabled AND discoverable;
