DROP TABLE mail_tokens;
DROP TABLE mails;
ALTER TABLE users DROP COLUMN email_verified;
