-- What is marked is gone.
DELETE FROM posts WHERE deleted_at IS NOT NULL;
CREATE INDEX posts_by_author ON posts (author_id, created_at, id);
DROP INDEX posts_by_visibility;
DROP INDEX posts_deleted;
ALTER TABLE posts DROP COLUMN deleted_at;
