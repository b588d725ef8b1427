-- Nothing that an attester chooses can stop a chain's indexer. The indexer makes shapes itself, in
-- time linear in their positions: PostGIS in the trigger took minutes for hostile ones. Location types of any length have
-- an index. What still cannot be stored is withheld, and marked so. A record says why it has no geometry.
ALTER TABLE "location_record" ADD COLUMN "problem" text;
UPDATE location_record AS record SET problem = event.problem FROM attestation_event AS event
  WHERE record.geometry IS NULL AND event.chain = record.chain AND event.uid = record.uid AND event.kind = 'ATTESTED';
CREATE OR REPLACE VIEW published.location_record AS
  SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
    longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
    memo, revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
    expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom,
    problem
  FROM public.location_record;

-- Shapes that the trigger made stay: the same boxes find them. `npm run replay` makes them anew.
DROP TRIGGER location_record_fill ON "location_record";
DROP FUNCTION location_record_fill;
DROP FUNCTION location_geom;
DROP FUNCTION location_shape;

-- An early form of the migration Records indexed whole location types: a database that ran it still has that index.
DROP INDEX "location_record_type";
CREATE INDEX "location_record_type" ON "location_record" (lower(left("location_type", 100)), "timestamp");

ALTER TABLE "attestation_event" ADD COLUMN "withheld" boolean NOT NULL DEFAULT false;
ALTER TABLE "attestation_event" ALTER COLUMN "withheld" DROP DEFAULT;
CREATE INDEX "attestation_event_withheld" ON "attestation_event" ("chain") WHERE "withheld";
CREATE OR REPLACE VIEW published.attestation_event AS
  SELECT id, chain, kind::text AS kind, uid, schema_uid, attester, recipient, ref_uid, "time"::text AS "time",
    expiration_time::text AS expiration_time, revocable, '0x' || encode(data, 'hex') AS data, problem, block_number,
    block_hash, block_timestamp, transaction_hash, log_index, withheld
  FROM public.attestation_event;
