-- The transparency log of signatures (api/log): a tree of entries as C2SP's tlog-tiles has it.

-- Server, WAL timeline and database: another one after a restored backup and after the promotion of a replica. Reading the
-- control file took 120 µs of each append. The system identifier of a backend never changes, so the function stores it in a
-- setting of the session; behind PgBouncer, that is the session of the server. The timeline is read each time.
CREATE FUNCTION log_here() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  system text := current_setting('geospatial.system', true);
BEGIN
  IF system IS NULL OR system = '' THEN
    system := set_config('geospatial.system', (SELECT system_identifier::text FROM pg_control_system()), false);
  END IF;
  RETURN system || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/'
    || (SELECT oid FROM pg_database WHERE datname = current_database());
END $$;

CREATE TABLE "log_state" (
  "only" boolean PRIMARY KEY DEFAULT true CHECK ("only"),
  "origin" text NOT NULL,
  -- Signer key as text (C2SP signed-note); null if the setting LOG_KEY has it.
  "key" text,
  -- Entries in the tree, its root, and the checkpoint that the log has signed for it.
  "size" bigint NOT NULL, "root" bytea NOT NULL, "checkpoint" text NOT NULL,
  -- The checkpoint that readers see, with its cosignatures.
  "published" text NOT NULL, "published_size" bigint NOT NULL,
  -- Process that sequences entries, and the end of its lease.
  "holder" text, "held_until" timestamptz NOT NULL DEFAULT '-infinity',
  -- Time until which entries are accepted, on this server only: a sequencer confirms that the log was not restored.
  "open_until" timestamptz NOT NULL DEFAULT '-infinity', "opened_in" text,
  -- Reason why nothing is signed; null if the log accepts entries.
  "stopped" text);

-- Entries that are not in a full bundle. An entry without a position is not in the tree yet.
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
  -- Keys of the hashes of level 0, by which an index finds the tile of a hash (keysOf in api/log/leaf-keys.ts): the first bits of
  -- each hash below a 1. The number of bits grows with the tree, so that four hashes share a key at any size: an index with one
  -- key per hash took 50 bytes per entry.
  "keys" integer[],
  PRIMARY KEY ("level", "index"));
ALTER TABLE "log_tile" ALTER COLUMN "hashes" SET STORAGE EXTERNAL;
CREATE INDEX "log_tile_keys" ON "log_tile" USING gin ("keys") WITH (fastupdate = off) WHERE "keys" IS NOT NULL;

-- Returns the tile of level 0 with a hash. The planner expects many more tiles per key than there are, and would read all tiles.
CREATE FUNCTION log_tile_with(wanted integer[], hash bytea) RETURNS TABLE ("index" bigint, "hashes" bytea)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off AS $$
  SELECT "index", "hashes" FROM "log_tile" WHERE "keys" && wanted AND position(hash IN "hashes") > 0 ORDER BY "index" LIMIT 1 $$;

-- Stores entries, which follow each other in one value, and returns the origin of the log. Returns null, and stores
-- nothing, if the log is not open. A function, because backends keep its plans: planning took as long as inserting.
CREATE FUNCTION log_append(entries bytea, starts integer[], lengths integer[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  open_origin text;
BEGIN
  SELECT origin INTO open_origin FROM log_state
  WHERE stopped IS NULL AND open_until > now() AND opened_in = log_here();
  IF FOUND THEN
    INSERT INTO log_entry (entry)
    SELECT substring(entries FROM start FOR length) FROM unnest(starts, lengths) AS part(start, length);
  END IF;
  RETURN open_origin;
END $$;

-- Size of the last checkpoint that each witness has cosigned, by its name in the policy.
CREATE TABLE "log_witness" ("name" text PRIMARY KEY, "size" bigint NOT NULL);
