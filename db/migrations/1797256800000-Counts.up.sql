-- Statistics by group: records counted by day, attester, schema and location type, and the areas and lengths of geometries.

-- As the operations area and length measure them. Null: not a polygon or a line, or the kernel refuses it. Indexers fill
-- them for older records, since the version of the projection increases (reading.ts).
ALTER TABLE "location_record" ADD COLUMN "area_square_centimeters" numeric, ADD COLUMN "length_centimeters" numeric;

-- Each record is counted once for each dimension: day (UTC, YYYY-MM-DD), prover, schema, location_type (its first 100
-- characters).
CREATE TABLE "record_count" (
  "dimension" text, "chain" text, "value" text, "revoked" boolean, "total" bigint NOT NULL,
  -- Sums of those that have one.
  "area_square_centimeters" numeric NOT NULL, "length_centimeters" numeric NOT NULL,
  PRIMARY KEY ("dimension", "chain", "value", "revoked"));
-- Chains whose older records are not counted yet: those until this time are, and the indexer counts the others in parts
-- (count_records). Triggers count changes of the former only, so that each record is counted once.
CREATE TABLE "record_uncounted" ("chain" text PRIMARY KEY, "counted_until" timestamptz NOT NULL);

CREATE FUNCTION record_dimensions(record_time timestamptz, prover text, schema_uid text, location_type text)
  RETURNS TABLE (dimension text, value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  VALUES ('day', to_char(record_time AT TIME ZONE 'UTC', 'YYYY-MM-DD')), ('prover', prover), ('schema', schema_uid),
    ('location_type', left(location_type, 100)) $$;

CREATE FUNCTION location_record_counts_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM new_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_counts_insert AFTER INSERT ON "location_record" REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_counts_insert();
CREATE FUNCTION location_record_counts_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM new_rows
            UNION ALL SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, -1 FROM old_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_counts_update AFTER UPDATE ON "location_record" REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_counts_update();
CREATE FUNCTION location_record_counts_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, -1 AS sign FROM old_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters;
          RETURN NULL;
        END $$;
CREATE TRIGGER location_record_counts_delete AFTER DELETE ON "location_record" REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION location_record_counts_delete();
CREATE OR REPLACE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change, record_cell, record_count, record_uncounted;
        RETURN NULL;
      END $$;

-- From here on no transaction writes records without the triggers.
INSERT INTO record_uncounted (chain, counted_until) SELECT chain, '-infinity' FROM record_state WHERE total > 0;

-- Counts the next records of a chain, at least as many, by their time. False when all are counted. It holds the chain's lock,
-- which writers need, for its own transaction only.
CREATE FUNCTION count_records(of_chain text, many integer) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
          counted timestamptz;
          last timestamptz;
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || of_chain));
          SELECT counted_until INTO counted FROM record_uncounted WHERE chain = of_chain;
          IF NOT FOUND THEN
            RETURN false;
          END IF;
          SELECT timestamp INTO last FROM location_record WHERE chain = of_chain AND timestamp > counted ORDER BY timestamp OFFSET many - 1 LIMIT 1;
          last := coalesce(last, 'infinity');
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM location_record
            WHERE location_record.chain = of_chain AND timestamp > counted AND timestamp <= last) AS changed, record_dimensions(timestamp, prover, schema_uid, location_type)
          GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters;
          IF last = 'infinity' THEN
            DELETE FROM record_uncounted WHERE chain = of_chain;
          ELSE
            UPDATE record_uncounted SET counted_until = last WHERE chain = of_chain;
          END IF;
          RETURN last <> 'infinity';
        END $$;
-- Records of a database in which this migration was undone are measured again.
UPDATE chain_status SET reading = least(reading, 3);
