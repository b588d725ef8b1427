import { createRequire } from 'node:module'
import { createOrmConfig } from '@subsquid/typeorm-config'
import type { Client } from 'pg'
import { DataSource } from 'typeorm'
import { expect, test } from 'vitest'
import { seededRandom } from '../dev/random'
import { CHAINS } from '../src/chains'
import { Database, replayPage } from '../src/indexer/store'
import { project, type ChainEvent } from '../src/indexer/project'
import { watchedOf } from '../src/indexer/registry'
import { EventKind } from '../src/model'
import { TEST_DATABASE_URL, connect, createDatabase, createMigratedDatabase, migrate, rows } from './database'
import { insertRecordsSql } from '../bench/generated-records'
import { expectCounts } from './invariants'
import { FAMILIES, attestedPlace, hostile, type Attested } from './hostile'

/** Migrations from db/migrations/load.js, oldest first. */
const MIGRATIONS = createRequire(__filename)('../db/migrations/load.js') as (new () => {
  readonly name: string
  readonly up: (database: Client) => Promise<unknown>
  readonly down: (database: Client) => Promise<unknown>
})[]

/** A connection of TypeORM's migration tool that knows only the first `count` migrations. */
async function migrationTool(url: string, count = MIGRATIONS.length): Promise<DataSource> {
  process.env.DB_URL = url
  const config = createOrmConfig()
  delete process.env.DB_URL
  return new DataSource({ ...config, migrations: MIGRATIONS.slice(0, count) }).initialize()
}

/** Migrates up to the first `count` migrations. */
async function migrateTo(url: string, count: number): Promise<void> {
  const source = await migrationTool(url, count)
  try {
    await source.runMigrations({ transaction: 'all' })
  } finally {
    await source.destroy()
  }
}

/** Number of migrations before this one. */
const indexOf = (name: string) => MIGRATIONS.findIndex((Migration) => new Migration().name.startsWith(name))

/** This project's part of a database's catalog, without PostGIS's. */
const SCHEMA = `
  WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', 'published')),
    extension AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e'),
    relation AS (
      SELECT pg_class.* FROM pg_class JOIN ours ON ours.oid = relnamespace
        LEFT JOIN pg_index ON indexrelid = pg_class.oid
      WHERE relkind IN ('r', 'v', 'S', 'i')
        AND ('pg_class'::regclass, coalesce(indrelid, pg_class.oid)) NOT IN (SELECT classid, objid FROM extension))
  SELECT 'schema' AS what, nspname::text AS name,
      concat_ws(' ', obj_description(oid, 'pg_namespace'), CASE nspname WHEN 'published' THEN
        (SELECT nspacl FROM pg_namespace WHERE oid = ours.oid) END) AS is FROM ours
  UNION ALL SELECT 'relation', oid::regclass::text, concat_ws(' ', relkind, relacl, obj_description(oid, 'pg_class'))
    FROM relation
  UNION ALL SELECT 'column', relation.oid::regclass || '.' || attname,
      concat_ws(' ', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid, atttypmod),
        attnotnull, attidentity, attstattarget, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
    FROM pg_attribute JOIN relation ON relation.oid = attrelid
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attnum > 0 AND NOT attisdropped
  UNION ALL SELECT 'view', oid::regclass::text, pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
  UNION ALL SELECT 'index', oid::regclass::text, pg_get_indexdef(oid) FROM relation WHERE relkind = 'i'
  UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(pg_constraint.oid)
    FROM pg_constraint JOIN relation ON relation.oid = conrelid
  UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'function', pg_proc.oid::regprocedure::text, concat_ws(' ', pg_get_functiondef(pg_proc.oid), proacl)
    FROM pg_proc JOIN ours ON ours.oid = pronamespace
    WHERE prokind = 'f' AND ('pg_proc'::regclass, pg_proc.oid) NOT IN (SELECT classid, objid FROM extension)
  ORDER BY 1, 2, 3`
const schemaOf = (url: string) => rows<{ what: string; name: string; is: string }>(url, SCHEMA)

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
test.skipIf(!TEST_DATABASE_URL)(
  'a dump that is restored on the same server has a new epoch (needs PostgreSQL)',
  async () => {
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
  },
)

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

/**
 * An event log with every kind of location type, geometry and text, with revocations, and with payloads that
 * have no record or no geometry.
 */
