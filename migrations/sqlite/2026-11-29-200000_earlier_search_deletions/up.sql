-- What was deleted before. In a migration of its own: whoever deletes waits for the end of the one that makes the trigger.
INSERT INTO search_deletions (kind, document)
    WITH RECURSIVE places (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM places WHERE place < 1023)
    SELECT b.kind, b.bucket * 1024 + place FROM search_buckets b JOIN places ON place < b.documents
    WHERE NOT EXISTS (SELECT 1 FROM search_texts t WHERE t.kind = b.kind AND t.document = b.bucket * 1024 + place)
    ON CONFLICT DO NOTHING;
