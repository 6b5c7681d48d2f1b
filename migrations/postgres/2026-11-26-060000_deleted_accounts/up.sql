-- Whether an account is one of those in `erasures`: whoever reads the row of the account need not look there.
ALTER TABLE users ADD COLUMN is_deleted boolean NOT NULL DEFAULT false;

CREATE FUNCTION mark_deleted_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE users SET is_deleted = true WHERE id = NEW.user_id;
    RETURN NULL;
END $$;

-- contract: whoever deletes an account need not know of it
CREATE TRIGGER erasures_mark_account AFTER INSERT ON erasures FOR EACH ROW EXECUTE FUNCTION mark_deleted_account();

UPDATE users SET is_deleted = true WHERE id IN (SELECT user_id FROM erasures);
