DROP TRIGGER posts_tags_shown ON posts;
DROP TRIGGER posts_text_changed ON posts;
DROP FUNCTION show_tags();
DROP FUNCTION forget_entities();
DROP TABLE post_tags;
DROP INDEX posts_unresolved;
ALTER TABLE posts DROP COLUMN entities;
