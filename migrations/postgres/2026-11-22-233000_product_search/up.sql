-- Every sequence of three characters of a text that ends with two characters more, so that each of its own begins one: what
-- has a text in it has all of that text's.
CREATE FUNCTION agora_trigrams(text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_to_tsvector(array_agg(first || second || third))
    FROM unnest(
        string_to_array($1 || E'\n\n', NULL),
        string_to_array(substr($1 || E'\n\n', 2), NULL),
        string_to_array(substr($1 || E'\n\n', 3), NULL)
    ) AS characters (first, second, third)
    WHERE third IS NOT NULL
$$;

-- The products that may have a text in them, whatever is asked for.
CREATE INDEX products_by_trigram ON products USING gin (agora_trigrams(search_key));
