-- Where a comment stands: the comment at the top of its thread, NULL of that one itself, and the comment that it answers.
-- Neither is a foreign key: whoever deletes a comment deletes its thread first, some rows at a time, and what was answered
-- may be gone.
ALTER TABLE comments ADD COLUMN parent_id uuid;
ALTER TABLE comments ADD COLUMN reply_to_id uuid;
-- Kept in step by the transaction that changes replies or likes, so that no read counts rows.
ALTER TABLE comments ADD COLUMN reply_count bigint NOT NULL DEFAULT 0 CHECK (reply_count >= 0);
ALTER TABLE comments ADD COLUMN like_count bigint NOT NULL DEFAULT 0 CHECK (like_count >= 0);
-- What the text names, in the notation of the domain; NULL while that was not extracted: of comments of before, and of those
-- whose text a node of the release before wrote.
ALTER TABLE comments ADD COLUMN entities text;
-- A like changes a count, which is in no index. Where the page has room for the changed row, no index is written.
ALTER TABLE comments SET (fillfactor = 90);

CREATE INDEX comments_top_level ON comments (post_id, created_at, id) WHERE parent_id IS NULL;
CREATE INDEX comments_replies ON comments (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX comments_unresolved ON comments (id) WHERE entities IS NULL;

CREATE FUNCTION forget_entities_of_comment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.entities = NULL;
    RETURN NEW;
END $$;

-- contract: it changes what is new alone: whoever changes a text need not know of it, and whoever does stores it after that
CREATE TRIGGER comments_text_changed BEFORE UPDATE OF content ON comments
    FOR EACH ROW WHEN (OLD.content <> NEW.content) EXECUTE FUNCTION forget_entities_of_comment();

CREATE TABLE comment_likes (
    comment_id uuid NOT NULL REFERENCES comments (id) ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (comment_id, user_id)
);

CREATE INDEX comment_likes_by_time ON comment_likes (comment_id, created_at, id);
