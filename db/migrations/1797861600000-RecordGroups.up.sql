-- Statistics by group: one row for each group of a chain, which contains the measures of its revoked records besides those
-- of all, and a partition of its own for each dimension with many values. Half as many rows are read as before.

-- No transaction writes records while their triggers change.
LOCK TABLE "location_record" IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE "record_group" (
  "dimension" text, "chain" text, "value" text, "total" bigint NOT NULL, "revoked" bigint NOT NULL,
  -- Sums of those that have one, and the numbers of those that have none; each of all records and of the revoked ones.
  "area_square_centimeters" numeric NOT NULL, "revoked_area" numeric NOT NULL,
  "length_centimeters" numeric NOT NULL, "revoked_length" numeric NOT NULL,
  "without_area" bigint NOT NULL, "revoked_without_area" bigint NOT NULL,
  "without_length" bigint NOT NULL, "revoked_without_length" bigint NOT NULL,
  PRIMARY KEY ("dimension", "chain", "value")) PARTITION BY LIST ("dimension");
CREATE TABLE "record_group_day" PARTITION OF "record_group" FOR VALUES IN ('day');
CREATE TABLE "record_group_prover" PARTITION OF "record_group" FOR VALUES IN ('prover');
CREATE TABLE "record_group_other" PARTITION OF "record_group" DEFAULT;

INSERT INTO record_group
  SELECT dimension, chain, value, sum(total), coalesce(sum(total) FILTER (WHERE revoked), 0),
    sum(area_square_centimeters), coalesce(sum(area_square_centimeters) FILTER (WHERE revoked), 0),
    sum(length_centimeters), coalesce(sum(length_centimeters) FILTER (WHERE revoked), 0),
    sum(without_area), coalesce(sum(without_area) FILTER (WHERE revoked), 0),
    sum(without_length), coalesce(sum(without_length) FILTER (WHERE revoked), 0)
  FROM record_count GROUP BY 1, 2, 3;
DROP TABLE "record_count";
-- The same groups, divided by revocation.
CREATE VIEW "record_count" AS
  SELECT dimension, chain, value, part.* FROM record_group, LATERAL (VALUES
    (true, revoked, revoked_area, revoked_length, revoked_without_area, revoked_without_length),
    (false, total - revoked, area_square_centimeters - revoked_area, length_centimeters - revoked_length,
      without_area - revoked_without_area, without_length - revoked_without_length)
  ) AS part (revoked, total, area_square_centimeters, length_centimeters, without_area, without_length);

CREATE OR REPLACE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change, record_cell, record_group, record_uncounted;
        RETURN NULL;
      END $$;

DO $migration$
DECLARE
  -- Adds changed records to their groups: rows of a record with the sign 1 (added) or -1 (removed).
  added text := $sql$
    INSERT INTO record_group AS kept
    SELECT * FROM (
      SELECT dimension, chain, value, sum(sign) AS total, coalesce(sum(sign) FILTER (WHERE revoked), 0) AS revoked,
        coalesce(sum(sign * area_square_centimeters), 0) AS area, coalesce(sum(sign * area_square_centimeters) FILTER (WHERE revoked), 0) AS revoked_area,
        coalesce(sum(sign * length_centimeters), 0) AS length, coalesce(sum(sign * length_centimeters) FILTER (WHERE revoked), 0) AS revoked_length,
        coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL), 0) AS without_area,
        coalesce(sum(sign) FILTER (WHERE area_square_centimeters IS NULL AND revoked), 0) AS revoked_without_area,
        coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL), 0) AS without_length,
        coalesce(sum(sign) FILTER (WHERE length_centimeters IS NULL AND revoked), 0) AS revoked_without_length
      FROM (%s) AS changed LEFT JOIN record_uncounted USING (chain), record_dimensions(timestamp, prover, schema_uid, location_type)
      WHERE %s GROUP BY 1, 2, 3) AS more
    WHERE (total, revoked, area, revoked_area, length, revoked_length, without_area, revoked_without_area, without_length, revoked_without_length)
      <> (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    ON CONFLICT (dimension, chain, value) DO UPDATE SET
      total = kept.total + excluded.total, revoked = kept.revoked + excluded.revoked,
      area_square_centimeters = kept.area_square_centimeters + excluded.area_square_centimeters,
      revoked_area = kept.revoked_area + excluded.revoked_area,
      length_centimeters = kept.length_centimeters + excluded.length_centimeters,
      revoked_length = kept.revoked_length + excluded.revoked_length,
      without_area = kept.without_area + excluded.without_area,
      revoked_without_area = kept.revoked_without_area + excluded.revoked_without_area,
      without_length = kept.without_length + excluded.without_length,
      revoked_without_length = kept.revoked_without_length + excluded.revoked_without_length;
  $sql$;
  rows_of text := 'SELECT chain, timestamp, prover, schema_uid, location_type, revoked, area_square_centimeters, length_centimeters, %s AS sign FROM %s';
  new_rows text := format(rows_of, 1, 'new_rows');
  old_rows text := format(rows_of, -1, 'old_rows');
  change record;
BEGIN
  FOR change IN SELECT * FROM (VALUES
    ('insert', new_rows), ('update', new_rows || ' UNION ALL ' || old_rows), ('delete', old_rows)) AS of (kind, changed)
  LOOP
    EXECUTE format('CREATE OR REPLACE FUNCTION location_record_counts_%s() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN %s RETURN NULL; END $body$',
      change.kind, format(added, change.changed, 'counted_until IS NULL OR timestamp <= counted_until'));
  END LOOP;
  -- As in the migration Counts.
  EXECUTE format($function$
    CREATE OR REPLACE FUNCTION count_records(of_chain text, many integer) RETURNS boolean LANGUAGE plpgsql AS $body$
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
      %s
      IF last = 'infinity' THEN
        DELETE FROM record_uncounted WHERE chain = of_chain;
      ELSE
        UPDATE record_uncounted SET counted_until = last WHERE chain = of_chain;
      END IF;
      RETURN last <> 'infinity';
    END $body$
  $function$, format(added, format(rows_of, 1, 'location_record'), 'chain = of_chain AND timestamp > counted AND timestamp <= last'));
END $migration$;
