import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { insertRecordsSql } from '../bench/generated-records'
import { seededRandom } from '../dev/random'
import { CHAINS } from '../src/chains'
import { TEST_DATABASE_URL, connect, createDatabase, createMigratedDatabase, migrate, rows } from './database'
import { expectCounts } from './invariants'
import { MIGRATIONS, SCHEMA, indexOf, migrateTo, migrationTool, schemaOf } from './migrations'
import { withPostgres } from './needs'

test("TypeORM's tool undoes and applies migrations, and they match the entities, except for shapes", async () => {
  const database = await createMigratedDatabase()
  const source = await migrationTool(database.url)
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log()
    expect(upQueries.map(({ query }) => query).sort()).toEqual([
      ...['geom', 'line', 'line_version', 'map_x', 'map_y', 'reach'].map(
        (name) => `ALTER TABLE "location_record" DROP COLUMN "${name}"`,
      ),
      ...[
        'answer_inputs',
        'answer_operation',
        'attestation_event_revoked',
        'attestation_event_transaction',
        'attestation_event_withheld',
        ...['attributes', 'chain_revoked', 'geom', 'nowhere', 'reach', 'revoked', 'type'].map(
          (name) => `location_record_${name}`,
        ),
      ].map((name) => `DROP INDEX "public"."${name}"`),
    ])
    const names = await appliedTo(database.url)
    await source.undoLastMigration({ transaction: 'all' })
    expect(await appliedTo(database.url)).toEqual(names.slice(0, -1))
    await source.runMigrations({ transaction: 'all' })
    expect(await appliedTo(database.url)).toEqual(names)
  } finally {
    await source.destroy()
    await database.drop()
  }
})

const RECORD = `
  INSERT INTO location_record (id, uid, chain, prover, subject, "timestamp", event_timestamp, created_at, updated_at,
    srs, location_type, location, geometry, longitude, latitude,
    recipe_types, recipe_payloads, media_types, media_data, memo, revoked,
    schema_uid, ref_uid, revocable, expiration_time, block_number, block_hash, transaction_hash, log_index)
  VALUES ($1::text, $1::text, 'base-sepolia', '0x', '0x', now(), now(), now(), now(),
    'EPSG:4326', $2, '', '{"type":"Point","coordinates":[1,2]}', 1, 2,
    '{}', '{}', '{}', '{}', '', false,
    '0x', '0x', true, 0, 1, '0x', '0x', 0)`
