CREATE INDEX posts_by_time ON posts (created_at, id);
CREATE INDEX posts_public ON posts (created_at, id) WHERE visibility = 0 AND deleted_at IS NULL;
DROP INDEX posts_timeline;
