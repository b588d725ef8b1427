DROP FUNCTION log_tile_with(integer[], bytea);
UPDATE "log_tile" SET "keys" = (
  SELECT array_agg(get_byte("hashes", at) * 65536 + get_byte("hashes", at + 1) * 256 + get_byte("hashes", at + 2) ORDER BY at)
  FROM generate_series(0, length("hashes") - 1, 32) AS at)
WHERE "keys" IS NOT NULL;
ALTER TABLE "log_tile" RENAME COLUMN "keys" TO "prefixes";
ALTER INDEX "log_tile_keys" RENAME TO "log_tile_prefixes";
