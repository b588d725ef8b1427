/** Why a record has no geometry stands in the record itself, as of now also for those that are here already. */
module.exports = class Poison1795564800000 {
  name = 'Poison1795564800000'

  async up(db) {
    await db.query(`ALTER TABLE "location_record" ADD COLUMN "problem" text`)
    await db.query(`UPDATE location_record AS record SET problem = event.problem FROM attestation_event AS event
      WHERE record.geometry IS NULL AND event.chain = record.chain AND event.uid = record.uid AND event.kind = 'ATTESTED'`)
    await db.query(`CREATE OR REPLACE VIEW published.location_record AS ${SELECT_RECORDS}, problem FROM public.location_record`)
    await db.query(`COMMENT ON COLUMN published.location_record.problem IS '@omit filter
Why there is no geometry; null where there is one'`)
  }

  async down(db) {
    const comments = await db.query(`SELECT attname AS name, col_description(attrelid, attnum) AS text FROM pg_attribute
      WHERE attrelid = 'published.location_record'::regclass AND attnum > 0 AND attname <> 'problem'`)
    const [{ about }] = await db.query(`SELECT obj_description('published.location_record'::regclass) AS about`)
    await db.query(`DROP VIEW published.location_record`)
    await db.query(`CREATE VIEW published.location_record AS ${SELECT_RECORDS} FROM public.location_record`)
    await db.query(`COMMENT ON VIEW published.location_record IS ${literal(about)}`)
    for (const { name, text } of comments) await db.query(`COMMENT ON COLUMN published.location_record."${name}" IS ${literal(text)}`)
    await db.query(`DO $$ BEGIN
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
          GRANT SELECT ON published.location_record TO published_reader;
        END IF;
      END $$`)
    await db.query(`ALTER TABLE "location_record" DROP COLUMN "problem"`)
  }
}

/** The view as the migration before made it: new columns can only follow. */
const SELECT_RECORDS = `SELECT id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location,
  longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data, memo,
  revoked, created_at, updated_at, geometry::json AS geometry, schema_uid, ref_uid, revocable,
  expiration_time::text AS expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index, geom`

function literal(text) {
  return `'${text.replaceAll("'", "''")}'`
}
