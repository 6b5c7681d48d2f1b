-- Which state the catalog is in, drawn anew by whatever changes a product: what clients keep of its lists is told by it
-- from what is there. What belongs to a product changes with its row.
CREATE TABLE catalog_version (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    version BLOB NOT NULL CHECK (length(version) = 16)
) STRICT, WITHOUT ROWID;

INSERT INTO catalog_version (singleton, version) VALUES (1, randomblob(16));

-- contract: whoever changes a product need not know of it
CREATE TRIGGER products_version_insert AFTER INSERT ON products BEGIN
    UPDATE catalog_version SET version = randomblob(16);
END;

-- contract: likewise
CREATE TRIGGER products_version_update AFTER UPDATE ON products BEGIN
    UPDATE catalog_version SET version = randomblob(16);
END;

-- contract: likewise
CREATE TRIGGER products_version_delete AFTER DELETE ON products BEGIN
    UPDATE catalog_version SET version = randomblob(16);
END;
