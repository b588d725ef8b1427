-- Keys of the hashes of level 0, by which an index finds the tile of a hash (keysOf in api/log/leaf-keys.ts): the first bits of each
-- hash below a 1. The number of bits grows with the tree, so that four hashes share a key at any size: an index of one
-- key for each hash took 50 bytes per entry.
ALTER TABLE "log_tile" RENAME COLUMN "prefixes" TO "keys";
ALTER INDEX "log_tile_prefixes" RENAME TO "log_tile_keys";
UPDATE "log_tile" SET "keys" = (
  SELECT array_agg((1 << bits) | (prefix >> (24 - bits))) FROM unnest("keys") AS prefix,
    (SELECT least(24, 6 + floor(log(2, "index" + 1))::integer) AS bits) AS width)
WHERE "keys" IS NOT NULL;

-- Tile of level 0 with a hash. The planner expects many more tiles per key than there are, and would read all tiles.
CREATE FUNCTION log_tile_with(wanted integer[], hash bytea) RETURNS TABLE ("index" bigint, "hashes" bytea)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off AS $$
  SELECT "index", "hashes" FROM "log_tile" WHERE "keys" && wanted AND position(hash IN "hashes") > 0 ORDER BY "index" LIMIT 1 $$;
