-- Finding and placing a shape reads none of its positions: PostGIS reads a whole shape for its box, and the queries of tiles
-- did so some thirty times a record. Fifteen attestations with 10,000 to 40,000 positions made the first view of the map
-- fail. The columns are null for points, whose shape is as small as these.
ALTER TABLE "location_record"
  -- PostGIS keeps shapes in the row as long as it can (MAIN): of a record with more than some hundred positions each short
  -- text, its id too, was moved out of the row before its shape was.
  ALTER COLUMN "geom" SET STORAGE EXTENDED,
  -- location_reach(geom): the box of the shape with geodesic edges.
  ADD COLUMN "reach" geometry(Polygon, 4326),
  -- location_x(geom) and location_y(geom): where tiles count it.
  ADD COLUMN "map_x" integer, ADD COLUMN "map_y" integer;

-- A trigger, not generated columns, which a rollback of a hot block could not write (428C9).
CREATE FUNCTION location_record_reaches() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.longitude IS NULL AND NEW.geom IS NOT NULL THEN
      NEW.reach := location_reach(NEW.geom);
      NEW.map_x := location_x(NEW.geom);
      NEW.map_y := location_y(NEW.geom);
    ELSE
      NEW.reach := NULL;
      NEW.map_x := NULL;
      NEW.map_y := NULL;
    END IF;
    RETURN NEW;
  END $$;
CREATE TRIGGER location_record_reaches BEFORE INSERT OR UPDATE OF "geom", "longitude" ON "location_record"
  FOR EACH ROW WHEN (NEW.longitude IS NULL OR NEW.reach IS NOT NULL) EXECUTE FUNCTION location_record_reaches();
UPDATE "location_record" SET "reach" = location_reach("geom"), "map_x" = location_x("geom"), "map_y" = location_y("geom")
  WHERE "longitude" IS NULL AND "geom" IS NOT NULL;

DROP INDEX "location_record_reach";
CREATE INDEX "location_record_reach" ON "location_record" USING gist ("reach") WHERE "reach" IS NOT NULL;
