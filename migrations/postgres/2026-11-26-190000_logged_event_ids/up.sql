-- Events get their ids from a sequence that is in the write-ahead log, as the table is not. From version 15 on, the sequence of a column of
-- an unlogged table is unlogged as well, and on a replica that takes over it cannot be read: nothing could be written that is told.
-- contract: it has a default instead, with which the release before does as well
ALTER TABLE events ALTER COLUMN id DROP IDENTITY;
CREATE SEQUENCE event_ids;
SELECT setval('event_ids', (SELECT coalesce(max(id), 0) + 1 FROM events), false);
ALTER TABLE events ALTER COLUMN id SET DEFAULT nextval('event_ids');