const appliedTo = async (url: string) =>
  (await rows<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY id')).map(({ name }) => name)
/** Undoes this migration and all later ones, as docs/operations/upgrades.md describes. */
function undoFrom(url: string, first: string): Promise<void> {
  const { name } = new MIGRATIONS[indexOf(first) - 1]!()
  return migrate(url, name.replace(/\d+$/, ''))
}

test('the migrations undo and repeat all later ones than the first, with a long location type', async () => {
  const { url } = await createMigratedDatabase()
  const sql = <Row extends object>(text: string, values?: unknown[]) => rows<Row>(url, text, values)
  // This text has 12 kB that do not compress. The limit of an index entry is 2,704 bytes.
  const random = seededRandom(4_000)
  const letter = () => String.fromCharCode(0x4e00 + Math.floor(random() * 20_000))
  const long = Array.from({ length: 4_000 }, letter).join('')
  await sql(RECORD, ['long', long])
  const [names, before] = [await appliedTo(url), await schemaOf(url)]
  const releases = ['Poison', 'Records', 'Indexer']
  for (const first of releases) {
    await undoFrom(url, first)
    // A row of the previous release; the trigger adds its shape.
    await sql(RECORD, [first, 'geojson'])
    const shaped = 'SELECT id FROM location_record WHERE geom IS NOT NULL AND id = $1'
    expect(await sql(shaped, [first])).toEqual([{ id: first }])
  }
  await migrate(url)
  expect([await appliedTo(url), await schemaOf(url)]).toEqual([names, before])
  await sql(RECORD, ['again', `${long}!`])
  const stored = await sql<{ id: string; type: string }>(
    'SELECT id, location_type AS type FROM location_record',
  )
  expect(Object.fromEntries(stored.map(({ id, type }) => [id, type]))).toEqual({
    ...Object.fromEntries(releases.map((id) => [id, 'geojson'])),
    ...{ long, again: `${long}!` },
  })
})

test('the `down` of each migration undoes its `up`, which can be repeated', async () => {
  const { url } = await createDatabase()
  const client = await connect(url)
  const schema = async () => (await client.query(SCHEMA)).rows
  const run = async (work: (database: Client) => Promise<unknown>) => {
    await client.query('BEGIN')
    await work(client)
    await client.query('COMMIT')
    return schema()
  }
  let before = await schema()
  for (const Migration of MIGRATIONS) {
    const { up, down } = new Migration()
    const after = await run(up)
    expect(after).not.toEqual(before)
    expect(await run(down)).toEqual(before)
    expect(await run(up)).toEqual(after)
    before = after
  }
})

test('WebhookHolders preserves a lease of subscriptions that is valid while it runs', async () => {
  const database = await createDatabase()
  const sql = <Row extends object>(text: string, values?: unknown[]) => rows<Row>(database.url, text, values)
  try {
    await migrateTo(database.url, indexOf('WebhookHolders'))
    const leases = await sql<{ holder: string; until: Date }>(
      `INSERT INTO webhook_subscription (id, source, url, finality, filter, secrets, holder, held_until)
       SELECT id, 'admin', 'https://maps.example', 'final', '{}', '{}', holder, now() + lease
       FROM (VALUES ('a', 'one', interval '1 h'), ('b', 'one', '2 h'), ('c', 'two', '3 h'), ('d', 'lapsed', '-1 s'),
         ('e', NULL, NULL)) AS given (id, holder, lease)
       RETURNING holder, held_until AS until`,
    )
    await migrate(database.url)
    expect(await sql('SELECT holder, held_until AS until FROM webhook_holder ORDER BY holder')).toEqual([
      leases[1],
      leases[2],
    ])
  } finally {
    await database.drop()
  }
})

/** Writes a record with a new id, as the current release does. Returns the epoch of its chain afterwards. */
async function epochAfter(url: string, id: string): Promise<{ since: Date; origin: string }> {
  await rows(url, RECORD, [id, 'geojson'])
  return (await rows<{ since: Date; origin: string }>(url, 'SELECT since, origin FROM record_state'))[0]!
}
test('DatabaseEpochs and its down preserve the epoch of a database', async () => {
  const database = await createDatabase()
  try {
    await migrateTo(database.url, indexOf('DatabaseEpochs'))
    const before = await epochAfter(database.url, 'before')
    await migrate(database.url)
    const after = await epochAfter(database.url, 'after')
    expect([after.since, after.origin.startsWith(`${before.origin}/`)]).toEqual([before.since, true])
    await undoFrom(database.url, 'DatabaseEpochs')
    expect(await epochAfter(database.url, 'undone')).toEqual(before)
  } finally {
    await database.drop()
  }
})
test('RecordGroups and its down preserve the counts of groups', async () => {
  const database = await createDatabase()
  const counts = () =>
    rows(
      database.url,
      'SELECT * FROM record_count WHERE total <> 0 ORDER BY dimension, chain, value, revoked',
    )
  const revoke = () =>
    rows(database.url, `UPDATE location_record SET revoked = NOT revoked WHERE block_number % 7 = 3`)
  try {
    await migrateTo(database.url, indexOf('RecordGroups'))
    await rows(database.url, insertRecordsSql(), [1, 300])
    await rows(
      database.url,
      `UPDATE location_record SET area_square_centimeters = CASE location_type WHEN 'geojson-polygon' THEN block_number END,
         length_centimeters = CASE location_type WHEN 'geojson-linestring' THEN block_number END`,
    )
    await revoke()
    const before = await counts()
    await migrate(database.url)
    expect(await counts()).toEqual(before)
    await revoke()
    for (const { slug } of CHAINS) await expectCounts(database.url, slug)
    const after = await counts()
    expect(after).not.toEqual(before)
    await undoFrom(database.url, 'RecordGroups')
    expect(await counts()).toEqual(after)
    await revoke()
    expect(await counts()).toEqual(before)
  } finally {
    await database.drop()
  }
})
withPostgres.test('a dump that is restored on the same server has a new epoch', async () => {
  const database = await createMigratedDatabase()
  const copy = new URL(database.url)
  const name = `${copy.pathname.slice(1)}_copy`
  copy.pathname = `/${name}`
  try {
    const before = await epochAfter(database.url, 'before')
    // Copies the rows into another database, like pg_dump and psql.
    await rows(TEST_DATABASE_URL!, `CREATE DATABASE "${name}" TEMPLATE "${name.replace(/_copy$/, '')}"`)
    const after = await epochAfter(copy.href, 'after')
    expect(after.since.getTime()).toBeGreaterThan(before.since.getTime())
  } finally {
    await rows(TEST_DATABASE_URL!, `DROP DATABASE IF EXISTS "${name}"`)
    await database.drop()
  }
})

test('the comments cover every column of the views, even when the migration Poison is undone', async () => {
  const database = await createMigratedDatabase()
  const comments = () =>
    rows<{ column: string; comment: string | null }>(
      database.url,
      `SELECT attrelid::regclass || '.' || attname AS column, col_description(attrelid, attnum) AS comment
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
       WHERE relnamespace = 'published'::regnamespace AND attnum > 0 ORDER BY 1`,
    )
  try {
    const all = await comments()
    expect(all.filter(({ comment }) => comment === null)).toEqual([])
    await undoFrom(database.url, 'Poison')
    expect(await comments()).toEqual(
      all.filter(({ column }) => !/location_record.(problem|attributes)|withheld|answer/.test(column)),
    )
  } finally {
    await database.drop()
  }
})

test('the comments are written once, and corrected if a comment differs', async () => {
  const database = await createMigratedDatabase()
  const written = () =>
    rows(
      database.url,
      `SELECT pg_description.xmin::text, description FROM pg_description JOIN pg_class ON pg_class.oid = objoid
      WHERE relnamespace = 'published'::regnamespace ORDER BY objoid, objsubid`,
    )
  try {
    const before = await written()
    await migrate(database.url)
    expect(await written()).toEqual(before)
    const schema = await schemaOf(database.url)
    await rows(database.url, `COMMENT ON COLUMN published.location_record.uid IS 'other'`)
    await rows(database.url, `COMMENT ON VIEW published.attestation_event IS NULL`)
    await migrate(database.url)
    expect(await schemaOf(database.url)).toEqual(schema)
  } finally {
    await database.drop()
  }
})
