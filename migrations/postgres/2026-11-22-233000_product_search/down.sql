-- Derived from the rest: nothing is lost.
DROP INDEX products_by_trigram;
DROP FUNCTION agora_trigrams(text);
