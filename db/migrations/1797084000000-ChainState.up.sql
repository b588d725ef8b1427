-- Waits for a transaction of an indexer that still runs, before any lock that it needs: its next one fails, as there is no
-- table.
DO $$
  DECLARE
    state text;
  BEGIN
    FOR state IN SELECT nspname FROM pg_namespace WHERE nspname LIKE 'squid\_%'
      AND to_regclass(format('%I.status', nspname)) IS NOT NULL
      AND to_regclass(format('%I.hot_block', nspname)) IS NOT NULL
      AND to_regclass(format('%I.hot_change_log', nspname)) IS NOT NULL
      AND (EXISTS (SELECT FROM chain_status WHERE chain = replace(substr(nspname, 7), '_', '-'))
        OR EXISTS (SELECT FROM attestation_event WHERE chain = replace(substr(nspname, 7), '_', '-')))
    LOOP
      EXECUTE format('LOCK TABLE %1$I.status, %1$I.hot_block, %1$I.hot_change_log', state);
    END LOOP;
  END $$;

-- The last final block of each chain's copy and its hot blocks, which a reorg may take back: until now in tables of
-- typeorm-store, a schema squid_<chain> for each chain, and from here on in ours (src/indexer/store/hot.ts).
-- final_height and final_hash are null before the first final block.
ALTER TABLE "chain_status" ADD "final_height" integer, ADD "final_hash" text;
CREATE TABLE "hot_block" ("chain" text, "height" integer, "hash" text NOT NULL, PRIMARY KEY ("chain", "height"));
-- Rows that a hot block has revoked, as they were before. What it has inserted follows from the event log.
CREATE TABLE "hot_revocation" (
  "chain" text, "height" integer, "projection" text, "id" text,
  "revoked" boolean NOT NULL, "revocation_time" timestamptz, "updated_at" timestamptz NOT NULL,
  PRIMARY KEY ("chain", "height", "projection", "id"),
  FOREIGN KEY ("chain", "height") REFERENCES "hot_block" ON DELETE CASCADE);

DO $$
  DECLARE
    state text;
    slug text;
  BEGIN
    FOR state IN SELECT nspname FROM pg_namespace WHERE nspname LIKE 'squid\_%'
      AND to_regclass(format('%I.status', nspname)) IS NOT NULL
      AND to_regclass(format('%I.hot_block', nspname)) IS NOT NULL
      AND to_regclass(format('%I.hot_change_log', nspname)) IS NOT NULL
    LOOP
      slug := replace(substr(state, 7), '_', '-');
      -- Another squid may share the database.
      CONTINUE WHEN NOT EXISTS (SELECT FROM chain_status WHERE chain = slug)
        AND NOT EXISTS (SELECT FROM attestation_event WHERE chain = slug);
      EXECUTE format('INSERT INTO chain_status (chain, final_height, final_hash)
        SELECT $1, height, hash FROM %I.status WHERE id = 0 AND height >= 0
        ON CONFLICT (chain) DO UPDATE SET final_height = excluded.final_height, final_hash = excluded.final_hash', state) USING slug;
      EXECUTE format('INSERT INTO hot_block SELECT $1, height, hash FROM %I.hot_block', state) USING slug;
      EXECUTE format('INSERT INTO hot_revocation SELECT $1, block_height, change->>''table'', change->>''id'',
          (change->''fields''->>''revoked'')::boolean, (change->''fields''->>''revocation_time'')::timestamptz, (change->''fields''->>''updated_at'')::timestamptz
        FROM %I.hot_change_log WHERE change->>''kind'' = ''update'' ORDER BY block_height, index ON CONFLICT DO NOTHING', state) USING slug;
      EXECUTE format('DROP TABLE %1$I.hot_change_log, %1$I.hot_block, %1$I.status', state);
      IF NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = state::regnamespace) THEN
        EXECUTE format('DROP SCHEMA %I', state);
      END IF;
    END LOOP;
  END $$;

-- A row that a version before the migration Agreement wrote last has no hash of its last block.
UPDATE chain_status AS status SET indexed_hash = block.hash
  FROM (SELECT chain, final_height AS height, final_hash AS hash FROM chain_status UNION ALL SELECT chain, height, hash FROM hot_block) AS block
  WHERE status.chain = block.chain AND status.indexed_hash IS NULL AND status.indexed_height = block.height;

CREATE OR REPLACE FUNCTION hot_blocks(chain text) RETURNS int4range LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN count(*) = 0 THEN 'empty' ELSE int4range(min(height), max(height), '[]') END FROM hot_block WHERE hot_block.chain = hot_blocks.chain
$$;
