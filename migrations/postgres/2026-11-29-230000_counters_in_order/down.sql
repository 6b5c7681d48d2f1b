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
