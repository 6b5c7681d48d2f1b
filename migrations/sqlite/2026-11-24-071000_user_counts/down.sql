DROP TRIGGER follows_count_delete;
DROP TRIGGER follows_count_insert;
DROP TRIGGER posts_count_delete;
DROP TRIGGER posts_count_update;
DROP TRIGGER posts_count_insert;
DROP TABLE user_counts;
