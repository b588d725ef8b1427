/**
 * Nothing that an attester chooses can stop a chain's indexer. Shapes come from the indexer (src/plane.ts), in time linear in
 * their positions: the trigger that asked PostGIS for them took minutes where an attester chose so. Location types of any
 * length have an index. What still cannot be stored is withheld, and marked so. And a record says why it has no geometry.
 */
module.exports = class Poison1795564800000 {
  name = 'Poison1795564800000'

  async up(db) {
    await db.query(`ALTER TABLE "location_record" ADD COLUMN "problem" text`)
    await db.query(`UPDATE location_record AS record SET problem = event.problem FROM attestation_event AS event
      WHERE record.geometry IS NULL AND event.chain = record.chain AND event.uid = record.uid AND event.kind = 'ATTESTED'`)
    await db.query(
      `CREATE OR REPLACE VIEW published.location_record AS ${SELECT_RECORDS}, problem FROM public.location_record`,
    )
    await db.query(`COMMENT ON COLUMN published.location_record.problem IS '@omit filter
Why there is no geometry; null where there is one'`)

    // What the trigger made of older records stays: it is found by the same boxes. npm run replay makes it anew.
    await db.query(`DROP TRIGGER location_record_fill ON "location_record"`)
    for (const name of ['location_record_fill', 'location_geom', 'location_shape'])
      await db.query(`DROP FUNCTION ${name}`)

    // The migration Records once made an index of whole location types, where it is still that.
    await db.query(`DROP INDEX "location_record_type"`)
    await db.query(
      `CREATE INDEX "location_record_type" ON "location_record" (lower(left("location_type", 100)), "timestamp")`,
    )

    await db.query(`ALTER TABLE "attestation_event" ADD COLUMN "withheld" boolean NOT NULL DEFAULT false`)
    await db.query(`ALTER TABLE "attestation_event" ALTER COLUMN "withheld" DROP DEFAULT`)
    await db.query(
      `CREATE INDEX "attestation_event_withheld" ON "attestation_event" ("chain") WHERE "withheld"`,
    )
    await db.query(
      `CREATE OR REPLACE VIEW published.attestation_event AS ${SELECT_EVENTS}, withheld FROM public.attestation_event`,
    )
    await db.query(`COMMENT ON COLUMN published.attestation_event.withheld IS '@notNull
@omit filter
Whether something of this attestation could not be stored: then it gives no record, \`data\` may be null, and \`problem\` says why'`)
  }

  async down(db) {
    await withoutColumn(db, 'attestation_event', 'withheld', SELECT_EVENTS)
    await db.query(`DROP INDEX "attestation_event_withheld"`)
    await db.query(`ALTER TABLE "attestation_event" DROP COLUMN "withheld"`)

    // The index of location types stays: Records makes the same one.

    // As the migrations Initial and Indexer made them.
    await db.query(LOCATION_SHAPE)
    await db.query(LOCATION_GEOM)
    await db.query(LOCATION_RECORD_FILL)
    await db.query(`CREATE TRIGGER location_record_fill BEFORE INSERT OR UPDATE ON "location_record"
      FOR EACH ROW EXECUTE FUNCTION location_record_fill()`)

    await withoutColumn(db, 'location_record', 'problem', SELECT_RECORDS)
    await db.query(`ALTER TABLE "location_record" DROP COLUMN "problem"`)
  }
}

/** Makes a published view anew without one of its columns, with the comments that it had. */
async function withoutColumn(db, view, column, select) {
  const comments =
    await db.query(`SELECT attname AS name, col_description(attrelid, attnum) AS text FROM pg_attribute
    WHERE attrelid = 'published.${view}'::regclass AND attnum > 0 AND attname <> '${column}'`)
  const [{ about }] = await db.query(`SELECT obj_description('published.${view}'::regclass) AS about`)
  await db.query(`DROP VIEW published.${view}`)
  await db.query(`CREATE VIEW published.${view} AS ${select} FROM public.${view}`)
  await db.query(`COMMENT ON VIEW published.${view} IS ${literal(about)}`)
  for (const { name, text } of comments)
    await db.query(`COMMENT ON COLUMN published.${view}."${name}" IS ${literal(text)}`)
  await db.query(`DO $$ BEGIN
      IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
        GRANT SELECT ON published.${view} TO published_reader;
      END IF;
    END $$`)
}

/** The views as the migration Graphql made them: new columns can only follow. */
const SELECT_RECORDS = `SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
  longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data, memo,
  revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
  expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom`

function literal(text) {
  return `'${text.replaceAll("'", "''")}'`
}

const SELECT_EVENTS = `SELECT id, chain, kind::text AS kind, uid, schema_uid, attester, recipient, ref_uid, "time"::text AS "time",
  expiration_time::text AS expiration_time, revocable, '0x' || encode(data, 'hex') AS data, problem, block_number, block_hash,
  block_timestamp, transaction_hash, log_index`

const LOCATION_SHAPE = `CREATE FUNCTION location_shape(shape geometry) RETURNS geometry LANGUAGE plpgsql IMMUTABLE STRICT AS $$
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
  END $$`
const LOCATION_GEOM = `CREATE FUNCTION location_geom(geojson text) RETURNS geometry LANGUAGE plpgsql IMMUTABLE STRICT AS $$
  DECLARE
    shape geometry := ST_SetSRID(ST_Force2D(ST_GeomFromGeoJSON(geojson)), 4326);
  BEGIN
    RETURN location_shape(shape);
  EXCEPTION WHEN OTHERS THEN
    -- No shape may stop the indexer.
    RETURN ST_Envelope(shape);
  END $$`
const LOCATION_RECORD_FILL = `CREATE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.geom := CASE WHEN NEW.longitude IS NULL THEN location_geom(NEW.geometry)
      ELSE ST_SetSRID(ST_MakePoint(NEW.longitude::float8, NEW.latitude::float8), 4326) END;
    RETURN NEW;
  END $$`
