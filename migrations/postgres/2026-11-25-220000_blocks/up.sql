-- Who is kept apart from whom, since one of them blocks the other: each pair twice, so that one look tells. What a user blocks has an
-- id and a time; without them, it is the other one who blocks.
CREATE TABLE blocks (
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    other_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id uuid,
    created_at timestamptz,
    PRIMARY KEY (user_id, other_id),
    CHECK (user_id <> other_id),
    CHECK ((id IS NULL) = (created_at IS NULL))
);

CREATE INDEX blocks_by_time ON blocks (user_id, created_at, id) WHERE id IS NOT NULL;
CREATE INDEX blocks_by_other ON blocks (other_id);

-- Whose posts and notifications users do not want, for some time or for good.
CREATE TABLE mutes (
    muter_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    muted_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    ends_at timestamptz,
    PRIMARY KEY (muter_id, muted_id),
    CHECK (muter_id <> muted_id)
);

CREATE INDEX mutes_by_time ON mutes (muter_id, created_at, id);
CREATE INDEX mutes_by_muted ON mutes (muted_id);
CREATE INDEX mutes_by_end ON mutes (ends_at) WHERE ends_at IS NOT NULL;
