-- Derived from the rest: nothing is lost.
DROP INDEX products_by_ngram;
DROP FUNCTION agora_ngrams(text);
