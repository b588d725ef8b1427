/**
 * What the read side lives by at ten million records: counts and a revision that are kept up to date instead of scanned for,
 * a log of what changed for those who follow, and indexes for the filters.
 */
module.exports = class Records1795392000000 {
  name = 'Records1795392000000'

  async up(db) {
    // What an indexer of the version before wrote between the counting and the triggers would never be counted.
    await db.query(`LOCK TABLE "location_record" IN SHARE ROW EXCLUSIVE MODE`)
    // A row a chain that has ever had a record.
    await db.query(`CREATE TABLE "record_state" (
      "chain" text PRIMARY KEY, "total" bigint NOT NULL, "revoked" bigint NOT NULL,
      -- Goes up with every statement that changes a record. With since, which tells a database from another that was filled anew, it names the state of the data.
      "revision" bigint NOT NULL DEFAULT 0, "since" timestamptz NOT NULL DEFAULT now(),
      -- The last change that is not kept any more.
      "forgotten" bigint NOT NULL DEFAULT 0)`)
    // Records by the hour of their timestamp.
    await db.query(
      `CREATE TABLE "record_hour" ("chain" text, "hour" timestamptz, "total" bigint NOT NULL, PRIMARY KEY ("chain", "hour"))`,
    )
    // What happened to records, within a chain in the order of the transactions' ends.
    await db.query(`CREATE TABLE "record_change" (
      "chain" text, "id" bigint GENERATED ALWAYS AS IDENTITY,
      -- new, revoked; reorged: gone, or not revoked any more, as the chain took it back.
      "kind" text NOT NULL, "uid" text NOT NULL, "changed_at" timestamptz NOT NULL DEFAULT now(), PRIMARY KEY ("chain", "id"))`)
    await db.query(
      `INSERT INTO record_state (chain, total, revoked) SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM location_record GROUP BY chain`,
    )
    await db.query(
      `INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM location_record GROUP BY 1, 2`,
    )

    // One statement may change many records: each trigger works on all of them at once. The lock is the indexer's own of the
    // chain (src/database.ts, lockChain), held until the transaction ends: so a chain's changes get their ids in the order in
    // which they can be seen, and nobody who reads on from the last id misses one.
    for (const [event, sign, rows, changes] of [
      // Revoked in the same batch that brought it: that is a change of its own, as in two batches.
      [
        'insert',
        '',
        'new_rows',
        `SELECT chain, kind, uid FROM new_rows, (VALUES (1, 'new'), (2, 'revoked')) AS change (place, kind) WHERE place = 1 OR revoked ORDER BY timestamp, id, place`,
      ],
      ['delete', '-', 'old_rows', `SELECT chain, 'reorged', uid FROM old_rows ORDER BY timestamp, id`],
    ])
      await db.query(`CREATE FUNCTION location_record_after_${event}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM ${rows} ORDER BY chain) AS of;
          INSERT INTO record_change (chain, kind, uid) ${changes};
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), ${sign}count(*) FROM ${rows} GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, ${sign}count(*), ${sign}count(*) FILTER (WHERE revoked) FROM ${rows} GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$`)
    // A record keeps its chain and its timestamp: they are part of what its UID is made of.
    await db.query(`CREATE FUNCTION location_record_after_update() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
        INSERT INTO record_change (chain, kind, uid) SELECT n.chain, CASE WHEN n.revoked THEN 'revoked' ELSE 'reorged' END, n.uid
          FROM new_rows AS n JOIN old_rows AS o USING (id) WHERE n.revoked <> o.revoked ORDER BY n.timestamp, n.id;
        UPDATE record_state SET revoked = record_state.revoked + by_chain.more, revision = revision + 1
          FROM (SELECT n.chain, sum(n.revoked::int - o.revoked::int) AS more FROM new_rows AS n JOIN old_rows AS o USING (id) GROUP BY n.chain) AS by_chain
          WHERE record_state.chain = by_chain.chain;
        RETURN NULL;
      END $$`)
    await db.query(`CREATE TRIGGER location_record_after_insert AFTER INSERT ON "location_record" REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_insert()`)
    await db.query(`CREATE TRIGGER location_record_after_update AFTER UPDATE ON "location_record" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_update()`)
    await db.query(`CREATE TRIGGER location_record_after_delete AFTER DELETE ON "location_record" REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_delete()`)
    // Emptied whole: the states begin anew, so whoever follows is told to do so too.
    await db.query(`CREATE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change;
        RETURN NULL;
      END $$`)
    await db.query(
      `CREATE TRIGGER location_record_after_truncate AFTER TRUNCATE ON "location_record" FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_truncate()`,
    )

    await db.query(
      `CREATE INDEX "IDX_d776ce0e5b0dca22721a90ba82" ON "location_record" ("event_timestamp", "id")`,
    )
    await db.query(
      `CREATE INDEX "IDX_3a1a3ee6216d62da15052a7f74" ON "location_record" ("schema_uid", "timestamp")`,
    )
    // The start of it: an attester may give a type that is longer than an index entry may be.
    await db.query(`CREATE INDEX "location_record_type"
      ON "location_record" (lower(left("location_type", 100)), "timestamp")`)
    await db.query(
      `CREATE INDEX "location_record_revoked" ON "location_record" ("timestamp") WHERE "revoked"`,
    )
    await db.query(
      `CREATE INDEX "location_record_chain_revoked" ON "location_record" ("chain", "timestamp") WHERE "revoked"`,
    )

    await db.query(
      `CREATE INDEX "location_record_nowhere" ON "location_record" ("timestamp", "id") WHERE "geom" IS NULL`,
    )

    // Where a shape can be whose edges are geodesics: they lie nearer to the pole than the straight lines of geom. With
    // latitudes up to y and an edge of at most w degrees of longitude none gets beyond atan(tan y / cos(w / 2)) on the
    // sphere; on the ellipsoid longitudes count up to 1/298 more. From 170 degrees on it may be anywhere up to the poles.
    // (A body that is parsed here and now: maintenance of the index runs without a search path.)
    await db.query(`CREATE FUNCTION location_reach(shape geometry) RETURNS geometry LANGUAGE sql IMMUTABLE PARALLEL SAFE
      RETURN CASE WHEN ST_XMax(shape) - ST_XMin(shape) >= 170 THEN ST_MakeEnvelope(ST_XMin(shape), -90, ST_XMax(shape), 90, 4326)
        ELSE ST_MakeEnvelope(
          ST_XMin(shape), least(ST_YMin(shape), atand(tand(greatest(ST_YMin(shape), -89.999999)) / cosd(0.502 * (ST_XMax(shape) - ST_XMin(shape))))),
          ST_XMax(shape), greatest(ST_YMax(shape), atand(tand(least(ST_YMax(shape), 89.999999)) / cosd(0.502 * (ST_XMax(shape) - ST_XMin(shape))))), 4326) END`)
    await db.query(
      `CREATE INDEX "location_record_reach" ON "location_record" USING gist (location_reach("geom")) WHERE "longitude" IS NULL AND "geom" IS NOT NULL`,
    )

    // Places and times in one index: the newest records of a box are found without looking at all of them, however many there
    // are (api/store.ts, listByWindows). 100 of 78,000 in a city, of a million: 0.8 ms instead of 140.
    await db.query(`CREATE INDEX "location_record_place_time" ON "location_record"
      USING gist (ST_Force3DZ("geom", date_part('epoch', "timestamp" AT TIME ZONE 'UTC')) gist_geometry_ops_nd)`)
    // Cities are small beside the cells of the usual histogram: the planner took 100,000 records for a few, and read them all where an attester's index had ten.
    await db.query(`ALTER TABLE "location_record" ALTER COLUMN "geom" SET STATISTICS 400`)
    // A histogram in three dimensions of the usual fineness takes the planner longer to read than the search takes.
    await db.query(`ALTER INDEX "location_record_place_time" ALTER COLUMN 1 SET STATISTICS 20`)
  }

  async down(db) {
    await db.query(`ALTER TABLE "location_record" ALTER COLUMN "geom" SET STATISTICS -1`)
    for (const index of ['location_record_place_time', 'location_record_reach'])
      await db.query(`DROP INDEX "${index}"`)
    await db.query(`DROP FUNCTION location_reach`)
    for (const index of [
      'location_record_nowhere',
      'location_record_chain_revoked',
      'location_record_revoked',
      'location_record_type',
      'IDX_3a1a3ee6216d62da15052a7f74',
      'IDX_d776ce0e5b0dca22721a90ba82',
    ])
      await db.query(`DROP INDEX "${index}"`)
    for (const event of ['insert', 'update', 'delete', 'truncate']) {
      await db.query(`DROP TRIGGER location_record_after_${event} ON "location_record"`)
      await db.query(`DROP FUNCTION location_record_after_${event}`)
    }
    for (const table of ['record_change', 'record_hour', 'record_state'])
      await db.query(`DROP TABLE "${table}"`)
  }
}
