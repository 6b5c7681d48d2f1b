DROP TRIGGER erasures_mark_account;
ALTER TABLE users DROP COLUMN is_deleted;
