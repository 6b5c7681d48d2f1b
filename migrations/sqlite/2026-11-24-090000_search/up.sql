-- By what posts, users and products are found: their words, as the program cuts and folds them. A thing is found exactly if
-- its `words` contain what is looked for; the other tables say where that is worth a look. Of the newest, here alone.
CREATE TABLE search_tail (
    -- 0 post, 1 user, 2 product
    kind INTEGER NOT NULL CHECK (kind IN (0, 1, 2)),
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 16),
    words TEXT NOT NULL,
    PRIMARY KEY (kind, created_at, id)
) STRICT, WITHOUT ROWID;

-- Those that are in a bucket. A document's number is 1,024 times that of its bucket and its place there.
CREATE TABLE search_texts (
    kind INTEGER NOT NULL,
    document INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (kind, document)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_texts_by_id ON search_texts (kind, id);

-- A bucket has some documents, in the order of time, and never gets others.
CREATE TABLE search_buckets (
    kind INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    oldest_at INTEGER NOT NULL,
    oldest_id BLOB NOT NULL,
    newest_at INTEGER NOT NULL,
    newest_id BLOB NOT NULL,
    PRIMARY KEY (kind, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_buckets_newest ON search_buckets (kind, newest_at, newest_id, bucket);
CREATE INDEX search_buckets_oldest ON search_buckets (kind, oldest_at, oldest_id, bucket);

-- Which documents of a bucket have a word: their places there in two bytes each, the lower one first, in order.
CREATE TABLE search_postings (
    kind INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    word TEXT NOT NULL,
    documents BLOB NOT NULL,
    PRIMARY KEY (kind, bucket, word)
) STRICT, WITHOUT ROWID;

-- In which buckets a word is: of a rare one there are few to look at, however many buckets there are.
CREATE INDEX search_postings_word ON search_postings (kind, word, bucket);

-- Whether a row is in `search_tail` or `search_texts`. The program puts there what is not.
ALTER TABLE posts ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0 CHECK (indexed IN (0, 1));
ALTER TABLE users ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0 CHECK (indexed IN (0, 1));
ALTER TABLE products ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0 CHECK (indexed IN (0, 1));

CREATE INDEX posts_unindexed ON posts (created_at, id) WHERE NOT indexed AND deleted_at IS NULL;
CREATE INDEX users_unindexed ON users (created_at, id) WHERE NOT indexed;
CREATE INDEX products_unindexed ON products (created_at, id) WHERE NOT indexed;

-- contract: whoever changes a text need not know of it
CREATE TRIGGER posts_search_update AFTER UPDATE OF content ON posts WHEN new.content <> old.content BEGIN
    DELETE FROM search_tail WHERE kind = 0 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 0 AND id = old.id;
    UPDATE posts SET indexed = 0 WHERE id = new.id;
END;

-- contract: likewise
CREATE TRIGGER posts_search_delete AFTER DELETE ON posts BEGIN
    DELETE FROM search_tail WHERE kind = 0 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 0 AND id = old.id;
END;

-- contract: likewise
CREATE TRIGGER users_search_update AFTER UPDATE OF username, display_name ON users
    WHEN new.username <> old.username OR new.display_name IS NOT old.display_name BEGIN
    DELETE FROM search_tail WHERE kind = 1 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 1 AND id = old.id;
    UPDATE users SET indexed = 0 WHERE id = new.id;
END;

-- contract: likewise
CREATE TRIGGER users_search_delete AFTER DELETE ON users BEGIN
    DELETE FROM search_tail WHERE kind = 1 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 1 AND id = old.id;
END;

-- contract: likewise
CREATE TRIGGER products_words_update AFTER UPDATE OF name, description, sku, category ON products
    WHEN new.name <> old.name OR new.description <> old.description OR new.sku <> old.sku OR new.category <> old.category BEGIN
    DELETE FROM search_tail WHERE kind = 2 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 2 AND id = old.id;
    UPDATE products SET indexed = 0 WHERE id = new.id;
END;

-- contract: likewise
CREATE TRIGGER products_words_delete AFTER DELETE ON products BEGIN
    DELETE FROM search_tail WHERE kind = 2 AND created_at = old.created_at AND id = old.id;
    DELETE FROM search_texts WHERE kind = 2 AND id = old.id;
END;
