-- A post with very many likes and comments is gone for everybody as soon as it is marked, and its rows are erased some at
-- a time.
ALTER TABLE posts ADD COLUMN deleted_at timestamptz;
CREATE INDEX posts_deleted ON posts (deleted_at) WHERE deleted_at IS NOT NULL;

-- The posts of an author that a viewer may see are found visibility by visibility, in the order of the page, however many
-- others are between them. The release before reads by posts_by_author.
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id) WHERE deleted_at IS NULL;

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
