-- Those of one account with their answers, the newest first: so many stay on record.
CREATE INDEX idempotency_by_caller ON idempotency (caller, begun_at) WHERE answer IS NOT NULL;
