CREATE INDEX posts_by_author ON posts (author_id, created_at, id);
DROP INDEX posts_by_visibility;
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id) WHERE deleted_at IS NULL;
ALTER TABLE posts RESET (fillfactor);
