ALTER TABLE unnamed_images ALTER COLUMN key TYPE text COLLATE "default";
ALTER TABLE users ALTER COLUMN profile_picture TYPE text COLLATE "default";
ALTER TABLE posts ALTER COLUMN image TYPE text COLLATE "default";
