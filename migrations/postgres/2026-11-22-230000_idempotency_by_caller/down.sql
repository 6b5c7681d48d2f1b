DROP INDEX idempotency_by_caller;
