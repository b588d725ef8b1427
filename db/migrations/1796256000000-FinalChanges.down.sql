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
DROP FUNCTION hot_blocks;
DELETE FROM "record_change" WHERE "finality" = 'final';
ALTER TABLE "record_change" DROP COLUMN "finality";
