DROP INDEX users_without_small_picture;
ALTER TABLE users DROP COLUMN small_picture;
DROP FUNCTION insert_post(
    uuid, uuid, text, text[], text, smallint, timestamptz, timestamptz, text, text, text[], uuid[], smallint[], uuid[]
);
DROP TRIGGER posts_image_changed ON posts;
DROP TRIGGER posts_images_deleted ON posts;
DROP FUNCTION give_up_images();
ALTER TABLE unnamed_images DROP COLUMN owner, DROP COLUMN upload;
DROP TABLE post_images;
DROP INDEX posts_without_preview;
ALTER TABLE posts DROP COLUMN attachments;
