-- A post with very many likes and comments is gone for everybody as soon as it is marked, and its rows are erased some at
-- a time.
ALTER TABLE posts ADD COLUMN deleted_at INTEGER;
CREATE INDEX posts_deleted ON posts (deleted_at) WHERE deleted_at IS NOT NULL;

-- The posts of an author that a viewer may see are found visibility by visibility, in the order of the page, however many
-- others are between them.
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id) WHERE deleted_at IS NULL;
DROP INDEX posts_by_author;
