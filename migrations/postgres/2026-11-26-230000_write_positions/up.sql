-- Up to which place of the write-ahead log each account has written, in bytes from its beginning: until a replica has replayed that,
-- lists are not read from it for the account. The row of nobody, whose id is all zeros, holds for every account: what was written before the table
-- lost its rows. It does at a crash and at a failover: it is not in the log, so that it costs a write next to nothing.
CREATE UNLOGGED TABLE write_positions (
    user_id uuid PRIMARY KEY,
    position bigint NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
