-- The event log, the projection, and the projection's PostGIS column. Index names are the ones that TypeORM derives: a
-- test compares the entities with the migrated database.
CREATE EXTENSION IF NOT EXISTS postgis;

CREATE TABLE "attestation_event" (
  "id" character varying NOT NULL, "chain" text NOT NULL, "kind" character varying(8) NOT NULL, "uid" text NOT NULL,
  "schema_uid" text NOT NULL, "attester" text NOT NULL, "recipient" text NOT NULL, "ref_uid" text, "time" numeric,
  "expiration_time" numeric, "revocable" boolean, "data" bytea, "problem" text, "block_number" integer NOT NULL,
  "block_hash" text NOT NULL, "block_timestamp" TIMESTAMP WITH TIME ZONE NOT NULL, "transaction_hash" text NOT NULL,
  "log_index" integer NOT NULL, CONSTRAINT "PK_ade7558070533db50db56c23d9c" PRIMARY KEY ("id"));
CREATE INDEX "IDX_469af03f3215e047984e116488" ON "attestation_event" ("chain", "uid");

CREATE TABLE "location_record" (
  "id" character varying NOT NULL, "uid" text NOT NULL, "chain" text NOT NULL, "prover" text NOT NULL,
  "subject" text NOT NULL, "timestamp" TIMESTAMP WITH TIME ZONE NOT NULL,
  "event_timestamp" TIMESTAMP WITH TIME ZONE NOT NULL, "srs" text NOT NULL,
  "location_type" text NOT NULL, "location" text NOT NULL, "longitude" numeric, "latitude" numeric,
  "recipe_types" text array NOT NULL, "recipe_payloads" text array NOT NULL, "media_types" text array NOT NULL,
  "media_data" text array NOT NULL, "memo" text NOT NULL, "revoked" boolean NOT NULL,
  "created_at" TIMESTAMP WITH TIME ZONE NOT NULL, "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL, "geometry" text,
  "schema_uid" text NOT NULL, "ref_uid" text NOT NULL, "revocable" boolean NOT NULL, "expiration_time" numeric NOT NULL,
  "revocation_time" TIMESTAMP WITH TIME ZONE, "block_number" integer NOT NULL, "block_hash" text NOT NULL,
  "transaction_hash" text NOT NULL, "log_index" integer NOT NULL,
  "geom" geometry(Geometry, 4326),
  CONSTRAINT "PK_defbb9ff504f19964c97cd43032" PRIMARY KEY ("id"));
CREATE INDEX "IDX_c318315d25e55c8acbc81c3bda" ON "location_record" ("uid");
CREATE INDEX "IDX_acb961b377153a587da6544262" ON "location_record" ("subject", "timestamp");
CREATE INDEX "IDX_9a82d7a09825489f17fc2879e5" ON "location_record" ("prover", "timestamp");
CREATE INDEX "IDX_580af116021f5047ffdc92002d" ON "location_record" ("chain", "timestamp");
CREATE INDEX "IDX_1cfc6c9a7979f2cd2fb4088bf7" ON "location_record" ("timestamp", "id");
CREATE INDEX "location_record_geom" ON "location_record" USING gist ("geom");

-- The planar shape that bbox queries meet. An edge takes the shorter way round, so one of more than 180 degrees of
-- longitude crosses the antimeridian, and the shape is cut there; a ring that goes once round a pole covers it. An
-- invalid shape (its ring crosses itself) has no certain inside: its bounding box replaces it, since repairing a hostile
-- one takes minutes. Only the bbox filter uses this shape: answers are computed from the column "geometry".
CREATE FUNCTION location_shape(shape geometry) RETURNS geometry LANGUAGE plpgsql IMMUTABLE STRICT AS $$
  DECLARE
    crosses boolean := false;
    turn float8;
  BEGIN
    IF ST_XMax(shape) - ST_XMin(shape) > 180 THEN
      SELECT coalesce(bool_or(abs(dx) > 180 AND abs(dx) < 360), false) INTO crosses
      FROM (SELECT ST_X(ST_EndPoint(geom)) - ST_X(ST_StartPoint(geom)) AS dx FROM ST_DumpSegments(shape)) AS edge;
    END IF;
    IF crosses AND ST_IsCollection(shape) THEN
      -- Each part for itself: shifting a part that crosses Greenwich would turn it inside out.
      RETURN (SELECT ST_Collect(piece.geom) FROM ST_Dump(shape) AS part, LATERAL ST_Dump(location_shape(part.geom)) AS piece);
    END IF;
    IF crosses AND ST_Dimension(shape) = 2 THEN
      SELECT abs(sum(dx - 360 * round(dx / 360))) INTO turn
      FROM (SELECT ST_X(ST_EndPoint(geom)) - ST_X(ST_StartPoint(geom)) AS dx FROM ST_DumpSegments(ST_ExteriorRing(shape))) AS edge;
      IF turn > 180 THEN
        RETURN CASE WHEN ST_YMin(shape) + ST_YMax(shape) >= 0 THEN ST_MakeEnvelope(-180, ST_YMin(shape), 180, 90, 4326)
          ELSE ST_MakeEnvelope(-180, -90, 180, ST_YMax(shape), 4326) END;
      END IF;
    END IF;
    IF crosses THEN
      shape := ST_ShiftLongitude(shape);
    END IF;
    IF ST_Dimension(shape) = 2 AND NOT ST_IsValid(shape) THEN
      shape := ST_Envelope(shape);
    END IF;
    RETURN CASE WHEN crosses THEN ST_WrapX(shape, 180, -360) ELSE shape END;
  END $$;
CREATE FUNCTION location_geom(geojson text) RETURNS geometry LANGUAGE plpgsql IMMUTABLE STRICT AS $$
  DECLARE
    shape geometry := ST_SetSRID(ST_Force2D(ST_GeomFromGeoJSON(geojson)), 4326);
  BEGIN
    RETURN location_shape(shape);
  EXCEPTION WHEN OTHERS THEN
    -- No shape may stop the indexer.
    RETURN ST_Envelope(shape);
  END $$;

-- A plain column with a trigger, not a GENERATED one: rolling back a hot block writes every column back, and Postgres
-- refuses that for generated columns (428C9).
CREATE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.geom := location_geom(NEW.geometry);
    RETURN NEW;
  END $$;
CREATE TRIGGER location_record_fill BEFORE INSERT OR UPDATE ON "location_record"
  FOR EACH ROW EXECUTE FUNCTION location_record_fill();
