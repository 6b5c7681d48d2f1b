-- What others are shown beside a username, and what they find and see of an account, as its user has chosen.
ALTER TABLE users ADD COLUMN display_name text;
ALTER TABLE users ADD COLUMN discoverable boolean NOT NULL DEFAULT true;
ALTER TABLE users ADD COLUMN searchable boolean NOT NULL DEFAULT true;
ALTER TABLE users ADD COLUMN hide_counts boolean NOT NULL DEFAULT false;

-- Those who want to be found, in the order of the directory.
CREATE INDEX users_directory ON users (created_at, id) WHERE enabled AND discoverable;
