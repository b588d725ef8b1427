-- The place of each record on the map is worked out once, not once for each level and sum, and summed in whole numbers:
-- counting 10,000 new records in cells takes 0.13 s in place of 0.39. What is counted stays the same.
DO $do$
  DECLARE
    each record;
  BEGIN
    FOR each IN VALUES
      ('insert', 'SELECT chain, revoked, geom, 1 AS sign FROM new_rows'),
      ('update', 'SELECT chain, revoked, geom, 1 AS sign FROM new_rows UNION ALL SELECT chain, revoked, geom, -1 FROM old_rows'),
      ('delete', 'SELECT chain, revoked, geom, -1 AS sign FROM old_rows')
    LOOP
      EXECUTE format($format$CREATE OR REPLACE FUNCTION location_record_cells_%1$s() RETURNS trigger LANGUAGE plpgsql AS $function$
        BEGIN
          INSERT INTO record_cell AS cell (level, x, y, chain, revoked, total, x_sum, y_sum)
          WITH placed AS MATERIALIZED (
            SELECT chain, revoked, sign, location_x(geom)::int AS x, location_y(geom)::int AS y FROM (%2$s) AS changed)
          SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, sum(sign), sum(sign * x), sum(sign * y)
          FROM placed, (VALUES (4), (9), (14)) AS kept (level)
          WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5
          HAVING sum(sign) <> 0 OR sum(sign * x) <> 0 OR sum(sign * y) <> 0
          ON CONFLICT (level, x, y, chain, revoked) DO UPDATE SET total = cell.total + excluded.total, x_sum = cell.x_sum + excluded.x_sum,
            y_sum = cell.y_sum + excluded.y_sum;
          RETURN NULL;
        END $function$$format$, each.column1, each.column2);
    END LOOP;
  END $do$;
