-- Answers of this service that have landed. Their events are in the log of the location schemas, and they follow from it.

-- The attesters whose attestations are read, by whatever schema: those whose signatures are answers of ours, and proxies
-- that take these only. The API notes them, the indexer takes them.
CREATE TABLE "answer_attester" (
  "chain" text, "address" text,
  -- It has attested nothing in blocks below this.
  "first_block" integer NOT NULL,
  -- Attestations in blocks below this are found by the audit, as the attester was not known before. Null: the indexer has
  -- not taken it yet.
  "read_from" integer,
  PRIMARY KEY ("chain", "address"));

CREATE TABLE "answer" (
  "id" character varying NOT NULL, "uid" text NOT NULL, "chain" text NOT NULL, "attester" text NOT NULL,
  "recipient" text NOT NULL, "operation" text NOT NULL, "result" jsonb NOT NULL, "units" text, "value" numeric,
  "input_refs" text array NOT NULL, "computed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "timestamp" TIMESTAMP WITH TIME ZONE NOT NULL, "revoked" boolean NOT NULL,
  "created_at" TIMESTAMP WITH TIME ZONE NOT NULL, "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "schema_uid" text NOT NULL, "ref_uid" text NOT NULL, "revocable" boolean NOT NULL, "expiration_time" numeric NOT NULL,
  "revocation_time" TIMESTAMP WITH TIME ZONE, "block_number" integer NOT NULL, "block_hash" text NOT NULL,
  "transaction_hash" text NOT NULL, "log_index" integer NOT NULL,
  CONSTRAINT "PK_9232db17b63fb1e94f97e5c224f" PRIMARY KEY ("id"));
CREATE INDEX "IDX_5d8dc137b1b5794bb2277c3774" ON "answer" ("uid");
CREATE INDEX "IDX_2899e5cac33e94a4beddb02e37" ON "answer" ("timestamp", "id");
CREATE INDEX "IDX_adf54581a2dc9d632e0e4aecdc" ON "answer" ("attester", "timestamp");
CREATE INDEX "IDX_9180eeb78bebafab04e7b84f48" ON "answer" ("recipient", "timestamp");
CREATE INDEX "IDX_897f9dd6633b9e75de1690d7c4" ON "answer" ("operation", "timestamp");
-- By the name of the operation, without its numbers.
CREATE INDEX answer_operation ON "answer" (split_part(operation, ':', 1), "timestamp");
CREATE INDEX answer_inputs ON "answer" USING gin ("input_refs");

-- An answer that comes, changes or goes changes the state of the data, which ETags name and replicas are held to.
CREATE FUNCTION answer_after_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM changed_rows ORDER BY chain) AS of;
    INSERT INTO record_state (chain, total, revoked) SELECT DISTINCT chain, 0, 0 FROM changed_rows
      ON CONFLICT (chain) DO UPDATE SET revision = record_state.revision + 1;
    RETURN NULL;
  END $$;
CREATE TRIGGER answer_after_insert AFTER INSERT ON "answer" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION answer_after_change();
CREATE TRIGGER answer_after_update AFTER UPDATE ON "answer" REFERENCING NEW TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION answer_after_change();
CREATE TRIGGER answer_after_delete AFTER DELETE ON "answer" REFERENCING OLD TABLE AS changed_rows
  FOR EACH STATEMENT EXECUTE FUNCTION answer_after_change();

CREATE VIEW published.answer AS
  SELECT id, uid, chain, attester, recipient, operation, result, units, value::text AS value, input_refs, computed_at,
    timestamp, revoked, created_at, updated_at, schema_uid, ref_uid, revocable, expiration_time::text AS expiration_time,
    revocation_time, block_number, block_hash, transaction_hash, log_index
  FROM public.answer;
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
    GRANT SELECT ON published.answer TO published_reader;
  END IF;
END $$;
