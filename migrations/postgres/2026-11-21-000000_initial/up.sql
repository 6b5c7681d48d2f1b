-- Constraint and index names match those of the other database.

CREATE TABLE users (
    id uuid NOT NULL PRIMARY KEY,
    username text NOT NULL,
    -- The folded form: unique without regard to letter case.
    username_key text NOT NULL CONSTRAINT users_username_key UNIQUE,
    email text NOT NULL,
    email_key text NOT NULL CONSTRAINT users_email_key UNIQUE,
    password_hash text NOT NULL,
    biography text,
    profile_picture text,
    is_admin boolean NOT NULL,
    is_user boolean NOT NULL,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX users_by_time ON users (created_at, id);
CREATE INDEX users_admins ON users (enabled) WHERE is_admin;
CREATE UNIQUE INDEX users_profile_picture ON users (profile_picture) WHERE profile_picture IS NOT NULL;

CREATE TABLE sessions (
    id uuid NOT NULL PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    opened_at timestamptz NOT NULL,
    revoked_at timestamptz
);

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_time ON sessions (opened_at);

CREATE TABLE posts (
    id uuid NOT NULL PRIMARY KEY,
    author_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    content text NOT NULL,
    image text,
    -- 0 PUBLIC, 1 FOLLOWERS, 2 PRIVATE
    visibility smallint NOT NULL CHECK (visibility IN (0, 1, 2)),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- Kept in step by the transaction that changes likes or comments, so that no read counts rows.
    like_count bigint NOT NULL DEFAULT 0 CHECK (like_count >= 0),
    comment_count bigint NOT NULL DEFAULT 0 CHECK (comment_count >= 0),
    CHECK (content <> '' OR image IS NOT NULL)
);

CREATE INDEX posts_by_time ON posts (created_at, id);
CREATE INDEX posts_by_author ON posts (author_id, created_at, id);
CREATE UNIQUE INDEX posts_image ON posts (image) WHERE image IS NOT NULL;

CREATE TABLE likes (
    post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (post_id, user_id)
);

CREATE INDEX likes_by_time ON likes (post_id, created_at, id);

CREATE TABLE comments (
    id uuid NOT NULL PRIMARY KEY,
    post_id uuid NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    author_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    content text NOT NULL CHECK (content <> ''),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE INDEX comments_by_time ON comments (post_id, created_at, id);
CREATE INDEX comments_by_author ON comments (post_id, author_id, created_at, id);

CREATE TABLE follows (
    follower_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    followed_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (follower_id, followed_id),
    CHECK (follower_id <> followed_id)
);

CREATE INDEX follows_followed_by_time ON follows (follower_id, created_at, id);
CREATE INDEX follows_followers_by_time ON follows (followed_id, created_at, id);

CREATE TABLE products (
    id uuid NOT NULL PRIMARY KEY,
    sku text NOT NULL,
    sku_key text NOT NULL CONSTRAINT products_sku_key UNIQUE,
    name text NOT NULL,
    description text NOT NULL,
    -- In hundredths of the currency's unit.
    price bigint NOT NULL CHECK (price >= 0),
    category text NOT NULL,
    category_key text NOT NULL,
    stock integer NOT NULL CHECK (stock >= 0),
    -- Name, description and SKU in folded form, for the text filter.
    search_key text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE INDEX products_by_time ON products (created_at, id);
CREATE INDEX products_by_category ON products (category_key, created_at, id);

CREATE TABLE product_variants (
    product_id uuid NOT NULL REFERENCES products (id) ON DELETE CASCADE,
    position integer NOT NULL,
    color text NOT NULL,
    size text NOT NULL,
    stock integer NOT NULL CHECK (stock >= 0),
    PRIMARY KEY (product_id, position)
);

CREATE TABLE product_images (
    product_id uuid NOT NULL REFERENCES products (id) ON DELETE CASCADE,
    position integer NOT NULL,
    url text NOT NULL,
    PRIMARY KEY (product_id, position)
);

-- The images that are stored, or about to be, and that no row names: not yet, or not any more.
CREATE TABLE unnamed_images (
    key text NOT NULL PRIMARY KEY,
    since timestamptz NOT NULL,
    -- About to be deleted: no row may name it from now on.
    condemned boolean NOT NULL
);

CREATE INDEX unnamed_images_by_time ON unnamed_images (since, key);
