-- Up to which place of the write-ahead log each account has written, in bytes from its beginning: until a replica has replayed that,
-- lists are not read from it for the account. The row of nobody, whose id is all zeros, holds for every account: what was written before the table
-- lost its rows. It does at a crash and at a failover: it is not in the log, so that it costs a write next to nothing.
CREATE UNLOGGED TABLE write_positions (
    user_id uuid PRIMARY KEY,
    position bigint NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What one node at a time does, where the database has no advisory locks: whoever holds a lease has it until it expires, unless it is renewed
-- before. A start makes the table itself, to apply migrations under a lease. Two of the rows are no leases, but locked by transactions.
CREATE TABLE IF NOT EXISTS leases (
    name text PRIMARY KEY,
    holder uuid NOT NULL,
    expires_at timestamptz NOT NULL
);
INSERT INTO leases (name, holder, expires_at) VALUES
    ('admins', '00000000-0000-0000-0000-000000000000', 'epoch'),
    ('packing', '00000000-0000-0000-0000-000000000000', 'epoch');
