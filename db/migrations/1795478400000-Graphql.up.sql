-- What raw GraphQL shows: a database schema with one view of the records and one of the log, and a role that may read
-- these two and nothing else. PostGraphile makes its types of the views, their columns and their comments (which are set
-- after the migrations). A view is no copy: queries use the tables' indexes.

-- The log newest first, and by attester.
CREATE INDEX "IDX_11612fc8a70aeb663f02bb93ff" ON "attestation_event" ("block_timestamp", "id");
CREATE INDEX "IDX_bf998ceee9cc5a49987aeb7d3f" ON "attestation_event" ("attester", "block_timestamp");
-- Revocations are rare: without this index, finding five may read the whole log.
CREATE INDEX attestation_event_revoked ON attestation_event (block_timestamp, id) WHERE kind = 'REVOKED';

CREATE SCHEMA published;
CREATE VIEW published.location_record AS
  SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
    longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
    memo, revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
    expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom
  FROM public.location_record;
CREATE VIEW published.attestation_event AS
  SELECT id, chain, kind::text AS kind, uid, schema_uid, attester, recipient, ref_uid, "time"::text AS "time",
    expiration_time::text AS expiration_time, revocable, '0x' || encode(data, 'hex') AS data, problem, block_number,
    block_hash, block_timestamp, transaction_hash, log_index
  FROM public.attestation_event;

-- A role belongs to the whole server: other databases may have created it before, or create it at this moment. A managed
-- server may forbid it: then its administrator runs this.
DO $$ BEGIN
  CREATE ROLE published_reader NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$;
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
    GRANT USAGE ON SCHEMA published TO published_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA published TO published_reader;
  END IF;
END $$;
-- The API mostly logs in as the user that migrates: it takes this role for each query.
DO $$ BEGIN
  IF NOT pg_has_role(current_user, 'published_reader', 'USAGE') THEN
    EXECUTE format('GRANT published_reader TO %I', current_user);
  END IF;
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
