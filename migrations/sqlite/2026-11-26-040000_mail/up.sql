-- Whether somebody has shown that they read what is sent to the address.
ALTER TABLE users ADD COLUMN email_verified INTEGER NOT NULL DEFAULT 0 CHECK (email_verified IN (0, 1));

-- Mails that wait to be sent, and for a while those that were sent or given up.
CREATE TABLE mails (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    created_at INTEGER NOT NULL,
    -- NULL: somebody asks to reset the password of the account that `address` names, which nobody has looked up yet.
    user_id BLOB REFERENCES users (id) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    address TEXT NOT NULL,
    -- 0: waiting; 1: sent; 2: given up.
    status INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- When it is tried next, or forgotten.
    due_at INTEGER NOT NULL,
    give_up_at INTEGER NOT NULL,
    failure TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX mails_due ON mails (status, due_at, id);
CREATE INDEX mails_by_user ON mails (user_id, kind, created_at);

-- The digests of the tokens in mails that were not used.
CREATE TABLE mail_tokens (
    digest TEXT NOT NULL PRIMARY KEY,
    user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    address TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_tokens_by_user ON mail_tokens (user_id, kind);
CREATE INDEX mail_tokens_by_end ON mail_tokens (expires_at);
