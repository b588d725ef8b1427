-- typeorm-store's tables, as version 1.5.1 makes and fills them.
DO $$
  DECLARE
    slug text;
    state text;
  BEGIN
    FOR slug IN SELECT chain FROM chain_status WHERE final_height IS NOT NULL LOOP
      state := 'squid_' || replace(slug, '-', '_');
      EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', state);
      -- An indexer of an earlier version that was started after the migration has made them again.
      EXECUTE format('DROP TABLE IF EXISTS %1$I.hot_change_log, %1$I.hot_block, %1$I.status', state);
      EXECUTE format('CREATE TABLE %I.status (id int4 PRIMARY KEY, height int4 NOT NULL, hash text DEFAULT ''0x'', nonce int4 DEFAULT 0)', state);
      EXECUTE format('CREATE TABLE %I.hot_block (height int4 PRIMARY KEY, hash text NOT NULL)', state);
      EXECUTE format('CREATE TABLE %1$I.hot_change_log (block_height int4 NOT NULL REFERENCES %1$I.hot_block ON DELETE CASCADE,
        index int4 NOT NULL, change jsonb NOT NULL, PRIMARY KEY (block_height, index))', state);
      EXECUTE format('INSERT INTO %I.status (id, height, hash) SELECT 0, final_height, final_hash FROM chain_status WHERE chain = $1', state) USING slug;
      EXECUTE format('INSERT INTO %I.hot_block SELECT height, hash FROM hot_block WHERE chain = $1', state) USING slug;
      -- In the order in which the rows were written. A rollback takes the last one back first.
      EXECUTE format('INSERT INTO %I.hot_change_log SELECT height, row_number() OVER (PARTITION BY height ORDER BY step, change->>''id'') - 1, change FROM (
          WITH event AS (SELECT event.* FROM attestation_event AS event JOIN hot_block ON hot_block.chain = event.chain AND height = block_number WHERE event.chain = $1)
          SELECT block_number AS height, 1 AS step, jsonb_build_object(''kind'', ''insert'', ''table'', ''attestation_event'', ''id'', id) AS change FROM event
          UNION ALL SELECT event.block_number, 2, jsonb_build_object(''kind'', ''insert'', ''table'', ''location_record'', ''id'', record.id)
            FROM event JOIN location_record AS record ON record.id = event.chain || ''-'' || event.uid WHERE event.kind = ''ATTESTED''
          UNION ALL SELECT event.block_number, 2, jsonb_build_object(''kind'', ''insert'', ''table'', ''answer'', ''id'', answer.id)
            FROM event JOIN answer ON answer.id = event.chain || ''-'' || event.uid WHERE event.kind = ''ATTESTED''
          UNION ALL SELECT height, 3, jsonb_build_object(''kind'', ''update'', ''table'', projection, ''id'', id,
              ''fields'', jsonb_build_object(''revoked'', revoked, ''revocation_time'', revocation_time, ''updated_at'', updated_at))
            FROM hot_revocation WHERE chain = $1
        ) AS written', state) USING slug;
    END LOOP;
  END $$;

CREATE OR REPLACE FUNCTION hot_blocks(chain text) RETURNS int4range LANGUAGE plpgsql STABLE AS $$
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
DROP TABLE "hot_revocation", "hot_block";
ALTER TABLE "chain_status" DROP "final_height", DROP "final_hash";
