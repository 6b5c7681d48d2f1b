-- Derived from the rest: nothing is lost.
ALTER TABLE users DROP COLUMN follow_version;
