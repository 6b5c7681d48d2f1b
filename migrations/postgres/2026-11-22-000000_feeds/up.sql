-- Which state the user's follows are in: counts their changes, so that what is remembered of a feed can be told from what
-- is there.
ALTER TABLE users ADD COLUMN follow_version bigint NOT NULL DEFAULT 0;

-- The transaction that stored the post: what is read by it are the posts that came to be seen since another look.
ALTER TABLE posts ADD COLUMN transaction xid8 NOT NULL DEFAULT '0';
ALTER TABLE posts ALTER COLUMN transaction SET DEFAULT pg_current_xact_id();
CREATE INDEX posts_by_transaction ON posts (transaction);

-- With the user in it, the newest likers of a post are read from the index alone.
DROP INDEX likes_by_time;
CREATE INDEX likes_by_time ON likes (post_id, created_at, id) INCLUDE (user_id);
