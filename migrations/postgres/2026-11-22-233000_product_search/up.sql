-- Every sequence of one, two and three characters of a text, each once: what has a text in it has all of that text's.
CREATE FUNCTION agora_ngrams(text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT gram), ARRAY[]::text[]) FROM (
        SELECT unnest(ARRAY[c, c || lead(c) OVER w, c || lead(c) OVER w || lead(c, 2) OVER w]) AS gram
        FROM unnest(string_to_array($1, NULL)) WITH ORDINALITY AS characters (c, n)
        WINDOW w AS (ORDER BY n)
    ) AS grams
    WHERE gram IS NOT NULL
$$;

-- The products that may have a text in them, whatever is asked for.
CREATE INDEX products_by_ngram ON products USING gin (agora_ngrams(search_key));
