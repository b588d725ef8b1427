DROP INDEX "location_record_reach";
CREATE INDEX "location_record_reach" ON "location_record" USING gist (location_reach("geom"))
  WHERE "longitude" IS NULL AND "geom" IS NOT NULL;
DROP TRIGGER location_record_reaches ON "location_record";
DROP FUNCTION location_record_reaches;
ALTER TABLE "location_record" DROP COLUMN "reach", DROP COLUMN "map_x", DROP COLUMN "map_y",
  ALTER COLUMN "geom" SET STORAGE MAIN;
