-- Entries that are not in a full bundle. An entry without a position is not in the tree yet.
CREATE TABLE "log_entry" (
  "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "position" bigint, "entry" bytea NOT NULL);
ALTER TABLE "log_entry" ALTER COLUMN "entry" SET STORAGE EXTERNAL;
-- Rows stay for a second: without frequent vacuums, the scan of new entries would pass all deleted ones.
ALTER TABLE "log_entry" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX "log_entry_position" ON "log_entry" ("position") WHERE "position" IS NOT NULL;

-- The entries of a group follow each other, each after its length in 2 bytes. Those that full bundles have are left out.
INSERT INTO "log_entry" ("position", "entry")
WITH RECURSIVE part AS (
  SELECT id, position, entries, 1 AS start, 0 AS number FROM log_group
  UNION ALL
  SELECT id, position, entries, start + 2 + get_byte(entries, start - 1) * 256 + get_byte(entries, start), number + 1
  FROM part WHERE start <= length(entries)
)
SELECT position + number, substring(entries FROM start + 2 FOR get_byte(entries, start - 1) * 256 + get_byte(entries, start))
FROM part WHERE start <= length(entries)
  AND (position IS NULL OR position + number >= (SELECT size / 256 * 256 FROM log_state))
ORDER BY id, number;
DROP FUNCTION log_append(bytea, bytea);
DROP TABLE "log_group";

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
