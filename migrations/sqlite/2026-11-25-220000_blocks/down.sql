DROP TABLE mutes;
DROP TABLE blocks;
