-- The posts of an author that a viewer may see are found visibility by visibility, in the order of the page, however many
-- others are between them.
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id);
DROP INDEX posts_by_author;
