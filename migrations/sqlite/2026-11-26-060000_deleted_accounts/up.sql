-- Whether an account is one of those in `erasures`: whoever reads the row of the account need not look there.
ALTER TABLE users ADD COLUMN is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1));

-- contract: whoever deletes an account need not know of it
CREATE TRIGGER erasures_mark_account AFTER INSERT ON erasures BEGIN
    UPDATE users SET is_deleted = 1 WHERE id = new.user_id;
END;

UPDATE users SET is_deleted = 1 WHERE id IN (SELECT user_id FROM erasures);
