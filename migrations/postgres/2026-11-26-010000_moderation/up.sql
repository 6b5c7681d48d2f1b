-- Who may view a hidden post once it is shown again. While it is hidden it is stored as one for nobody, so that every list leaves it out;
-- a node of the release before takes it for such a post.
ALTER TABLE posts ADD COLUMN hidden_visibility smallint;
-- contract: all that the release before cannot do is to show a hidden post to others. Of rows that are there none is hidden.
ALTER TABLE posts ADD CONSTRAINT posts_hidden
    CHECK (hidden_visibility IS NULL OR visibility = 2 AND hidden_visibility BETWEEN 0 AND 2) NOT VALID;

-- Neither hidden comments nor what stands in hidden threads is counted, in posts.comment_count; nor, in comments.reply_count, hidden
-- replies.
ALTER TABLE comments ADD COLUMN is_hidden boolean NOT NULL DEFAULT false;

CREATE INDEX comments_hidden ON comments (post_id) WHERE is_hidden;

-- What administrators did. No foreign key: an entry outlives all that it names.
CREATE TABLE audit (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    -- NULL: the command line.
    actor_id uuid,
    action smallint NOT NULL,
    target_kind smallint NOT NULL,
    target_id uuid,
    details text
);

CREATE INDEX audit_by_time ON audit (created_at, id);
CREATE INDEX audit_by_actor ON audit (actor_id, created_at, id);
CREATE INDEX audit_by_command_line ON audit (created_at, id) WHERE actor_id IS NULL;
CREATE INDEX audit_by_target ON audit (target_id, created_at, id);
CREATE INDEX audit_by_action ON audit (action, created_at, id);
CREATE INDEX audit_by_actor_and_action ON audit (actor_id, action, created_at, id);

-- What users report. No foreign key to what is reported, which a report outlives.
CREATE TABLE reports (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    reporter_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    target_kind smallint NOT NULL,
    target_id uuid NOT NULL,
    category smallint NOT NULL,
    comment text,
    -- 0: open.
    status smallint NOT NULL,
    note text
);

CREATE INDEX reports_by_time ON reports (created_at, id);
CREATE INDEX reports_by_status ON reports (status, created_at, id);
CREATE INDEX reports_by_reporter ON reports (reporter_id, created_at, id);
CREATE UNIQUE INDEX reports_open ON reports (reporter_id, target_id, target_kind) WHERE status = 0;
