DROP TRIGGER erasures_mark_account ON erasures;
DROP FUNCTION mark_deleted_account;
ALTER TABLE users DROP COLUMN is_deleted;
