-- What reading ten million records needs: counts and a revision that triggers keep, a log of changes for those who
-- follow, and indexes for the filters.

-- Keeps writers out: rows written between the counting and the triggers would never be counted.
LOCK TABLE "location_record" IN SHARE ROW EXCLUSIVE MODE;

-- One row for each chain that has ever had a record.
CREATE TABLE "record_state" (
  "chain" text PRIMARY KEY, "total" bigint NOT NULL, "revoked" bigint NOT NULL,
  -- Increases with every statement that changes a record. "since" tells a database from another that was filled anew;
  -- both together name the state of the data.
  "revision" bigint NOT NULL DEFAULT 0, "since" timestamptz NOT NULL DEFAULT now(),
  -- The last change that was deleted from record_change.
  "forgotten" bigint NOT NULL DEFAULT 0);
-- Records by the hour of their timestamp.
CREATE TABLE "record_hour" (
  "chain" text, "hour" timestamptz, "total" bigint NOT NULL, PRIMARY KEY ("chain", "hour"));
-- What happened to records: within a chain, in the order in which the transactions committed.
CREATE TABLE "record_change" (
  "chain" text, "id" bigint GENERATED ALWAYS AS IDENTITY,
  -- new, revoked or reorged: the chain took back the record or its revocation.
  "kind" text NOT NULL, "uid" text NOT NULL, "changed_at" timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY ("chain", "id"));
INSERT INTO record_state (chain, total, revoked)
  SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM location_record GROUP BY chain;
INSERT INTO record_hour (chain, hour, total)
  SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM location_record GROUP BY 1, 2;

-- One statement may change many records: each trigger runs once a statement. The lock is the one that the indexer takes
-- for a chain (lockChain), held until the transaction ends. So the ids of a chain's changes ascend in the
-- order in which the changes become visible, and a reader that goes on from the last id misses none.
-- A record that was revoked in the batch that brought it gives two changes, as it would in two batches.
CREATE FUNCTION location_record_after_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
          INSERT INTO record_change (chain, kind, uid) SELECT chain, kind, uid FROM new_rows, (VALUES (1, 'new'), (2, 'revoked')) AS change (place, kind) WHERE place = 1 OR revoked ORDER BY timestamp, id, place;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM new_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM new_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
CREATE FUNCTION location_record_after_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM old_rows ORDER BY chain) AS of;
          INSERT INTO record_change (chain, kind, uid) SELECT chain, 'reorged', uid FROM old_rows ORDER BY timestamp, id;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), -count(*) FROM old_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, -count(*), -count(*) FILTER (WHERE revoked) FROM old_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
-- A record's chain and timestamp never change: its UID is made of them.
CREATE FUNCTION location_record_after_update() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
        INSERT INTO record_change (chain, kind, uid) SELECT n.chain, CASE WHEN n.revoked THEN 'revoked' ELSE 'reorged' END, n.uid
          FROM new_rows AS n JOIN old_rows AS o USING (id) WHERE n.revoked <> o.revoked ORDER BY n.timestamp, n.id;
        UPDATE record_state SET revoked = record_state.revoked + by_chain.more, revision = revision + 1
          FROM (SELECT n.chain, sum(n.revoked::int - o.revoked::int) AS more FROM new_rows AS n JOIN old_rows AS o USING (id) GROUP BY n.chain) AS by_chain
          WHERE record_state.chain = by_chain.chain;
        RETURN NULL;
      END $$;
CREATE TRIGGER location_record_after_insert AFTER INSERT ON "location_record" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_insert();
CREATE TRIGGER location_record_after_update AFTER UPDATE ON "location_record"
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_update();
CREATE TRIGGER location_record_after_delete AFTER DELETE ON "location_record" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_delete();
-- After a TRUNCATE the states start anew: whoever follows the changes is told to start anew as well.
CREATE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change;
        RETURN NULL;
      END $$;
CREATE TRIGGER location_record_after_truncate AFTER TRUNCATE ON "location_record"
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_after_truncate();

CREATE INDEX "IDX_d776ce0e5b0dca22721a90ba82" ON "location_record" ("event_timestamp", "id");
CREATE INDEX "IDX_3a1a3ee6216d62da15052a7f74" ON "location_record" ("schema_uid", "timestamp");
-- The first 100 characters: an attester may give a type that is longer than an index entry may be.
CREATE INDEX "location_record_type" ON "location_record" (lower(left("location_type", 100)), "timestamp");
CREATE INDEX "location_record_revoked" ON "location_record" ("timestamp") WHERE "revoked";
CREATE INDEX "location_record_chain_revoked" ON "location_record" ("chain", "timestamp") WHERE "revoked";
CREATE INDEX "location_record_nowhere" ON "location_record" ("timestamp", "id") WHERE "geom" IS NULL;

-- A box that holds the shape with geodesic edges, which lie nearer to the pole than the straight edges of geom. With
-- latitudes up to y and an edge of at most w degrees of longitude, none gets beyond atan(tan y / cos(w / 2)) on the
-- sphere; the ellipsoid adds at most 1/298 to longitudes. From 170 degrees on the box reaches the poles.
-- (A body of this form is parsed when it is created: maintenance of the index runs without a search path.)
CREATE FUNCTION location_reach(shape geometry) RETURNS geometry LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN ST_XMax(shape) - ST_XMin(shape) >= 170
    THEN ST_MakeEnvelope(ST_XMin(shape), -90, ST_XMax(shape), 90, 4326)
    ELSE ST_MakeEnvelope(
      ST_XMin(shape), least(ST_YMin(shape), atand(tand(greatest(ST_YMin(shape), -89.999999))
        / cosd(0.502 * (ST_XMax(shape) - ST_XMin(shape))))),
      ST_XMax(shape), greatest(ST_YMax(shape), atand(tand(least(ST_YMax(shape), 89.999999))
        / cosd(0.502 * (ST_XMax(shape) - ST_XMin(shape))))), 4326) END;
CREATE INDEX "location_record_reach" ON "location_record" USING gist (location_reach("geom"))
  WHERE "longitude" IS NULL AND "geom" IS NOT NULL;

-- Places and times in one index: it finds the newest records of a box without reading all records there. The newest 100
-- of 78,000 in a city, of a million: 0.8 ms instead of 140.
CREATE INDEX "location_record_place_time" ON "location_record"
  USING gist (ST_Force3DZ("geom", date_part('epoch', "timestamp" AT TIME ZONE 'UTC')) gist_geometry_ops_nd);
-- Cities are small beside the cells of the default histogram: the planner took 100,000 records for a few, and read them
-- all where an attester's index had ten.
ALTER TABLE "location_record" ALTER COLUMN "geom" SET STATISTICS 400;
-- With the default number of cells the planner takes longer to read the three-dimensional histogram than the search takes.
ALTER INDEX "location_record_place_time" ALTER COLUMN 1 SET STATISTICS 20;
