-- What is known of the images of a post, as JSON: of each its key, its size, its blurhash and its alt text, in their order. The first is
-- also in the column image. NULL of a post without images, and while the preview of an image of before was not made.
ALTER TABLE posts ADD COLUMN attachments TEXT;
CREATE INDEX posts_without_preview ON posts (id) WHERE image IS NOT NULL AND attachments IS NULL;

-- The images of posts but the first of each, to tell which images rows name.
CREATE TABLE post_images (
    post_id BLOB NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (post_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_images_by_key ON post_images (key);

-- Of an image that was uploaded to be attached to a post: by whom, and what is known of it, as in posts.
ALTER TABLE unnamed_images ADD COLUMN owner BLOB;
ALTER TABLE unnamed_images ADD COLUMN upload TEXT;

-- The name of the file that is shown where the picture of a user is small: that of its thumbnail, or of the picture itself where none can be
-- made. NULL while that was not found out; of another picture when a node of the release before has set the picture since.
ALTER TABLE users ADD COLUMN small_picture TEXT;
CREATE INDEX users_without_small_picture ON users (id)
    WHERE profile_picture IS NOT NULL AND (small_picture IS NULL OR substr(small_picture, 1, length(profile_picture)) <> profile_picture);
