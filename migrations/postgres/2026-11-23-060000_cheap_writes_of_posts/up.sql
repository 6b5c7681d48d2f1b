-- A like or a comment changes a count of its post, which is in no index. Where the page has room for the changed row, no
-- index is written.
ALTER TABLE posts SET (fillfactor = 90);

-- One index of the posts of an author instead of two. It has deleted posts as well: the release before, which does not
-- know of them, finds the posts of an author by it too.
DROP INDEX posts_by_visibility;
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id) INCLUDE (deleted_at);
DROP INDEX posts_by_author;
