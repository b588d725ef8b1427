-- What vector tiles need: records counted by cells of the map, and where each change is.

-- Keeps writers out: rows written between the counting and the triggers would never be counted.
LOCK TABLE "location_record" IN SHARE ROW EXCLUSIVE MODE;

-- Where a record is counted on the map: its point, or the middle of the box of its shape (of the first part, where the
-- shape is on both sides of the antimeridian), in Web Mercator (EPSG:3857), from the north-western corner of the world in
-- units of a 2^31th of its width. Null beyond the latitudes of that map.
CREATE FUNCTION location_x(shape geometry) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN ST_XMax(shape) - ST_XMin(shape) > 180
    THEN least(2147483647, floor(2147483648 * ((ST_XMin(ST_GeometryN(shape, 1)) + ST_XMax(ST_GeometryN(shape, 1))) / 720 + 0.5
      - floor((ST_XMin(ST_GeometryN(shape, 1)) + ST_XMax(ST_GeometryN(shape, 1))) / 720 + 0.5))))
    ELSE least(2147483647, floor(2147483648 * ((ST_XMin(shape) + ST_XMax(shape)) / 720 + 0.5
      - floor((ST_XMin(shape) + ST_XMax(shape)) / 720 + 0.5)))) END::bigint;
CREATE FUNCTION location_y(shape geometry) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN ST_YMin(shape) <= 85.0511287798066 AND ST_YMax(shape) >= -85.0511287798066
    THEN greatest(0, least(2147483647, floor(2147483648 * (0.5 - asinh(tand((greatest(ST_YMin(shape), -85.0511287798066)
      + least(ST_YMax(shape), 85.0511287798066)) / 2)) / (2 * pi()))))) END::bigint;
-- The box of a shape with geodesic edges; null where there is no shape.
CREATE FUNCTION location_place(shape geometry) RETURNS box LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN (location_reach(shape)::box2d)::geometry::box;

-- Records by cells of the map: at level L the world has 2^L cells on a side, counted from its north-western corner. The
-- sums give the mean position of a cell's records. A tile of 16 cells on a side reads the next of these levels.
CREATE TABLE "record_cell" (
  "level" smallint, "x" integer, "y" integer, "chain" text, "revoked" boolean,
  "total" bigint NOT NULL, "x_sum" bigint NOT NULL, "y_sum" bigint NOT NULL, PRIMARY KEY ("level", "x", "y", "chain", "revoked"));
INSERT INTO record_cell (level, x, y, chain, revoked, total, x_sum, y_sum)
  SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, sum(sign), sum(sign * x), sum(sign * y)
  FROM (SELECT chain, revoked, sign, location_x(geom) AS x, location_y(geom) AS y FROM (SELECT chain, revoked, geom, 1 AS sign FROM location_record) AS changed) AS placed,
    (VALUES (4), (9), (14)) AS kept (level)
  WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5;

CREATE FUNCTION location_record_cells_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_cell AS cell (level, x, y, chain, revoked, total, x_sum, y_sum)
          SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, sum(sign), sum(sign * x), sum(sign * y)
          FROM (SELECT chain, revoked, sign, location_x(geom) AS x, location_y(geom) AS y FROM (SELECT chain, revoked, geom, 1 AS sign FROM new_rows) AS changed) AS placed,
            (VALUES (4), (9), (14)) AS kept (level)
          WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5
          HAVING sum(sign) <> 0 OR sum(sign * x) <> 0 OR sum(sign * y) <> 0
          ON CONFLICT (level, x, y, chain, revoked) DO UPDATE SET total = cell.total + excluded.total, x_sum = cell.x_sum + excluded.x_sum,
            y_sum = cell.y_sum + excluded.y_sum;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_cells_insert AFTER INSERT ON "location_record" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_cells_insert();
