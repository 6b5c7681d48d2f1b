DROP TABLE reports;
DROP TABLE audit;
DROP INDEX comments_hidden;
ALTER TABLE comments DROP COLUMN is_hidden;
ALTER TABLE posts DROP COLUMN hidden_visibility;
