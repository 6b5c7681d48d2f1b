CREATE INDEX posts_by_author ON posts (author_id, created_at, id);
DROP INDEX posts_by_visibility;
