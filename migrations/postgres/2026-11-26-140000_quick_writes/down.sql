ALTER TABLE notifications
    ADD CONSTRAINT notifications_check CHECK ((day IS NULL) = (target_id IS NULL) AND (day IS NULL) <> (actor_id IS NULL)),
    ADD CONSTRAINT notifications_count_check CHECK (count >= 0);
ALTER TABLE comments
    ADD CONSTRAINT comments_content_check CHECK (content <> ''),
    ADD CONSTRAINT comments_reply_count_check CHECK (reply_count >= 0),
    ADD CONSTRAINT comments_like_count_check CHECK (like_count >= 0);
ALTER TABLE posts
    ADD CONSTRAINT posts_check CHECK (content <> '' OR image IS NOT NULL),
    ADD CONSTRAINT posts_visibility_check CHECK (visibility IN (0, 1, 2)),
    ADD CONSTRAINT posts_like_count_check CHECK (like_count >= 0),
    ADD CONSTRAINT posts_comment_count_check CHECK (comment_count >= 0),
    ADD CONSTRAINT posts_hidden CHECK (hidden_visibility IS NULL OR visibility = 2 AND hidden_visibility BETWEEN 0 AND 2) NOT VALID;
DROP FUNCTION insert_post;
DROP FUNCTION insert_comment;
DROP FUNCTION toggle_like;
DROP FUNCTION withdraw_notice;
DROP FUNCTION gather_notice;
DROP FUNCTION notify_users;
