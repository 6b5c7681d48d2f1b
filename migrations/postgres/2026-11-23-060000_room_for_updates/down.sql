ALTER TABLE posts RESET (fillfactor);
