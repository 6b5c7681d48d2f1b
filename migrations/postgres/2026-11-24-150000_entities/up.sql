-- What the text of a post names, in the notation of the domain; NULL while that was not worked out: of posts of before, and
-- of those whose text a node of the release before wrote.
ALTER TABLE posts ADD COLUMN entities text;
CREATE INDEX posts_unresolved ON posts (id) WHERE entities IS NULL AND deleted_at IS NULL;

-- The hashtags of posts, with what decides who may view these: a page of a hashtag is read from its one index.
CREATE TABLE post_tags (
    tag text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    author_id uuid NOT NULL,
    visibility smallint NOT NULL,
    PRIMARY KEY (tag, created_at, post_id) INCLUDE (author_id, visibility)
);
CREATE INDEX post_tags_by_post ON post_tags (post_id);

CREATE FUNCTION forget_entities() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM post_tags WHERE post_id = OLD.id;
    NEW.entities = NULL;
    RETURN NEW;
END $$;

CREATE FUNCTION show_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE post_tags SET visibility = NEW.visibility WHERE post_id = OLD.id;
    RETURN NULL;
END $$;

-- contract: it changes what is new alone: whoever changes a text need not know of it, and whoever does stores it after that
CREATE TRIGGER posts_text_changed BEFORE UPDATE OF content ON posts
    FOR EACH ROW WHEN (OLD.content <> NEW.content) EXECUTE FUNCTION forget_entities();

-- contract: it changes what is new alone
CREATE TRIGGER posts_tags_shown AFTER UPDATE OF visibility ON posts
    FOR EACH ROW WHEN (OLD.visibility <> NEW.visibility) EXECUTE FUNCTION show_tags();
