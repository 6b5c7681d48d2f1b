-- What a user liked and wrote, wherever that is, in the order of time: for the export of an account.
CREATE INDEX likes_by_user ON likes (user_id, created_at, id);
CREATE INDEX comments_by_user ON comments (author_id, created_at, id);
CREATE INDEX comment_likes_by_user ON comment_likes (user_id, created_at, id);
