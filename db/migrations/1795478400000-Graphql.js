/**
 * What raw GraphQL (docs/graphql.md) shows: a database schema of its own with one view for the records and one for the log,
 * and a role that may read these two and nothing else. PostGraphile makes its types of the views, their columns and their
 * comments; lines of a comment that start with @ are for it (https://www.graphile.org/postgraphile/smart-comments/).
 * A view is no copy: its columns are the tables', so queries live by the tables' indexes.
 */
const RECORD = {
  keys: '@primaryKey id\n@unique chain,uid',
  about:
    'An attested location, as it is read from the attestation. Addresses are shown with their checksum, and found in any letter case.',
  columns: [
    ['id', 'id', '@notNull', '`<chain>-<uid>`'],
    ['uid', 'uid', '@notNull', 'UID of the attestation. Several chains may have one of the same UID'],
    ['chain', 'chain', '@notNull', 'Slug of the chain: base-sepolia, sepolia, arbitrum, celo'],
    ['prover', 'prover', '@notNull', 'Address that made the attestation'],
    ['subject', 'subject', '@notNull', 'Its recipient'],
    ['timestamp', 'timestamp', '@notNull', 'When it was attested: the time of its block'],
    [
      'event_timestamp',
      'event_timestamp',
      '@notNull @omit filter',
      'When what it tells of happened, as attested; the time of attestation where it does not say',
    ],
    ['srs', 'srs', '@notNull @omit filter', 'Spatial reference system, as attested'],
    ['location_type', 'location_type', '@notNull', 'What kind of text `location` is, as attested'],
    [
      'location',
      'location',
      '@notNull @omit filter',
      'The location, as attested: `geometry` is our reading of it',
    ],
    ['longitude', 'longitude::float8', '@omit filter', 'In degrees; null where the location is no point'],
    ['latitude', 'latitude::float8', '@omit filter', 'In degrees; null where the location is no point'],
    ['recipe_types', 'recipe_types', '@notNull @omit filter', 'As attested'],
    ['recipe_payloads', 'recipe_payloads', '@notNull @omit filter', 'In base64'],
    ['media_types', 'media_types', '@notNull @omit filter', 'As attested'],
    ['media_data', 'media_data', '@notNull @omit filter', 'As attested'],
    ['memo', 'memo', '@notNull @omit filter', 'As attested'],
    ['revoked', 'revoked', '@notNull', 'Whether the attestation was revoked'],
    ['created_at', 'created_at', '@notNull @omit filter', 'When the record was made here'],
    ['updated_at', 'updated_at', '@notNull @omit filter', 'When it last changed here'],
    [
      'geometry',
      'geometry::json',
      '@omit filter',
      'Our reading of the location: a GeoJSON geometry, exactly as it is computed with; null where it cannot be read for certain. The filter `bbox` goes by it',
    ],
    ['schema_uid', 'schema_uid', '@notNull', 'The EAS schema it was attested under'],
    [
      'ref_uid',
      'ref_uid',
      '@notNull @omit filter',
      'UID of the attestation it refers to; zeros where it refers to none',
    ],
    ['revocable', 'revocable', '@notNull @omit filter', 'Whether its attester may revoke it'],
    [
      'expiration_time',
      'expiration_time::text',
      '@notNull @omit filter',
      'Unix seconds, in decimal digits; 0 = never',
    ],
    ['revocation_time', 'revocation_time', '@omit filter', 'When it was revoked: the time of that block'],
    ['block_number', 'block_number', '@notNull @omit filter', 'Block that it was attested in'],
    ['block_hash', 'block_hash', '@notNull @omit filter', 'Hash of that block'],
    ['transaction_hash', 'transaction_hash', '@notNull @omit filter', 'Transaction that it was attested in'],
    ['log_index', 'log_index', '@notNull @omit filter', 'Place of its log in the block'],
    // On the plane, cut at the antimeridian, a bounding box where the shape is not valid: to find by, not to show.
    ['geom', 'geom', '@omit', 'The shape that bbox queries meet'],
  ],
}
const EVENT = {
  keys: '@primaryKey id\n@foreignKey (chain, uid) references location_record (chain, uid)|@fieldName locationRecord|@foreignFieldName events',
  about:
    'An event of the log that all records follow from: an attestation under a location schema, or its revocation.',
  columns: [
    ['id', 'id', '@notNull', '`<chain>-<block number, 12 digits>-<log index, 6 digits>`'],
    ['chain', 'chain', '@notNull', 'Slug of the chain: base-sepolia, sepolia, arbitrum, celo'],
    ['kind', 'kind::text', '@notNull', 'ATTESTED or REVOKED'],
    ['uid', 'uid', '@notNull', 'UID of the attestation'],
    ['schema_uid', 'schema_uid', '@notNull', 'The EAS schema it was attested under'],
    ['attester', 'attester', '@notNull', 'Address that made the attestation'],
    ['recipient', 'recipient', '@notNull @omit filter', 'Its recipient'],
    [
      'ref_uid',
      'ref_uid',
      '@omit filter',
      'UID of the attestation it refers to; like the four that follow null where the event is a revocation',
    ],
    ['time', 'time::text', '@omit filter', 'Unix seconds, in decimal digits; equals the time of the block'],
    [
      'expiration_time',
      'expiration_time::text',
      '@omit filter',
      'Unix seconds, in decimal digits; 0 = never',
    ],
    ['revocable', 'revocable', '@omit filter', 'Whether its attester may revoke it'],
    ['data', `'0x' || encode(data, 'hex')`, '@omit filter', 'The payload, in hex'],
    [
      'problem',
      'problem',
      '@omit filter',
      'Why this attestation gave no record, or its record no geometry; null when nothing was wrong',
    ],
    ['block_number', 'block_number', '@notNull @omit filter', 'Block of the event'],
    ['block_hash', 'block_hash', '@notNull @omit filter', 'Hash of that block'],
    ['block_timestamp', 'block_timestamp', '@notNull', 'Time of that block'],
    ['transaction_hash', 'transaction_hash', '@notNull @omit filter', 'Transaction of the event'],
    ['log_index', 'log_index', '@notNull @omit filter', 'Place of its log in the block'],
  ],
}

