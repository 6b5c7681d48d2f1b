CREATE OR REPLACE FUNCTION count_changed_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.deleted_at IS NULL THEN
        UPDATE user_counts SET value = value - 1 WHERE user_id = OLD.author_id AND counter = OLD.visibility;
    END IF;
    IF NEW.deleted_at IS NULL THEN
        INSERT INTO user_counts AS c (user_id, counter, value) VALUES (NEW.author_id, NEW.visibility, 1)
            ON CONFLICT (user_id, counter) DO UPDATE SET value = c.value + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION insert_post(
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
