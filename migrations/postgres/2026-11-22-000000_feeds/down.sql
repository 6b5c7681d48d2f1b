-- Derived from the rest: nothing is lost.
DROP INDEX likes_by_time;
CREATE INDEX likes_by_time ON likes (post_id, created_at, id);
DROP INDEX posts_by_transaction;
ALTER TABLE posts DROP COLUMN transaction;
ALTER TABLE users DROP COLUMN follow_version;
