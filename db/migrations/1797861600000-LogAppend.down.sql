DROP FUNCTION log_append(bytea, integer[], integer[]);
CREATE OR REPLACE FUNCTION log_here() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
    || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) $$;
