-- What was deleted before. In a migration of its own: whoever deletes waits for the end of the one that makes the trigger.
INSERT INTO search_deletions (kind, document)
    SELECT b.kind, b.bucket * 1024 + place FROM search_buckets b CROSS JOIN generate_series(0, b.documents - 1) place
    WHERE NOT EXISTS (SELECT FROM search_texts t WHERE t.kind = b.kind AND t.document = b.bucket * 1024 + place)
    ON CONFLICT DO NOTHING;
