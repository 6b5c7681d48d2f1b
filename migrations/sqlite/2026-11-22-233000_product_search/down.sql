-- Derived from the rest: nothing is lost.
DROP TRIGGER products_search_insert;
DROP TRIGGER products_search_update;
DROP TRIGGER products_search_delete;
DROP TABLE product_ngrams;
DROP TABLE product_search;
DROP TABLE product_documents;
