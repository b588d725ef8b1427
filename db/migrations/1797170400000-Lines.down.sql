ALTER TABLE "chain_status" DROP COLUMN "replayed";
DROP TRIGGER location_record_forget_line ON "location_record";
DROP TRIGGER location_record_revise_line ON "location_record";
DROP FUNCTION location_record_forget_line();
DROP FUNCTION location_record_revise_line();
DROP FUNCTION location_fields(text);
DROP FUNCTION location_line(text, boolean, timestamptz, timestamptz);
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
ALTER TABLE "location_record" DROP COLUMN "line", DROP COLUMN "line_version";
