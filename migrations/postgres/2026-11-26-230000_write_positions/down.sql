DROP TABLE write_positions;
