DROP TRIGGER products_version ON products;
DROP FUNCTION renew_catalog_version();
DROP TABLE catalog_version;
