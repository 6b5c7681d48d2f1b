-- By what posts, users and products are found: their words, as the program cuts and folds them. A thing is found exactly if
-- its `words` contain what is looked for; the other tables say where that is worth a look. Of the newest, here alone.
CREATE TABLE search_tail (
    -- 0 post, 1 user, 2 product
    kind smallint NOT NULL CHECK (kind IN (0, 1, 2)),
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    words text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, created_at, id)
);

-- Those that are in a bucket. A document's number is 1,024 times that of its bucket and its place there.
CREATE TABLE search_texts (
    kind smallint NOT NULL,
    document bigint NOT NULL,
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    words text COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, document)
);

CREATE INDEX search_texts_by_id ON search_texts (kind, id);

-- A bucket has some documents, in the order of time, and never gets others.
CREATE TABLE search_buckets (
    kind smallint NOT NULL,
    bucket bigint NOT NULL,
    documents smallint NOT NULL,
    oldest_at timestamptz NOT NULL,
    oldest_id uuid NOT NULL,
    newest_at timestamptz NOT NULL,
    newest_id uuid NOT NULL,
    PRIMARY KEY (kind, bucket)
);

CREATE INDEX search_buckets_newest ON search_buckets (kind, newest_at, newest_id, bucket);
CREATE INDEX search_buckets_oldest ON search_buckets (kind, oldest_at, oldest_id, bucket);

-- Which documents of a bucket have a word: their places there in two bytes each, the lower one first, in order.
CREATE TABLE search_postings (
    kind smallint NOT NULL,
    bucket bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    documents bytea NOT NULL,
    PRIMARY KEY (kind, bucket, word)
);

-- In which buckets a word is: of a rare one there are few to look at, however many buckets there are.
CREATE INDEX search_postings_word ON search_postings (kind, word, bucket);

-- Whether a row is in `search_tail` or `search_texts`. The program puts there what is not.
ALTER TABLE posts ADD COLUMN indexed boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD COLUMN indexed boolean NOT NULL DEFAULT false;
ALTER TABLE products ADD COLUMN indexed boolean NOT NULL DEFAULT false;

CREATE INDEX posts_unindexed ON posts (created_at, id) WHERE NOT indexed AND deleted_at IS NULL;
CREATE INDEX users_unindexed ON users (created_at, id) WHERE NOT indexed;
CREATE INDEX products_unindexed ON products (created_at, id) WHERE NOT indexed;

-- Both are given the kind of the row.
CREATE FUNCTION renew_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_tail WHERE kind = TG_ARGV[0]::smallint AND created_at = OLD.created_at AND id = OLD.id;
    DELETE FROM search_texts WHERE kind = TG_ARGV[0]::smallint AND id = OLD.id;
    NEW.indexed = false;
    RETURN NEW;
END $$;

CREATE FUNCTION delete_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM search_tail WHERE kind = TG_ARGV[0]::smallint AND created_at = OLD.created_at AND id = OLD.id;
    DELETE FROM search_texts WHERE kind = TG_ARGV[0]::smallint AND id = OLD.id;
    RETURN NULL;
END $$;

-- contract: whoever changes a text need not know of it
CREATE TRIGGER posts_search_update BEFORE UPDATE OF content ON posts FOR EACH ROW
    WHEN (NEW.content <> OLD.content) EXECUTE FUNCTION renew_search_text('0');

-- contract: likewise
CREATE TRIGGER posts_search_delete AFTER DELETE ON posts FOR EACH ROW EXECUTE FUNCTION delete_search_text('0');

-- contract: likewise
CREATE TRIGGER users_search_update BEFORE UPDATE OF username, display_name ON users FOR EACH ROW
    WHEN (NEW.username <> OLD.username OR NEW.display_name IS DISTINCT FROM OLD.display_name)
    EXECUTE FUNCTION renew_search_text('1');

-- contract: likewise
CREATE TRIGGER users_search_delete AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION delete_search_text('1');

-- contract: likewise
CREATE TRIGGER products_words_update BEFORE UPDATE OF name, description, sku, category ON products FOR EACH ROW
    WHEN (NEW.name <> OLD.name OR NEW.description <> OLD.description OR NEW.sku <> OLD.sku OR NEW.category <> OLD.category)
    EXECUTE FUNCTION renew_search_text('2');

-- contract: likewise
CREATE TRIGGER products_words_delete AFTER DELETE ON products FOR EACH ROW EXECUTE FUNCTION delete_search_text('2');
