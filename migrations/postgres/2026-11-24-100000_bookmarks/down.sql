DROP INDEX posts_public;
DROP TABLE bookmarks;
