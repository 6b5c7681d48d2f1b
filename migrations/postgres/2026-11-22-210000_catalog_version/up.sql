-- Which state the catalog is in, drawn anew by whatever changes a product: what clients keep of its lists is told by it
-- from what is there. What belongs to a product changes with its row.
CREATE TABLE catalog_version (
    singleton smallint NOT NULL PRIMARY KEY CHECK (singleton = 1),
    version uuid NOT NULL
);

INSERT INTO catalog_version (singleton, version) VALUES (1, gen_random_uuid());

CREATE FUNCTION renew_catalog_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE catalog_version SET version = gen_random_uuid();
    RETURN NULL;
END $$;

-- contract: whoever changes a product need not know of it
CREATE TRIGGER products_version AFTER INSERT OR UPDATE OR DELETE ON products
    FOR EACH STATEMENT EXECUTE FUNCTION renew_catalog_version();
