-- What is marked is gone.
DELETE FROM posts WHERE deleted_at IS NOT NULL;
DROP TRIGGER posts_shown ON posts;
DROP FUNCTION renew_post_transaction();
DROP INDEX posts_by_visibility;
DROP INDEX posts_deleted;
ALTER TABLE posts DROP COLUMN deleted_at;