module.exports = class Graphql1795478400000 {
  name = 'Graphql1795478400000'

  async up(db) {
    // The log newest first, and by attester; until now nobody asked for it but by UID.
    await db.query(
      `CREATE INDEX "IDX_11612fc8a70aeb663f02bb93ff" ON "attestation_event" ("block_timestamp", "id")`,
    )
    await db.query(
      `CREATE INDEX "IDX_bf998ceee9cc5a49987aeb7d3f" ON "attestation_event" ("attester", "block_timestamp")`,
    )
    // Revocations are few: looked for among all events, finding five may take reading the whole log.
    await db.query(
      `CREATE INDEX attestation_event_revoked ON attestation_event (block_timestamp, id) WHERE kind = 'REVOKED'`,
    )

    await db.query(`CREATE SCHEMA published`)
    await db.query(`COMMENT ON SCHEMA published IS 'What anyone may read by raw GraphQL'`)
    for (const [table, view] of [
      ['location_record', RECORD],
      ['attestation_event', EVENT],
    ]) {
      await db.query(
        `CREATE VIEW published.${table} AS SELECT ${view.columns.map(([name, source]) => `${source} AS "${name}"`).join(', ')} FROM public.${table}`,
      )
      await db.query(`COMMENT ON VIEW published.${table} IS ${literal(`${view.keys}\n${view.about}`)}`)
      for (const [name, , tags, about] of view.columns)
        await db.query(
          `COMMENT ON COLUMN published.${table}."${name}" IS ${literal(`${tags.replaceAll(' @', '\n@')}\n${about}`)}`,
        )
    }

    // A role is of the whole server: other databases of it may have made it before, or be making it right now. A managed
    // server may forbid it: docs/graphql.md says what its administrator then runs.
    await db.query(`DO $$ BEGIN
        CREATE ROLE published_reader NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
      END $$`)
    await db.query(`DO $$ BEGIN
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'published_reader') THEN
          GRANT USAGE ON SCHEMA published TO published_reader;
          GRANT SELECT ON ALL TABLES IN SCHEMA published TO published_reader;
        END IF;
      END $$`)
    // Whoever migrates is mostly who the API logs in as: it then takes this role for each query.
    await db.query(`DO $$ BEGIN
        IF NOT pg_has_role(current_user, 'published_reader', 'USAGE') THEN
          EXECUTE format('GRANT published_reader TO %I', current_user);
        END IF;
      EXCEPTION WHEN OTHERS THEN NULL;
      END $$`)
  }

  async down(db) {
    // The role stays: it may read nothing here any more, and other databases of the server may use it.
    await db.query(`DROP SCHEMA published CASCADE`)
    await db.query(`DROP INDEX attestation_event_revoked`)
    await db.query(`DROP INDEX "IDX_bf998ceee9cc5a49987aeb7d3f"`)
    await db.query(`DROP INDEX "IDX_11612fc8a70aeb663f02bb93ff"`)
  }
}

function literal(text) {
  return `'${text.replaceAll("'", "''")}'`
}
