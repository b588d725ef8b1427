/**
 * What operators and the audit need to know of each chain, and a shorter way to the shape of a point.
 * `chain_status` is no entity: it is not data of a chain but how far our copy of it goes.
 */
module.exports = class Indexer1795305600000 {
  name = 'Indexer1795305600000'

  async up(db) {
    await db.query(`CREATE TABLE "chain_status" (
      "chain" text PRIMARY KEY,
      -- As the node last said, and when it said so.
      "head_height" integer, "head_timestamp" timestamptz, "checked_at" timestamptz,
      -- The last block that is in the database, and its time on the chain.
      "indexed_height" integer, "indexed_timestamp" timestamptz,
      -- The location schemas that the log holds from the chain's first block on.
      "schemas" text[] NOT NULL DEFAULT '{}',
      -- Blocks whose logs were read a second time, and blocks whose logs were held against their proven header.
      "reread" int8multirange NOT NULL DEFAULT '{}', "proven" int8multirange NOT NULL DEFAULT '{}',
      -- Blocks that could not be proven lately: no receipts to be had, or none that hash to the header's root.
      "unproven_blocks" bigint NOT NULL DEFAULT 0,
      -- Events that a node had left out, made up or changed, and the audit put right.
      "repaired_events" bigint NOT NULL DEFAULT 0)`)

    // Most records are points: their shape needs no reading of GeoJSON, no cut and no guard against bad shapes.
    await db.query(`CREATE OR REPLACE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.geom := CASE WHEN NEW.longitude IS NULL THEN location_geom(NEW.geometry)
          ELSE ST_SetSRID(ST_MakePoint(NEW.longitude::float8, NEW.latitude::float8), 4326) END;
        RETURN NEW;
      END $$`)
  }

  async down(db) {
    await db.query(`CREATE OR REPLACE FUNCTION location_record_fill() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.geom := location_geom(NEW.geometry);
        RETURN NEW;
      END $$`)
    await db.query(`DROP TABLE "chain_status"`)
  }
}
