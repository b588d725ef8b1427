-- The comments on the published views: PostGraphile's smart tags (https://www.graphile.org/postgraphile/smart-comments/)
-- and the descriptions that raw GraphQL shows. `npm run migrate` applies them after the migrations, in the same
-- transaction, with {chains} replaced by the slugs of src/chains.ts. It writes only what differs, so that it locks
-- nothing when nothing has changed.
DO $apply$
DECLARE
  changed record;
BEGIN
  FOR changed IN
    WITH given (view, name, tags, description) AS (VALUES
    ('location_record', NULL, '@primaryKey id @unique chain,uid',
      'An attested location, as it is read from the attestation. Addresses are shown with their checksum, and found in any letter case.'),
    ('location_record', 'id', '@notNull',
      '`<chain>-<uid>`'),
    ('location_record', 'uid', '@notNull',
      'UID of the attestation. Several chains may have one of the same UID'),
    ('location_record', 'chain', '@notNull',
      'Slug of the chain: {chains}'),
    ('location_record', 'prover', '@notNull',
      'Address that made the attestation'),
    ('location_record', 'subject', '@notNull',
      'Its recipient'),
    ('location_record', 'timestamp', '@notNull',
      'When it was attested: the time of its block'),
    ('location_record', 'event_timestamp', '@notNull @omit filter',
      'When what it tells of happened, as attested; the time of attestation where it does not say'),
    ('location_record', 'srs', '@notNull @omit filter',
      'Spatial reference system, as attested'),
    ('location_record', 'location_type', '@notNull',
      'What kind of text `location` is, as attested'),
    ('location_record', 'location', '@notNull @omit filter',
      'The location, as attested: `geometry` is our reading of it'),
    ('location_record', 'longitude', '@omit filter',
      'In degrees; null where the location is no point'),
    ('location_record', 'latitude', '@omit filter',
      'In degrees; null where the location is no point'),
    ('location_record', 'recipe_types', '@notNull @omit filter',
      'As attested'),
    ('location_record', 'recipe_payloads', '@notNull @omit filter',
      'In base64'),
    ('location_record', 'media_types', '@notNull @omit filter',
      'As attested'),
    ('location_record', 'media_data', '@notNull @omit filter',
      'As attested'),
    ('location_record', 'memo', '@notNull @omit filter',
      'As attested'),
    ('location_record', 'revoked', '@notNull',
      'Whether the attestation was revoked'),
    ('location_record', 'created_at', '@notNull @omit filter',
      'When the record was made here'),
    ('location_record', 'updated_at', '@notNull @omit filter',
      'When it last changed here'),
    ('location_record', 'geometry', '@omit filter',
      'Our reading of the location: a GeoJSON geometry, exactly as it is computed with; null where it cannot be read for certain. The filter `bbox` goes by it'),
    ('location_record', 'schema_uid', '@notNull',
      'The EAS schema it was attested under'),
    ('location_record', 'ref_uid', '@notNull @omit filter',
      'UID of the attestation it refers to; zeros where it refers to none'),
    ('location_record', 'revocable', '@notNull @omit filter',
      'Whether its attester may revoke it'),
    ('location_record', 'expiration_time', '@notNull @omit filter',
      'Unix seconds, in decimal digits; 0 = never'),
    ('location_record', 'revocation_time', '@omit filter',
      'When it was revoked: the time of that block'),
    ('location_record', 'block_number', '@notNull @omit filter',
      'Block that it was attested in'),
    ('location_record', 'block_hash', '@notNull @omit filter',
      'Hash of that block'),
    ('location_record', 'transaction_hash', '@notNull @omit filter',
      'Transaction that it was attested in'),
    ('location_record', 'log_index', '@notNull @omit filter',
      'Place of its log in the block'),
    ('location_record', 'geom', '@omit',
      'The shape that bbox queries meet'),
    ('location_record', 'problem', '@omit filter',
      'Why there is no geometry; null where there is one'),
    ('location_record', 'attributes', '@omit filter',
      'Further fields of the payload by their names in the schema; null where it has none. Integers of more than 48 bits are texts, bytes are hex'),
    ('attestation_event', NULL, '@primaryKey id @foreignKey (chain, uid) references location_record (chain, uid)|@fieldName locationRecord|@foreignFieldName events',
      'An event of the log that all records follow from: an attestation under a location schema, or its revocation.'),
    ('attestation_event', 'id', '@notNull',
      '`<chain>-<block number, 12 digits>-<log index, 6 digits>`'),
    ('attestation_event', 'chain', '@notNull',
      'Slug of the chain: {chains}'),
    ('attestation_event', 'kind', '@notNull',
      'ATTESTED or REVOKED'),
    ('attestation_event', 'uid', '@notNull',
      'UID of the attestation'),
    ('attestation_event', 'schema_uid', '@notNull',
      'The EAS schema it was attested under'),
    ('attestation_event', 'attester', '@notNull',
      'Address that made the attestation'),
    ('attestation_event', 'recipient', '@notNull @omit filter',
      'Its recipient'),
    ('attestation_event', 'ref_uid', '@omit filter',
      'UID of the attestation it refers to; like the four that follow null where the event is a revocation'),
    ('attestation_event', 'time', '@omit filter',
      'Unix seconds, in decimal digits; equals the time of the block'),
    ('attestation_event', 'expiration_time', '@omit filter',
      'Unix seconds, in decimal digits; 0 = never'),
    ('attestation_event', 'revocable', '@omit filter',
      'Whether its attester may revoke it'),
    ('attestation_event', 'data', '@omit filter',
      'The payload, in hex'),
    ('attestation_event', 'problem', '@omit filter',
      'Why this attestation gave no record, or its record no geometry; null when nothing was wrong'),
    ('attestation_event', 'block_number', '@notNull @omit filter',
      'Block of the event'),
    ('attestation_event', 'block_hash', '@notNull @omit filter',
      'Hash of that block'),
    ('attestation_event', 'block_timestamp', '@notNull',
      'Time of that block'),
    ('attestation_event', 'transaction_hash', '@notNull @omit filter',
      'Transaction of the event'),
    ('attestation_event', 'log_index', '@notNull @omit filter',
      'Place of its log in the block'),
    ('attestation_event', 'withheld', '@notNull @omit filter',
      'Whether something of this attestation could not be stored: then it gives no record, `data` may be null, and `problem` says why')
    ), wanted AS (
      SELECT CASE WHEN name IS NULL THEN format('VIEW published.%I', view)
               ELSE format('COLUMN published.%I.%I', view, name) END AS target,
        format('published.%I', view)::regclass::oid AS view, name,
        concat(replace(tags, ' @', E'\n@'), E'\n', description) AS comment
      FROM given
      UNION ALL SELECT 'SCHEMA published', NULL, NULL, 'What anyone may read by raw GraphQL'
    )
    SELECT target, comment
    FROM wanted LEFT JOIN pg_attribute ON attrelid = view AND attname = name AND NOT attisdropped
    WHERE comment IS DISTINCT FROM CASE
      WHEN view IS NULL THEN obj_description('published'::regnamespace, 'pg_namespace')
      WHEN name IS NULL THEN obj_description(view, 'pg_class')
      ELSE col_description(view, attnum) END
  LOOP
    EXECUTE format('COMMENT ON %s IS %L', changed.target, changed.comment);
  END LOOP;
END
$apply$;
