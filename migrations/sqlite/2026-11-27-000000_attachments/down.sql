DROP INDEX users_without_small_picture;
ALTER TABLE users DROP COLUMN small_picture;
ALTER TABLE unnamed_images DROP COLUMN upload;
ALTER TABLE unnamed_images DROP COLUMN owner;
DROP TABLE post_images;
DROP INDEX posts_without_preview;
ALTER TABLE posts DROP COLUMN attachments;
