DROP INDEX comment_likes_by_user;
DROP INDEX comments_by_user;
DROP INDEX likes_by_user;
