DROP TABLE used_tickets;
DROP TABLE event_log;
DROP TABLE events;
