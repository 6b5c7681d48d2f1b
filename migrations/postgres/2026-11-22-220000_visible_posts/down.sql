DROP TRIGGER posts_shown ON posts;
DROP FUNCTION renew_post_transaction();
DROP INDEX posts_by_visibility;
