-- A view loses a column only by being created anew, with the comments and the privilege that it had.
DO $do$
DECLARE
  comments text[] := ARRAY(
    SELECT format('COMMENT ON VIEW published.attestation_event IS %L', obj_description(oid, 'pg_class'))
      FROM pg_class WHERE oid = 'published.attestation_event'::regclass
    UNION ALL SELECT format('COMMENT ON COLUMN published.attestation_event.%I IS %L', attname, col_description(attrelid, attnum))
      FROM pg_attribute
      WHERE attrelid = 'published.attestation_event'::regclass AND attnum > 0 AND attname <> 'withheld');
  comment text;
BEGIN
  DROP VIEW published.attestation_event;
  CREATE VIEW published.attestation_event AS
    SELECT id, chain, kind::text AS kind, uid, schema_uid, attester, recipient, ref_uid, "time"::text AS "time",
      expiration_time::text AS expiration_time, revocable, '0x' || encode(data, 'hex') AS data, problem, block_number,
      block_hash, block_timestamp, transaction_hash, log_index
    FROM public.attestation_event;
  FOREACH comment IN ARRAY comments LOOP
    EXECUTE comment;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
    GRANT SELECT ON published.attestation_event TO published_reader;
  END IF;
END $do$;
DROP INDEX "attestation_event_withheld";
ALTER TABLE "attestation_event" DROP COLUMN "withheld";

-- The index of location types stays: the migration Records creates the same one.

-- As the migrations Initial and Indexer create them.
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
CREATE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.geom := CASE WHEN NEW.longitude IS NULL THEN location_geom(NEW.geometry)
      ELSE ST_SetSRID(ST_MakePoint(NEW.longitude::float8, NEW.latitude::float8), 4326) END;
    RETURN NEW;
  END $$;
CREATE TRIGGER location_record_fill BEFORE INSERT OR UPDATE ON "location_record"
  FOR EACH ROW EXECUTE FUNCTION location_record_fill();

DO $do$
DECLARE
  comments text[] := ARRAY(
    SELECT format('COMMENT ON VIEW published.location_record IS %L', obj_description(oid, 'pg_class'))
      FROM pg_class WHERE oid = 'published.location_record'::regclass
    UNION ALL SELECT format('COMMENT ON COLUMN published.location_record.%I IS %L', attname, col_description(attrelid, attnum))
      FROM pg_attribute
      WHERE attrelid = 'published.location_record'::regclass AND attnum > 0 AND attname <> 'problem');
  comment text;
BEGIN
  DROP VIEW published.location_record;
  CREATE VIEW published.location_record AS
    SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
      longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
      memo, revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
      expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom
    FROM public.location_record;
  FOREACH comment IN ARRAY comments LOOP
    EXECUTE comment;
  END LOOP;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
    GRANT SELECT ON published.location_record TO published_reader;
  END IF;
END $do$;
ALTER TABLE "location_record" DROP COLUMN "problem";
