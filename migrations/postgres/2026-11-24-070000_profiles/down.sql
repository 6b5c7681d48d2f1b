DROP INDEX users_directory;
ALTER TABLE users DROP COLUMN hide_counts;
ALTER TABLE users DROP COLUMN searchable;
ALTER TABLE users DROP COLUMN discoverable;
ALTER TABLE users DROP COLUMN display_name;
