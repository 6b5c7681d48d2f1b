DROP TRIGGER search_texts_delete ON search_texts;
DROP FUNCTION note_search_deletion;
DROP TABLE search_deletions;
