-- One index of the posts of all authors instead of two: the posts of a visibility in the order of time. All posts are read
-- visibility by visibility.
CREATE INDEX posts_timeline ON posts (visibility, created_at, id) WHERE deleted_at IS NULL;
DROP INDEX posts_public;
DROP INDEX posts_by_time;
