-- Any location schema. Its further fields are a record's attributes, filtered by containment.
ALTER TABLE "location_record" ADD COLUMN "attributes" jsonb;
CREATE INDEX location_record_attributes ON "location_record" USING gin ("attributes" jsonb_path_ops)
  WHERE "attributes" IS NOT NULL;
CREATE OR REPLACE VIEW published.location_record AS
  SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
    longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
    memo, revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
    expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom,
    problem, attributes
  FROM public.location_record;

-- The location schemas that were found in each chain's SchemaRegistry. A schema's UID is the hash of its text, resolver and
-- flag, so a row stays true whatever becomes of the block that registered it: reorgs take none back.
CREATE TABLE "location_schema" (
  "chain" text NOT NULL, "uid" text NOT NULL, "fields" text NOT NULL, "resolver" text NOT NULL, "revocable" boolean NOT NULL,
  -- Where it was registered, as of the first reading.
  "block_number" integer NOT NULL,
  -- Attestations in blocks below this are found by the audit, as the schema was not known before.
  "read_from" integer NOT NULL,
  -- Whether attestations of it are read: false where settings or the limit leave it out.
  "watched" boolean NOT NULL,
  "found_at" timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY ("chain", "uid"));
