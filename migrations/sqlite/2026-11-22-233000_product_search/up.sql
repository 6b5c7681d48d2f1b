-- The products that may have a text in them, by their sequences of three characters. FTS5 knows documents by number.
CREATE TABLE product_documents (
    number INTEGER NOT NULL PRIMARY KEY,
    product_id BLOB NOT NULL UNIQUE
) STRICT;

-- The texts are folded already, and end with two characters more, so that each of theirs begins a sequence.
CREATE VIRTUAL TABLE product_search USING fts5 (
    search_key, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);

-- Its sequences in order: those that begin with one or two characters.
CREATE VIRTUAL TABLE product_ngrams USING fts5vocab (product_search, instance);

INSERT INTO product_documents (product_id) SELECT id FROM products ORDER BY created_at, id;
INSERT INTO product_search (rowid, search_key)
    SELECT d.number, p.search_key || char(10, 10) FROM product_documents d JOIN products p ON p.id = d.product_id;

-- contract: whoever changes a product need not know of it
CREATE TRIGGER products_search_insert AFTER INSERT ON products BEGIN
    INSERT INTO product_documents (product_id) VALUES (new.id);
    INSERT INTO product_search (rowid, search_key)
        SELECT number, new.search_key || char(10, 10) FROM product_documents WHERE product_id = new.id;
END;

-- contract: likewise
CREATE TRIGGER products_search_update AFTER UPDATE OF search_key ON products WHEN new.search_key <> old.search_key BEGIN
    DELETE FROM product_search WHERE rowid = (SELECT number FROM product_documents WHERE product_id = new.id);
    INSERT INTO product_search (rowid, search_key)
        SELECT number, new.search_key || char(10, 10) FROM product_documents WHERE product_id = new.id;
END;

-- contract: likewise
CREATE TRIGGER products_search_delete AFTER DELETE ON products BEGIN
    DELETE FROM product_search WHERE rowid = (SELECT number FROM product_documents WHERE product_id = old.id);
    DELETE FROM product_documents WHERE product_id = old.id;
END;
