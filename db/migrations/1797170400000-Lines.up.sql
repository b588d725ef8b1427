-- Each record's JSON as the API answers it (src/location/line.ts), and the version of its form. Null in rows that no
-- indexer of this version has written or filled yet; the API writes their JSON from the other columns.
ALTER TABLE "location_record" ADD COLUMN "line" text, ADD COLUMN "line_version" smallint;
-- Lines of more than some 2 kB are compressed. Reading takes less time with LZ4, which some builds of Postgres lack.
DO $$
  BEGIN
    IF EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)) THEN
      ALTER TABLE "location_record" ALTER COLUMN "line" SET COMPRESSION lz4;
    END IF;
  END $$;

-- The line of a record with these values; null if it has another form. No other part of a line matches: texts escape
-- quotes, and attributes have a space after each colon.
CREATE FUNCTION location_line(line text, revoked boolean, created_at timestamptz, updated_at timestamptz) RETURNS text
  LANGUAGE sql STABLE PARALLEL SAFE
  RETURN CASE WHEN line ~ '","revoked":(true|false),"created_at":"[^"]*","updated_at":"[^"]*"'
    THEN regexp_replace(line, '","revoked":(true|false),"created_at":"[^"]*","updated_at":"[^"]*"',
      format('","revoked":%s,"created_at":"%s","updated_at":"%s"', revoked::text,
        to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) END;
-- The columns of a record from which the API writes its line if none is stored. In a function, because a subquery would
-- add to the planning of each list. Times are in UTC.
CREATE FUNCTION location_fields(id text) RETURNS text LANGUAGE sql STABLE SET TimeZone = 'UTC'
  RETURN (SELECT (to_jsonb(record) - ARRAY['geom', 'reach', 'line'])::text FROM location_record AS record
    WHERE record.id = location_fields.id);
-- A revocation and its rollback keep the line in step.
CREATE FUNCTION location_record_revise_line() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.line := location_line(NEW.line, NEW.revoked, NEW.created_at, NEW.updated_at);
    RETURN NEW;
  END $$;
CREATE TRIGGER location_record_revise_line BEFORE UPDATE OF "revoked", "created_at", "updated_at" ON "location_record"
  FOR EACH ROW WHEN (NEW.line IS NOT NULL) EXECUTE FUNCTION location_record_revise_line();
-- After any other change of a field the line is unknown, until an indexer fills it.
CREATE FUNCTION location_record_forget_line() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.line := NULL;
    NEW.line_version := NULL;
    RETURN NEW;
  END $$;
CREATE TRIGGER location_record_forget_line BEFORE UPDATE OF "uid", "chain", "prover", "subject", "timestamp", "event_timestamp",
    "srs", "location_type", "location", "longitude", "latitude", "recipe_types", "recipe_payloads", "media_types", "media_data",
    "memo", "problem", "attributes" ON "location_record"
  FOR EACH ROW EXECUTE FUNCTION location_record_forget_line();

-- Filling a line changes no answer: the state of the data stays the same. The rest is as in the migration FinalChanges.
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
          FROM (SELECT n.chain, sum(n.revoked::int - o.revoked::int) AS more, max((n.revoked = o.revoked OR n.geometry IS DISTINCT FROM o.geometry)::int) AS rewritten
            FROM new_rows AS n JOIN old_rows AS o USING (id)
            WHERE n.line_version IS NULL OR n.line_version IS NOT DISTINCT FROM o.line_version
              OR (n.revoked, n.updated_at) IS DISTINCT FROM (o.revoked, o.updated_at)
            GROUP BY n.chain) AS by_chain
          WHERE record_state.chain = by_chain.chain;
        RETURN NULL;
      END $$;

-- How far the replay of a chain's records by a new version has come (src/indexer/reading.ts), so that it resumes there:
-- {"reading": <version>, "after": <last UID>, "height": <last final block at its start>}. Null if none has begun.
ALTER TABLE "chain_status" ADD COLUMN "replayed" jsonb;
-- Records of a database in which this migration was undone are filled again.
UPDATE chain_status SET reading = least(reading, 2);
