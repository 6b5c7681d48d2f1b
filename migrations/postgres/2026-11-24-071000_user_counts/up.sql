-- How many posts each user has, how many follow the user and how many the user follows: kept by whatever changes a post or
-- a follow, so that nobody counts rows. Where a page has room for the changed row, no index is written.
CREATE TABLE user_counts (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- 0 to 2: posts of this visibility that are not marked as deleted; 3: followed; 16 to 31: followers, by the last bits of
    -- their identifiers, so that those who follow the same user at once seldom wait for each other.
    counter smallint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (user_id, counter)
) WITH (fillfactor = 50);

CREATE FUNCTION count_new_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_counts AS c (user_id, counter, value) VALUES (NEW.author_id, NEW.visibility, 1)
        ON CONFLICT (user_id, counter) DO UPDATE SET value = c.value + 1;
    RETURN NULL;
END $$;

CREATE FUNCTION count_changed_post() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE FUNCTION count_deleted_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_counts SET value = value - 1 WHERE user_id = OLD.author_id AND counter = OLD.visibility;
    RETURN NULL;
END $$;

CREATE FUNCTION count_new_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_counts AS c (user_id, counter, value)
        VALUES (NEW.follower_id, 3, 1), (NEW.followed_id, 16 + (get_byte(uuid_send(NEW.follower_id), 15) & 15), 1)
        ON CONFLICT (user_id, counter) DO UPDATE SET value = c.value + 1;
    RETURN NULL;
END $$;

CREATE FUNCTION count_deleted_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_counts SET value = value - 1 WHERE user_id = OLD.follower_id AND counter = 3;
    UPDATE user_counts SET value = value - 1
        WHERE user_id = OLD.followed_id AND counter = 16 + (get_byte(uuid_send(OLD.follower_id), 15) & 15);
    RETURN NULL;
END $$;

-- Whoever fills the tables in one transaction says so, and counts all rows at its end: one row that changes ever again in a
-- transaction is found ever more slowly.
-- contract: whoever changes a post need not know of it
CREATE TRIGGER posts_count_insert AFTER INSERT ON posts FOR EACH ROW
    WHEN (NEW.deleted_at IS NULL AND current_setting('agora.count_later', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION count_new_post();

-- contract: likewise
CREATE TRIGGER posts_count_update AFTER UPDATE OF visibility, deleted_at ON posts FOR EACH ROW
    WHEN (NEW.visibility <> OLD.visibility OR (NEW.deleted_at IS NULL) <> (OLD.deleted_at IS NULL))
    EXECUTE FUNCTION count_changed_post();

-- contract: likewise
CREATE TRIGGER posts_count_delete AFTER DELETE ON posts FOR EACH ROW
    WHEN (OLD.deleted_at IS NULL AND current_setting('agora.count_later', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION count_deleted_post();

-- contract: whoever changes a follow need not know of it
CREATE TRIGGER follows_count_insert AFTER INSERT ON follows FOR EACH ROW
    WHEN (current_setting('agora.count_later', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION count_new_follow();

-- contract: likewise
CREATE TRIGGER follows_count_delete AFTER DELETE ON follows FOR EACH ROW
    WHEN (current_setting('agora.count_later', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION count_deleted_follow();

-- Others who write wait for the end of this: it counts what is there.
INSERT INTO user_counts (user_id, counter, value)
    SELECT author_id, visibility, count(*) FROM posts WHERE deleted_at IS NULL GROUP BY author_id, visibility;
INSERT INTO user_counts (user_id, counter, value) SELECT follower_id, 3, count(*) FROM follows GROUP BY follower_id;
INSERT INTO user_counts (user_id, counter, value)
    SELECT followed_id, 16 + (get_byte(uuid_send(follower_id), 15) & 15), count(*) FROM follows GROUP BY 1, 2;
