-- Final delivery: changes that no reorg takes back. The log of changes holds both: what is written while its block is hot
-- is for readers of the latest state alone; the indexer repeats it for the others once the block is final, in the same
-- transaction (src/indexer/store/final.ts). What is written of final blocks, history and corrections, is for both.
-- latest, final or both: the readers that a change is for. Changes from before this migration are for those of latest.
ALTER TABLE "record_change" ADD COLUMN "finality" text NOT NULL DEFAULT 'latest';

-- The blocks of a chain that a reorg may take back, by evm-processor's own state, which it writes with the rows.
CREATE FUNCTION hot_blocks(chain text) RETURNS int4range LANGUAGE plpgsql STABLE AS $$
  DECLARE
    state text := 'squid_' || replace(chain, '-', '_');
    blocks int4range;
  BEGIN
    IF to_regclass(format('%I.status', state)) IS NULL THEN
      RETURN 'empty';
    END IF;
    EXECUTE format('SELECT int4range(height, (SELECT max(height) FROM %1$I.hot_block), ''(]'') FROM %1$I.status
      WHERE id = 0 AND EXISTS (SELECT FROM %1$I.hot_block)', state) INTO blocks;
    RETURN coalesce(blocks, 'empty');
  END $$;

CREATE OR REPLACE FUNCTION location_record_after_insert() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
          -- A record that comes revoked was revoked in the same block, or in a final one.
          WITH hot AS MATERIALIZED (SELECT chain, hot_blocks(chain) AS blocks FROM (SELECT DISTINCT chain FROM new_rows) AS of)
          INSERT INTO record_change (chain, kind, uid, place, finality)
            SELECT chain, kind, uid, location_place(geom), CASE WHEN block_number <@ blocks THEN 'latest' ELSE 'both' END
            FROM new_rows JOIN hot USING (chain), (VALUES (1, 'new'), (2, 'revoked')) AS change (step, kind)
            WHERE step = 1 OR revoked ORDER BY timestamp, block_number, log_index, id, step;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM new_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM new_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
-- Deletions of hot blocks are rollbacks, which readers of final changes never hear of. Others are corrections.
CREATE OR REPLACE FUNCTION location_record_after_delete() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM old_rows ORDER BY chain) AS of;
          WITH hot AS MATERIALIZED (SELECT chain, hot_blocks(chain) AS blocks FROM (SELECT DISTINCT chain FROM old_rows) AS of)
          INSERT INTO record_change (chain, kind, uid, place, finality)
            SELECT chain, 'reorged', uid, location_place(geom), CASE WHEN block_number <@ blocks THEN 'latest' ELSE 'both' END
            FROM old_rows JOIN hot USING (chain) ORDER BY timestamp, block_number, log_index, id;
          INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), -count(*) FROM old_rows GROUP BY 1, 2
            ON CONFLICT (chain, hour) DO UPDATE SET total = record_hour.total + excluded.total;
          INSERT INTO record_state (chain, total, revoked) SELECT chain, -count(*), -count(*) FILTER (WHERE revoked) FROM old_rows GROUP BY chain
            ON CONFLICT (chain) DO UPDATE SET total = record_state.total + excluded.total, revoked = record_state.revoked + excluded.revoked, revision = record_state.revision + 1;
          RETURN NULL;
        END $$;
-- The block of a revocation is in the log: there before the record is changed, and until after it is changed back.
CREATE OR REPLACE FUNCTION location_record_after_update() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('attestations of ' || chain)) FROM (SELECT DISTINCT chain FROM new_rows ORDER BY chain) AS of;
        WITH hot AS MATERIALIZED (SELECT chain, hot_blocks(chain) AS blocks FROM (SELECT DISTINCT chain FROM new_rows) AS of)
        INSERT INTO record_change (chain, kind, uid, place, finality)
          SELECT n.chain, CASE WHEN n.revoked THEN 'revoked' ELSE 'reorged' END, n.uid, location_place(n.geom),
            CASE WHEN EXISTS (SELECT FROM attestation_event AS event WHERE event.chain = n.chain AND event.uid = n.uid
              AND event.kind = 'REVOKED' AND event.block_number <@ hot.blocks) THEN 'latest' ELSE 'both' END
          FROM new_rows AS n JOIN old_rows AS o USING (id) JOIN hot ON hot.chain = n.chain
          WHERE n.revoked <> o.revoked ORDER BY n.revocation_time, n.timestamp, n.block_number, n.log_index, n.id;
        UPDATE record_state SET revoked = record_state.revoked + by_chain.more, revision = revision + 1, rewrites = rewrites + by_chain.rewritten
          FROM (SELECT n.chain, sum(n.revoked::int - o.revoked::int) AS more, max((n.revoked = o.revoked OR n.geometry IS DISTINCT FROM o.geometry)::int) AS rewritten FROM new_rows AS n JOIN old_rows AS o USING (id) GROUP BY n.chain) AS by_chain
          WHERE record_state.chain = by_chain.chain;
        RETURN NULL;
      END $$;
