-- Documents that are no longer in `search_texts`, whose words `search_postings` still has: until the program takes them out.
CREATE TABLE search_deletions (
    kind smallint NOT NULL,
    document bigint NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, document)
);

CREATE INDEX search_deletions_by_time ON search_deletions (deleted_at);

CREATE FUNCTION note_search_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_deletions (kind, document) VALUES (OLD.kind, OLD.document);
    RETURN NULL;
END $$;

-- contract: whoever deletes a text need not know of it
CREATE TRIGGER search_texts_delete AFTER DELETE ON search_texts FOR EACH ROW EXECUTE FUNCTION note_search_deletion();
