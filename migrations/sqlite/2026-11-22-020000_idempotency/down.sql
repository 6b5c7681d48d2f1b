-- What clients send again from here on is carried out again.
DROP TABLE idempotency;
