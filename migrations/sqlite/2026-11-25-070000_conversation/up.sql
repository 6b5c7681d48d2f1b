-- Where a comment stands: the comment at the top of its thread, NULL of that one itself, and the comment that it answers.
-- Neither is a foreign key: whoever deletes a comment deletes its thread first, some rows at a time, and what was answered
-- may be gone.
ALTER TABLE comments ADD COLUMN parent_id BLOB;
ALTER TABLE comments ADD COLUMN reply_to_id BLOB;
-- Kept in step by the transaction that changes replies or likes, so that no read counts rows.
ALTER TABLE comments ADD COLUMN reply_count INTEGER NOT NULL DEFAULT 0 CHECK (reply_count >= 0);
ALTER TABLE comments ADD COLUMN like_count INTEGER NOT NULL DEFAULT 0 CHECK (like_count >= 0);
-- What the text names, in the notation of the domain; NULL while that was not extracted: of comments of before.
ALTER TABLE comments ADD COLUMN entities TEXT;

-- The comments at the top level of a post and the replies on it, each in the order of time, instead of all of them: a new
-- comment is written to no more indexes than before. The list of all merges the two.
CREATE INDEX comments_top_level ON comments (post_id, created_at, id) WHERE parent_id IS NULL;
CREATE INDEX comments_replies_on_post ON comments (post_id, created_at, id) WHERE parent_id IS NOT NULL;
DROP INDEX comments_by_time;
CREATE INDEX comments_replies ON comments (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX comments_unresolved ON comments (id) WHERE entities IS NULL;

-- contract: it changes what is new alone: whoever changes a text need not know of it, and whoever does stores it after that
CREATE TRIGGER comments_text_changed AFTER UPDATE OF content ON comments WHEN new.content <> old.content BEGIN
    UPDATE comments SET entities = NULL WHERE id = new.id;
END;

CREATE TABLE comment_likes (
    comment_id BLOB NOT NULL REFERENCES comments (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id BLOB NOT NULL CHECK (length(id) = 16),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (comment_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX comment_likes_by_time ON comment_likes (comment_id, created_at, id);
