-- Which state the user's follows are in: counts their changes, so that what is remembered of a feed can be told from what
-- is there.
ALTER TABLE users ADD COLUMN follow_version INTEGER NOT NULL DEFAULT 0;
