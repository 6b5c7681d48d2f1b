-- What is known of the images of a post, as JSON: of each its key, its size, its blurhash and its alt text, in their order. The first is
-- also in the column image, where a node of the release before looks for it.
-- NULL of a post without images, and while the preview of an image of before was not made.
ALTER TABLE posts ADD COLUMN attachments text;
CREATE INDEX posts_without_preview ON posts (id) WHERE image IS NOT NULL AND attachments IS NULL;

-- The images of posts but the first of each, to tell which images rows name.
CREATE TABLE post_images (
    post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    position integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (post_id, position)
);
CREATE INDEX post_images_by_key ON post_images (key);

-- Whoever deletes a post, or changes its first image, and knows of no others, gives these up: they are on record then.
CREATE FUNCTION give_up_images() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.image IS NOT DISTINCT FROM OLD.image THEN
        RETURN NEW;
    END IF;
    INSERT INTO unnamed_images (key, since, condemned)
        SELECT key, now(), false FROM post_images WHERE post_id = OLD.id ORDER BY key
        ON CONFLICT (key) DO NOTHING;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    DELETE FROM post_images WHERE post_id = OLD.id;
    NEW.attachments = NULL;
    RETURN NEW;
END $$;

-- contract: it changes what is new alone
CREATE TRIGGER posts_images_deleted BEFORE DELETE ON posts
    FOR EACH ROW WHEN (OLD.attachments IS NOT NULL) EXECUTE FUNCTION give_up_images();

-- contract: it changes what is new alone, and only where whoever changes the image does not change what is known of it. It does not name
-- the column image, whose type could not be changed then.
CREATE TRIGGER posts_image_changed BEFORE UPDATE ON posts
    FOR EACH ROW WHEN (OLD.attachments IS NOT NULL AND NEW.attachments = OLD.attachments) EXECUTE FUNCTION give_up_images();

-- Of an image that was uploaded to be attached to a post: by whom, and what is known of it, as in posts.
ALTER TABLE unnamed_images ADD COLUMN owner uuid, ADD COLUMN upload text;

-- Stores a post with the words by which it is found, and tells of it; false where one of its images is not on record any more.
CREATE FUNCTION insert_post(
    new_post uuid, author uuid, post_content text, images text[], post_attachments text, post_visibility smallint, posted_at timestamptz,
    changed_at timestamptz, post_entities text, search_words text, tags text[], notice_ids uuid[], notice_kinds smallint[], recipients uuid[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    named bigint;
BEGIN
    IF cardinality(images) > 0 THEN
        -- All of them or none.
        PERFORM FROM unnamed_images WHERE NOT condemned AND key = ANY (images) FOR UPDATE;
        GET DIAGNOSTICS named = ROW_COUNT;
        IF named < cardinality(images) THEN
            RETURN false;
        END IF;
        DELETE FROM unnamed_images WHERE key = ANY (images);
    END IF;
    INSERT INTO posts (id, author_id, content, image, attachments, visibility, created_at, updated_at, entities, indexed)
        VALUES (new_post, author, post_content, images[1], post_attachments, post_visibility, posted_at, changed_at, post_entities, true);
    IF cardinality(images) > 1 THEN
        INSERT INTO post_images (post_id, position, key)
            SELECT new_post, i.nth - 1, i.key FROM unnest(images) WITH ORDINALITY AS i (key, nth) WHERE i.nth > 1;
    END IF;
    INSERT INTO search_tail (kind, id, created_at, words) VALUES (0, new_post, posted_at, search_words);
    IF cardinality(tags) > 0 THEN
        INSERT INTO post_tags (tag, created_at, post_id, author_id, visibility)
            SELECT t, posted_at, new_post, author, post_visibility FROM unnest(tags) t;
    END IF;
    INSERT INTO events (kind, post_id, user_id) VALUES (0, new_post, author);
    IF cardinality(notice_ids) > 0 THEN
        PERFORM notify_users(notice_ids, notice_kinds, recipients, author, new_post, NULL, posted_at);
    END IF;
    RETURN true;
END $$;

-- The name of the file that is shown where the picture of a user is small: that of its thumbnail, or of the picture itself where none can be
-- made. NULL while that was not found out; of another picture when a node of the release before has set the picture since.
ALTER TABLE users ADD COLUMN small_picture text;
CREATE INDEX users_without_small_picture ON users (id)
    WHERE profile_picture IS NOT NULL AND (small_picture IS NULL OR substr(small_picture, 1, length(profile_picture)) <> profile_picture);
