-- How far the copy of each chain goes, for operators and for the audit. No entity: it is not data of a chain.
CREATE TABLE "chain_status" (
  "chain" text PRIMARY KEY,
  -- The head as the node last gave it, and when.
  "head_height" integer, "head_timestamp" timestamptz, "checked_at" timestamptz,
  -- The last block in the database, and its time on the chain.
  "indexed_height" integer, "indexed_timestamp" timestamptz,
  -- The location schemas that the log holds from the chain's first block on.
  "schemas" text[] NOT NULL DEFAULT '{}',
  -- Blocks whose logs were read a second time, and blocks whose logs were proven by their header.
  "reread" int8multirange NOT NULL DEFAULT '{}', "proven" int8multirange NOT NULL DEFAULT '{}',
  -- Blocks that could not be proven lately: the node has no receipts, or none that hash to the header's root.
  "unproven_blocks" bigint NOT NULL DEFAULT 0,
  -- Events that a node left out, made up or changed, and the audit corrected.
  "repaired_events" bigint NOT NULL DEFAULT 0);

-- Most records are points: their shape needs no parsing of GeoJSON and no cut.
CREATE OR REPLACE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.geom := CASE WHEN NEW.longitude IS NULL THEN location_geom(NEW.geometry)
      ELSE ST_SetSRID(ST_MakePoint(NEW.longitude::float8, NEW.latitude::float8), 4326) END;
    RETURN NEW;
  END $$;
