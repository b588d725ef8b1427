-- No transaction writes records while their triggers change.
LOCK TABLE "location_record" IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE "record_count_before" AS SELECT * FROM record_count WHERE (total, area_square_centimeters, length_centimeters, without_area, without_length) <> (0, 0, 0, 0, 0);
DROP VIEW "record_count";
DROP TABLE "record_group";
CREATE TABLE "record_count" (
  "dimension" text, "chain" text, "value" text, "revoked" boolean, "total" bigint NOT NULL,
  "area_square_centimeters" numeric NOT NULL, "length_centimeters" numeric NOT NULL,
  "without_area" bigint NOT NULL DEFAULT 0, "without_length" bigint NOT NULL DEFAULT 0,
  PRIMARY KEY ("dimension", "chain", "value", "revoked"));
INSERT INTO record_count SELECT * FROM record_count_before;
DROP TABLE "record_count_before";

CREATE OR REPLACE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change, record_cell, record_count, record_uncounted;
        RETURN NULL;
      END $$;
CREATE OR REPLACE FUNCTION location_record_counts_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters, without_area, without_length)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0),
            coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL), 0), coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM new_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
            OR sum(sign) FILTER (WHERE area_square_centimeters IS NULL) <> 0 OR sum(sign) FILTER (WHERE length_centimeters IS NULL) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters,
            without_area = kept.without_area + excluded.without_area, without_length = kept.without_length + excluded.without_length;
          RETURN NULL;
        END $$;
CREATE OR REPLACE FUNCTION location_record_counts_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters, without_area, without_length)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0),
            coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL), 0), coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM new_rows
            UNION ALL SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, -1 FROM old_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
            OR sum(sign) FILTER (WHERE area_square_centimeters IS NULL) <> 0 OR sum(sign) FILTER (WHERE length_centimeters IS NULL) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters,
            without_area = kept.without_area + excluded.without_area, without_length = kept.without_length + excluded.without_length;
          RETURN NULL;
        END $$;
CREATE OR REPLACE FUNCTION location_record_counts_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters, without_area, without_length)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0),
            coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL), 0), coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, -1 AS sign FROM old_rows) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
          WHERE counted_until IS NULL OR timestamp <= counted_until GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
            OR sum(sign) FILTER (WHERE area_square_centimeters IS NULL) <> 0 OR sum(sign) FILTER (WHERE length_centimeters IS NULL) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters,
            without_area = kept.without_area + excluded.without_area, without_length = kept.without_length + excluded.without_length;
          RETURN NULL;
        END $$;
CREATE OR REPLACE FUNCTION count_records(of_chain text, many integer) RETURNS boolean LANGUAGE plpgsql AS $$
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
          INSERT INTO record_count AS kept (dimension, chain, value, revoked, total, area_square_centimeters, length_centimeters, without_area, without_length)
          SELECT dimension, chain, value, revoked, sum(sign), coalesce(sum(sign * area_square_centimeters), 0), coalesce(sum(sign * length_centimeters), 0),
            coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL), 0), coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL), 0)
          FROM (SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, 1 AS sign FROM location_record
            WHERE location_record.chain = of_chain AND timestamp > counted AND timestamp <= last) AS changed, record_dimensions(timestamp, prover, schema_uid, location_type)
          GROUP BY 1, 2, 3, 4
          HAVING sum(sign) <> 0 OR sum(sign * area_square_centimeters) <> 0 OR sum(sign * length_centimeters) <> 0
            OR sum(sign) FILTER (WHERE area_square_centimeters IS NULL) <> 0 OR sum(sign) FILTER (WHERE length_centimeters IS NULL) <> 0
          ON CONFLICT (dimension, chain, value, revoked) DO UPDATE SET total = kept.total + excluded.total,
            area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
            length_centimeters = kept.length_centimeters + excluded.length_centimeters,
            without_area = kept.without_area + excluded.without_area, without_length = kept.without_length + excluded.without_length;
          IF last = 'infinity' THEN
            DELETE FROM record_uncounted WHERE chain = of_chain;
          ELSE
            UPDATE record_uncounted SET counted_until = last WHERE chain = of_chain;
          END IF;
          RETURN last <> 'infinity';
        END $$;
