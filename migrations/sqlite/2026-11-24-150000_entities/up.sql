-- What the text of a post names, in the notation of the domain; NULL while that was not worked out: of posts of before.
ALTER TABLE posts ADD COLUMN entities TEXT;
CREATE INDEX posts_unresolved ON posts (id) WHERE entities IS NULL AND deleted_at IS NULL;

-- The hashtags of posts, with what decides who may view these: a page of a hashtag is read from its one index.
CREATE TABLE post_tags (
    tag TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    post_id BLOB NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    author_id BLOB NOT NULL,
    visibility INTEGER NOT NULL,
    PRIMARY KEY (tag, created_at, post_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX post_tags_by_post ON post_tags (post_id);

-- contract: it changes what is new alone: whoever changes a text need not know of it, and whoever does stores it after that
CREATE TRIGGER posts_text_changed AFTER UPDATE OF content ON posts WHEN new.content <> old.content BEGIN
    UPDATE posts SET entities = NULL WHERE id = new.id;
    DELETE FROM post_tags WHERE post_id = new.id;
END;

-- contract: it changes what is new alone
CREATE TRIGGER posts_tags_shown AFTER UPDATE OF visibility ON posts WHEN new.visibility <> old.visibility BEGIN
    UPDATE post_tags SET visibility = new.visibility WHERE post_id = new.id;
END;
