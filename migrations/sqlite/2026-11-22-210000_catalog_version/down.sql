DROP TRIGGER products_version_insert;
DROP TRIGGER products_version_update;
DROP TRIGGER products_version_delete;
DROP TABLE catalog_version;
