-- The accounts that were deleted, as long as something is left of them: nobody is shown what belongs to one of these.
CREATE TABLE erasures (
    user_id BLOB NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX erasures_by_time ON erasures (deleted_at, user_id);

-- Their names and addresses, which are not given out for a while.
CREATE TABLE kept_names (
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 16),
    kept_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_names_by_end ON kept_names (kept_until);

-- By whose act a notification was made, where it tells of one alone.
CREATE INDEX notifications_by_actor ON notifications (actor_id) WHERE actor_id IS NOT NULL;

-- Not partial, so that what refers to a deleted account is found by it. Those that are marked as deleted are passed over.
DROP INDEX posts_by_visibility;
CREATE INDEX posts_by_visibility ON posts (author_id, visibility, created_at, id, deleted_at);

-- SQLite takes it then for what is found by an id, and not the many of a kind.
DROP INDEX search_texts_by_id;
-- contract: every text is there once already
CREATE UNIQUE INDEX search_texts_by_id ON search_texts (kind, id);
