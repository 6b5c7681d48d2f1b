-- Documents that are no longer in `search_texts`, whose words `search_postings` still has: until the program takes them out.
CREATE TABLE search_deletions (
    kind INTEGER NOT NULL,
    document INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    PRIMARY KEY (kind, document)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_deletions_by_time ON search_deletions (deleted_at);

-- contract: whoever deletes a text need not know of it
CREATE TRIGGER search_texts_delete AFTER DELETE ON search_texts BEGIN
    INSERT INTO search_deletions (kind, document) VALUES (old.kind, old.document);
END;
