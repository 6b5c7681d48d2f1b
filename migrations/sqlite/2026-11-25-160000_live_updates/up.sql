-- Tickets that opened a stream, until they have expired. What happens is kept in memory: there is one process.
CREATE TABLE used_tickets (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX used_tickets_by_expiry ON used_tickets (expires_at);
