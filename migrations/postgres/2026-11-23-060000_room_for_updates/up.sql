-- A like or a comment changes a count of its post, which is in no index. Where the page has room for the changed row, no
-- index is written.
ALTER TABLE posts SET (fillfactor = 90);
