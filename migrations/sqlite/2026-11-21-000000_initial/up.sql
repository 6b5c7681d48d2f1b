-- Identifiers are UUIDs as 16 bytes, whose byte order is their order; instants are microseconds since 1970 in UTC.
-- Tables are clustered by their primary key. Constraint and index names match those of the other database.

CREATE TABLE users (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    username TEXT NOT NULL,
    -- The folded form: unique without regard to letter case.
    username_key TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL,
    email_key TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    biography TEXT,
    profile_picture TEXT,
    is_admin INTEGER NOT NULL CHECK (is_admin IN (0, 1)),
    is_user INTEGER NOT NULL CHECK (is_user IN (0, 1)),
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX users_by_time ON users (created_at, id);
CREATE INDEX users_admins ON users (enabled) WHERE is_admin;
CREATE UNIQUE INDEX users_profile_picture ON users (profile_picture) WHERE profile_picture IS NOT NULL;

CREATE TABLE sessions (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    opened_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_time ON sessions (opened_at);

CREATE TABLE posts (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    author_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    content TEXT NOT NULL,
    image TEXT,
    -- 0 PUBLIC, 1 FOLLOWERS, 2 PRIVATE
    visibility INTEGER NOT NULL CHECK (visibility IN (0, 1, 2)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Kept in step by the transaction that changes likes or comments, so that no read counts rows.
    like_count INTEGER NOT NULL DEFAULT 0 CHECK (like_count >= 0),
    comment_count INTEGER NOT NULL DEFAULT 0 CHECK (comment_count >= 0),
    CHECK (content <> '' OR image IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX posts_by_time ON posts (created_at, id);
CREATE INDEX posts_by_author ON posts (author_id, created_at, id);
CREATE UNIQUE INDEX posts_image ON posts (image) WHERE image IS NOT NULL;

CREATE TABLE likes (
    post_id BLOB NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id BLOB NOT NULL CHECK (length(id) = 16),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (post_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX likes_by_time ON likes (post_id, created_at, id);

CREATE TABLE comments (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    post_id BLOB NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    author_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    content TEXT NOT NULL CHECK (content <> ''),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX comments_by_time ON comments (post_id, created_at, id);
CREATE INDEX comments_by_author ON comments (post_id, author_id, created_at, id);

CREATE TABLE follows (
    follower_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    followed_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id BLOB NOT NULL CHECK (length(id) = 16),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (follower_id, followed_id),
    CHECK (follower_id <> followed_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX follows_followed_by_time ON follows (follower_id, created_at, id);
CREATE INDEX follows_followers_by_time ON follows (followed_id, created_at, id);

CREATE TABLE products (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    sku TEXT NOT NULL,
    sku_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    -- In hundredths of the currency's unit.
    price INTEGER NOT NULL CHECK (price >= 0),
    category TEXT NOT NULL,
    category_key TEXT NOT NULL,
    stock INTEGER NOT NULL CHECK (stock >= 0),
    -- Name, description and SKU in folded form, for the text filter.
    search_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX products_by_time ON products (created_at, id);
CREATE INDEX products_by_category ON products (category_key, created_at, id);

CREATE TABLE product_variants (
    product_id BLOB NOT NULL REFERENCES products (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    color TEXT NOT NULL,
    size TEXT NOT NULL,
    stock INTEGER NOT NULL CHECK (stock >= 0),
    PRIMARY KEY (product_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE product_images (
    product_id BLOB NOT NULL REFERENCES products (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (product_id, position)
) STRICT, WITHOUT ROWID;

-- The images that are stored, or about to be, and that no row names: not yet, or not any more.
CREATE TABLE unnamed_images (
    key TEXT NOT NULL PRIMARY KEY,
    since INTEGER NOT NULL,
    -- About to be deleted: no row may name it from now on.
    condemned INTEGER NOT NULL CHECK (condemned IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX unnamed_images_by_time ON unnamed_images (since, key);
