-- Whether somebody has shown that they read what is sent to the address.
ALTER TABLE users ADD COLUMN email_verified boolean NOT NULL DEFAULT false;

-- Mails that wait to be sent, and for a while those that were sent or given up.
CREATE TABLE mails (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    -- NULL: somebody asks to reset the password of the account that `address` names, which nobody has looked up yet.
    user_id uuid REFERENCES users (id) ON DELETE CASCADE,
    kind smallint NOT NULL,
    address text NOT NULL,
    -- 0: waiting; 1: sent; 2: given up.
    status smallint NOT NULL,
    attempts bigint NOT NULL,
    -- When it is tried next, or forgotten.
    due_at timestamptz NOT NULL,
    give_up_at timestamptz NOT NULL,
    failure text
);

CREATE INDEX mails_due ON mails (status, due_at, id);
CREATE INDEX mails_by_user ON mails (user_id, kind, created_at);

-- The digests of the tokens in mails that were not used.
CREATE TABLE mail_tokens (
    digest text PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind smallint NOT NULL,
    address text NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX mail_tokens_by_user ON mail_tokens (user_id, kind);
CREATE INDEX mail_tokens_by_end ON mail_tokens (expires_at);
