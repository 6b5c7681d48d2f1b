-- Posts that users keep for themselves.
CREATE TABLE bookmarks (
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    post_id BLOB NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    id BLOB NOT NULL CHECK (length(id) = 16),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX bookmarks_by_time ON bookmarks (user_id, created_at, id);
CREATE INDEX bookmarks_by_post ON bookmarks (post_id);

-- What everybody may view, in the order of the public timeline, however much is hidden between it.
CREATE INDEX posts_public ON posts (created_at, id) WHERE visibility = 0 AND deleted_at IS NULL;
