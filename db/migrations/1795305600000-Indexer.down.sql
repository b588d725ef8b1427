CREATE OR REPLACE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.geom := location_geom(NEW.geometry);
    RETURN NEW;
  END $$;
DROP TABLE "chain_status";
