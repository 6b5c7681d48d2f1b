ALTER TABLE events ALTER COLUMN id DROP DEFAULT;
ALTER TABLE events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY;
SELECT setval(pg_get_serial_sequence('events', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM events), false);
DROP SEQUENCE event_ids;
