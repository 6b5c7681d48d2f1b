-- The keys of images are compared by their bytes, whatever the language of the database: in some, "aa" comes after "z",
-- and what begins with the same two digits is no range.
-- contract: every release compares them for being the same, or means their bytes
ALTER TABLE posts ALTER COLUMN image TYPE text COLLATE "C";
-- contract: likewise
ALTER TABLE users ALTER COLUMN profile_picture TYPE text COLLATE "C";
-- contract: likewise
ALTER TABLE unnamed_images ALTER COLUMN key TYPE text COLLATE "C";
