-- How many posts each user has, how many follow the user and how many the user follows: kept by whatever changes a post or
-- a follow, so that nobody counts rows.
CREATE TABLE user_counts (
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- 0 to 2: posts of this visibility that are not marked as deleted; 3: followed; 16 to 31: followers, all together.
    counter INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (user_id, counter)
) STRICT, WITHOUT ROWID;

INSERT INTO user_counts (user_id, counter, value)
    SELECT author_id, visibility, count(*) FROM posts WHERE deleted_at IS NULL GROUP BY author_id, visibility;
INSERT INTO user_counts (user_id, counter, value) SELECT follower_id, 3, count(*) FROM follows GROUP BY follower_id;
INSERT INTO user_counts (user_id, counter, value) SELECT followed_id, 16, count(*) FROM follows GROUP BY followed_id;

-- contract: whoever changes a post need not know of it
CREATE TRIGGER posts_count_insert AFTER INSERT ON posts WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO user_counts (user_id, counter, value) VALUES (new.author_id, new.visibility, 1)
        ON CONFLICT (user_id, counter) DO UPDATE SET value = value + 1;
END;

-- contract: likewise
CREATE TRIGGER posts_count_update AFTER UPDATE OF visibility, deleted_at ON posts
    WHEN new.visibility <> old.visibility OR (new.deleted_at IS NULL) <> (old.deleted_at IS NULL) BEGIN
    UPDATE user_counts SET value = value - 1
        WHERE user_id = old.author_id AND counter = old.visibility AND old.deleted_at IS NULL;
    INSERT INTO user_counts (user_id, counter, value)
        SELECT new.author_id, new.visibility, 1 WHERE new.deleted_at IS NULL
        ON CONFLICT (user_id, counter) DO UPDATE SET value = value + 1;
END;

-- contract: likewise
CREATE TRIGGER posts_count_delete AFTER DELETE ON posts WHEN old.deleted_at IS NULL BEGIN
    UPDATE user_counts SET value = value - 1 WHERE user_id = old.author_id AND counter = old.visibility;
END;

-- contract: whoever changes a follow need not know of it
CREATE TRIGGER follows_count_insert AFTER INSERT ON follows BEGIN
    INSERT INTO user_counts (user_id, counter, value) VALUES (new.follower_id, 3, 1), (new.followed_id, 16, 1)
        ON CONFLICT (user_id, counter) DO UPDATE SET value = value + 1;
END;

-- contract: likewise
CREATE TRIGGER follows_count_delete AFTER DELETE ON follows BEGIN
    UPDATE user_counts SET value = value - 1 WHERE user_id = old.follower_id AND counter = 3;
    UPDATE user_counts SET value = value - 1 WHERE user_id = old.followed_id AND counter = 16;
END;
