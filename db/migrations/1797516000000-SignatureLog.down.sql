DROP TABLE "log_witness", "log_tile", "log_bundle", "log_entry", "log_state";
DROP FUNCTION log_here();
