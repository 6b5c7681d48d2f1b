DROP INDEX notifications_by_actor;
DROP TABLE kept_names;
DROP TABLE erasures;
