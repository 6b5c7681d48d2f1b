DROP TABLE write_positions;
DROP TABLE leases;
