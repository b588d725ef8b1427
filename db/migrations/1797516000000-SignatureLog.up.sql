-- The transparency log of signatures (api/log): a tree of entries as C2SP's tlog-tiles has it.

-- Server, WAL timeline and database: another one after a restored backup and after the promotion of a replica.
CREATE FUNCTION log_here() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
    || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) $$;

CREATE TABLE "log_state" (
  "only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
  "origin" text NOT NULL,
  -- Signer key as text (C2SP signed-note); null if the setting LOG_KEY has it.
  "key" text,
  -- Entries in the tree, its root, and the checkpoint that the log has signed for it.
  "size" bigint NOT NULL, "root" bytea NOT NULL, "checkpoint" text NOT NULL,
  -- The checkpoint that readers see, with the cosignatures that it has.
  "published" text NOT NULL, "published_size" bigint NOT NULL,
  -- The process that sequences, until then unless it renews that.
  "holder" text, "held_until" timestamptz NOT NULL DEFAULT '-infinity',
  -- Entries are accepted until then, on that server only: a sequencer confirms that the log is not a restored one.
  "open_until" timestamptz NOT NULL DEFAULT '-infinity', "opened_in" text,
  -- Why nothing is signed.
  "stopped" text);

-- Entries that no full bundle has. Without a position they are not in the tree yet.
CREATE TABLE "log_entry" (
  "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "position" bigint, "entry" bytea NOT NULL);
ALTER TABLE "log_entry" ALTER COLUMN "entry" SET STORAGE EXTERNAL;
-- Rows stay for a second: without frequent vacuums, the scan of new entries would pass all deleted ones.
ALTER TABLE "log_entry" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX "log_entry_position" ON "log_entry" ("position") WHERE "position" IS NOT NULL;

-- Full bundles of 256 entries, compressed with gzip.
CREATE TABLE "log_bundle" ("index" bigint PRIMARY KEY, "entries" bytea NOT NULL);
ALTER TABLE "log_bundle" ALTER COLUMN "entries" SET STORAGE EXTERNAL;

-- Hashes of 32 bytes: full tiles of level 0, all tiles of the levels above. A tile only grows.
CREATE TABLE "log_tile" (
  "level" smallint, "index" bigint, "hashes" bytea NOT NULL,
  -- The first three bytes of each hash of level 0: an index of whole hashes would take more than the entries.
  "prefixes" integer[],
  PRIMARY KEY ("level", "index"));
ALTER TABLE "log_tile" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;
CREATE INDEX "log_tile_prefixes" ON "log_tile" USING gin ("prefixes") WITH (fastupdate = off) WHERE "prefixes" IS NOT NULL;

-- Size of the last checkpoint that each witness has cosigned, by its name in the policy.
CREATE TABLE "log_witness" ("name" text PRIMARY KEY, "size" bigint NOT NULL);