CREATE FUNCTION location_record_cells_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_cell AS cell (level, x, y, chain, revoked, total, x_sum, y_sum)
          SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, sum(sign), sum(sign * x), sum(sign * y)
          FROM (SELECT chain, revoked, sign, location_x(geom) AS x, location_y(geom) AS y FROM (SELECT chain, revoked, geom, 1 AS sign FROM new_rows UNION ALL SELECT chain, revoked, geom, -1 FROM old_rows) AS changed) AS placed,
            (VALUES (4), (9), (14)) AS kept (level)
          WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5
          HAVING sum(sign) <> 0 OR sum(sign * x) <> 0 OR sum(sign * y) <> 0
          ON CONFLICT (level, x, y, chain, revoked) DO UPDATE SET total = cell.total + excluded.total, x_sum = cell.x_sum + excluded.x_sum,
            y_sum = cell.y_sum + excluded.y_sum;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_cells_update AFTER UPDATE ON "location_record" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_cells_update();
CREATE FUNCTION location_record_cells_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_cell AS cell (level, x, y, chain, revoked, total, x_sum, y_sum)
          SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, sum(sign), sum(sign * x), sum(sign * y)
          FROM (SELECT chain, revoked, sign, location_x(geom) AS x, location_y(geom) AS y FROM (SELECT chain, revoked, geom, -1 AS sign FROM old_rows) AS changed) AS placed,
            (VALUES (4), (9), (14)) AS kept (level)
          WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5
          HAVING sum(sign) <> 0 OR sum(sign * x) <> 0 OR sum(sign * y) <> 0
          ON CONFLICT (level, x, y, chain, revoked) DO UPDATE SET total = cell.total + excluded.total, x_sum = cell.x_sum + excluded.x_sum,
            y_sum = cell.y_sum + excluded.y_sum;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_cells_delete AFTER DELETE ON "location_record" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_cells_delete();

-- Null: the record has no shape, so that no tile shows it; also in changes from before this migration.
ALTER TABLE "record_change" ADD COLUMN "place" box;
-- Goes up when a record is written anew without a change in the log, as a replay does.
ALTER TABLE "record_state" ADD COLUMN "rewrites" bigint NOT NULL DEFAULT 0;
CREATE OR REPLACE FUNCTION location_record_after_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
          INSERT INTO record_change (chain, kind, uid, place) SELECT chain, kind, uid, location_place(geom) FROM new_rows, (VALUES (1, 'new'), (2, 'revoked')) AS change (step, kind) WHERE step = 1 OR revoked ORDER BY timestamp, block_number, log_index, id, step;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM new_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM new_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
CREATE OR REPLACE FUNCTION location_record_after_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM old_rows ORDER BY chain) AS of;
          INSERT INTO record_change (chain, kind, uid, place) SELECT chain, 'reorged', uid, location_place(geom) FROM old_rows ORDER BY timestamp, block_number, log_index, id;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), -count(*) FROM old_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, -count(*), -count(*) FILTER (WHERE revoked) FROM old_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
CREATE OR REPLACE FUNCTION location_record_after_update() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
        INSERT INTO record_change (chain, kind, uid, place) SELECT n.chain, CASE WHEN n.revoked THEN 'revoked' ELSE 'reorged' END, n.uid, location_place(n.geom)
          FROM new_rows AS n JOIN old_rows AS o USING (id) WHERE n.revoked <> o.revoked ORDER BY n.revocation_time, n.timestamp, n.block_number, n.log_index, n.id;
        UPDATE record_state SET revoked = record_state.revoked + by_chain.more, revision = revision + 1, rewrites = rewrites + by_chain.rewritten
          FROM (SELECT n.chain, sum(n.revoked::int - o.revoked::int) AS more, max((n.revoked = o.revoked OR n.geometry IS DISTINCT FROM o.geometry)::int) AS rewritten FROM new_rows AS n JOIN old_rows AS o USING (id) GROUP BY n.chain) AS by_chain
          WHERE record_state.chain = by_chain.chain;
        RETURN NULL;
      END $$;
CREATE OR REPLACE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change, record_cell;
        RETURN NULL;
      END $$;
