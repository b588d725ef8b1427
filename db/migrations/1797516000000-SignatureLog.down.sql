DROP FUNCTION log_append(bytea, integer[], integer[]);
DROP FUNCTION log_tile_with(integer[], bytea);
DROP TABLE "log_witness", "log_tile", "log_bundle", "log_entry", "log_state";
DROP FUNCTION log_here();
