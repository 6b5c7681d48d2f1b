DROP TRIGGER search_texts_delete;
DROP TABLE search_deletions;