function realisticLog(): { events: ChainEvent[]; bodies: Map<string, Attested['body']> } {
  const random = seededRandom(14)
  let n = 0
  const place = (location: string, type: string) => attestedPlace(n++, location, type, `place ${n}`)
  const places = [
    place('{"type":"Point","coordinates":[2.2945,48.8584]}', 'geojson-point'),
    place('13.3777,52.5163', 'coordinate-decimal+lon-lat'),
    place('LINESTRING(179 0,-179 1)', 'wkt'),
    place('89283082837ffff', 'h3'),
    place('u33dc0', 'geohash'),
    place('{"x":133777,"y":525163,"scale":10000}', 'scaledCoordinates'),
    place('Unter den Linden 1', 'address'),
    place('{"type":"Point","coordinates":[500,0]}', 'geojson'),
    // This text is too long for an index entry.
    place('x', Array.from({ length: 4_000 }, () => String.fromCharCode(0x4e00 + random() * 20_000)).join('')),
    ...Object.values(FAMILIES).map((shape) => place(JSON.stringify(shape(12)), 'geojson-polygon')),
  ]
  const attested = [...places, ...Array.from({ length: 60 }, () => hostile(n++, random))]
  const revoked = [...attested.filter((_, i) => i % 5 === 1), attestedPlace(9_999, '', '')]
  const revocations = revoked.map(({ event }): ChainEvent => ({
    ...attestedPlace(n++, '', '').event,
    kind: EventKind.REVOKED,
    uid: event.uid,
  }))
  return {
    events: [...attested.map(({ event }) => event), ...revocations],
    bodies: new Map(attested.map(({ event, body }) => [event.uid, body])),
  }
}

test('the migrations bring a database of the first migration to the state of a new database', async () => {
  const old = await createDatabase()
  const fresh = await createMigratedDatabase()
  const { events, bodies } = realisticLog()
  const writtenAt = new Date('2026-07-01Z')
  const chains = [CHAINS[0]!, CHAINS[3]!]
  try {
    await migrateTo(old.url, 1)
    for (const { slug } of chains) {
      const { events: log, rows: projected } = project(slug, events, bodies, writtenAt)
      const records = projected.location_record
      expect([log.length, records.length > 40, records.some(({ geometry }) => !geometry)]).toEqual([
        events.length,
        true,
        true,
      ])
      for (const { url } of [old, fresh])
        for (const [table, given] of [
          [
            'attestation_event',
            log.map((row) => ({ ...row, data: row.data && `\\x${row.data.toString('hex')}` })),
          ],
          ['location_record', records],
        ] as const)
          await rows(url, `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
            JSON.stringify(given),
          ])
    }
    await migrate(old.url)
    expect(await schemaOf(old.url)).toEqual(await schemaOf(fresh.url))
    await expectSame('SELECT * FROM attestation_event ORDER BY id')
    await expectSame(
      `SELECT to_jsonb(record) - ARRAY['geom', 'reach', 'map_x', 'map_y', 'line', 'line_version', 'area_square_centimeters', 'length_centimeters'] AS record FROM location_record AS record ORDER BY id`,
    )
    await expectSame('SELECT * FROM record_hour ORDER BY chain, hour')
    await expectSame('SELECT chain, total, revoked FROM record_state ORDER BY chain')
    await expectSame('SELECT * FROM published.attestation_event ORDER BY id')
    await expectSame('SELECT id, geom IS NULL AS nowhere FROM location_record ORDER BY id')
    // The shapes that the trigger wrote earlier remain until a replay.
    await replay(old.url)
    await expectSame(
      `SELECT id, geom, reach, map_x, map_y, problem, revoked, revocation_time, line_version, area_square_centimeters, length_centimeters,
         location_line(line, revoked, 'epoch', 'epoch') AS line FROM location_record ORDER BY id`,
    )
    while ((await rows(old.url, 'SELECT count_records(chain, 20) FROM record_uncounted')).length);
    await expectSame('SELECT * FROM record_count ORDER BY dimension, chain, value, revoked')
  } finally {
    await Promise.all([old.drop(), fresh.drop()])
  }

  async function expectSame(sql: string): Promise<void> {
    const expected = await rows(fresh.url, sql)
    expect(expected.length).toBeGreaterThan(0)
    expect(await rows(old.url, sql)).toEqual(expected)
  }
  async function replay(url: string): Promise<void> {
    const database = new Database(url, () => {})
    try {
      for (const chain of chains) {
        const [all, last] = [1_000, 2 ** 31 - 1]
        const { differing } = await replayPage(database, chain, watchedOf(chain), '', all, last, true)
        expect(new Set(differing.map(({ what }) => what))).toEqual(new Set(['different']))
      }
    } finally {
      await database.close()
    }
  }
})
