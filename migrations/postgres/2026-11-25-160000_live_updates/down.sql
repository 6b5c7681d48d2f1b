ALTER TABLE notifications ADD CONSTRAINT notifications_recipient_id_fkey
    FOREIGN KEY (recipient_id) REFERENCES users (id) ON DELETE CASCADE;
DROP TABLE used_tickets;
DROP TABLE event_log;
DROP TABLE events;
