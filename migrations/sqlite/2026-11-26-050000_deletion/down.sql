DROP INDEX search_texts_by_id;
CREATE INDEX search_texts_by_id ON search_texts (kind, id);
DROP INDEX posts_by_visibility;
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id) WHERE deleted_at IS NULL;
DROP INDEX notifications_by_actor;
DROP TABLE kept_names;
DROP TABLE erasures;
