DROP TRIGGER posts_tags_shown;
DROP TRIGGER posts_text_changed;
DROP TABLE post_tags;
DROP INDEX posts_unresolved;
ALTER TABLE posts DROP COLUMN entities;
