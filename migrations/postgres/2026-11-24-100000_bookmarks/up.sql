-- Posts that users keep for themselves.
CREATE TABLE bookmarks (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, post_id)
);

CREATE INDEX bookmarks_by_time ON bookmarks (user_id, created_at, id);
CREATE INDEX bookmarks_by_post ON bookmarks (post_id);

-- What everybody may view, in the order of the public timeline, however much is hidden between it.
CREATE INDEX posts_public ON posts (created_at, id) WHERE visibility = 0 AND deleted_at IS NULL;
