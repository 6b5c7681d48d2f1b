-- SQLite compares texts by their bytes.
-- contract: nothing is changed
SELECT 1;
