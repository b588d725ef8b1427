-- A view loses a column only by being created anew, with the comments and the privilege that it had.
DO $do$
DECLARE
  comments text[] := ARRAY(
    SELECT format('COMMENT ON VIEW published.location_record IS %L', obj_description(oid, 'pg_class'))
      FROM pg_class WHERE oid = 'published.location_record'::regclass
    UNION ALL SELECT format('COMMENT ON COLUMN published.location_record.%I IS %L', attname, col_description(attrelid, attnum))
      FROM pg_attribute
      WHERE attrelid = 'published.location_record'::regclass AND attnum > 0 AND attname <> 'attributes');
  comment text;
BEGIN
  DROP VIEW published.location_record;
  CREATE VIEW published.location_record AS
    SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
      longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
      memo, revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
      expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom,
      problem
    FROM public.location_record;
  FOREACH comment IN ARRAY comments LOOP
    EXECUTE comment;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
    GRANT SELECT ON published.location_record TO published_reader;
  END IF;
END $do$;
ALTER TABLE "location_record" DROP COLUMN "attributes";
DROP TABLE "location_schema";
