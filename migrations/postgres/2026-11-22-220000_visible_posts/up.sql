-- The posts of an author that a viewer may see are found visibility by visibility, in the order of the page, however many
-- others are between them. The release before reads by posts_by_author.
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id);

-- A post that is shown to others than before comes into their feeds like a new one: it is found by the transaction that
-- showed it.
CREATE FUNCTION renew_post_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.transaction = pg_current_xact_id();
    RETURN NEW;
END $$;

-- contract: it changes a column that the release before compares alone
CREATE TRIGGER posts_shown BEFORE UPDATE OF visibility ON posts
    FOR EACH ROW WHEN (OLD.visibility <> NEW.visibility) EXECUTE FUNCTION renew_post_transaction();
