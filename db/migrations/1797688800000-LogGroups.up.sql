-- Entries of the transparency log that are not all in full bundles, one row per group: the entries that one statement of an API
-- process has committed together. With a row per entry, storing and moving rows took most of the log's time in Postgres.
CREATE TABLE "log_group" (
  "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Position of the first entry; null until the group is in the tree.
  "position" bigint,
  -- Entries, each after its length in 2 bytes, as in a bundle; and their leaf hashes, by which a proof finds an entry.
  "entries" bytea NOT NULL, "leaves" bytea NOT NULL);
-- Rows of up to a page stay whole, because parts elsewhere are rows of their own.
ALTER TABLE "log_group" ALTER COLUMN "entries" SET STORAGE EXTERNAL;
ALTER TABLE "log_group" ALTER COLUMN "leaves" SET STORAGE EXTERNAL;
ALTER TABLE "log_group" SET (toast_tuple_target = 8160);
-- Rows stay for a second: without frequent vacuums, the scan of new groups would pass all deleted ones.
ALTER TABLE "log_group" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX "log_group_position" ON "log_group" ("position") WHERE "position" IS NOT NULL;

INSERT INTO "log_group" ("position", "entries", "leaves")
SELECT "position", substring(int4send(length("entry")) FROM 3) || "entry", sha256('\x00'::bytea || "entry")
FROM "log_entry" ORDER BY "id";
DROP FUNCTION log_append(bytea, integer[], integer[]);
DROP TABLE "log_entry";

-- Stores a group, and returns the origin of the log. Returns null, and stores nothing, if the log is not open. A function,
-- because backends keep its plans: planning took as long as inserting.
CREATE FUNCTION log_append(entries bytea, leaves bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  open_origin text;
BEGIN
  SELECT origin INTO open_origin FROM log_state
  WHERE stopped IS NULL AND open_until > now() AND opened_in = log_here();
  IF FOUND THEN
    INSERT INTO log_group (entries, leaves) VALUES (log_append.entries, log_append.leaves);
  END IF;
  RETURN open_origin;
END $$;
