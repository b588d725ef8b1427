import { VectorTile } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { Client, type QueryConfig, type QueryResultRow } from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../test/api'
import { connect, createMigratedDatabase, type TestDatabase } from '../../test/database'
import { FAMILIES, hostileShape } from '../../test/hostile'
import { ADDRESSES, insertRecords } from '../../test/records'
import { countsQuery, placedQuery, RECORD_CHARACTERS, recordsQuery, type TileRecord } from './sql'

/**
 * Tests tiles of large shapes that attesters could choose to make tiles slow. The tests count the work
 * instead of measuring time.
 */
let database: TestDatabase
let client: Client
let api: TestApi
/**
 * Characters of the shapes on each chain: as many as fit into one transaction, as many as a tile reads, and
 * few.
 */
const SIZES = { celo: 125_000, sepolia: 60_000, arbitrum: 600 }
const NAMES = Object.keys(FAMILIES)
const TILES = [
  [0, 0, 0],
  [1, 0, 0],
  [1, 1, 0],
  [4, 15, 7],
  [10, 1_023, 511],
  [22, 2 ** 22 - 1, 2 ** 21 - 1],
] as const

beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
  for (const [i, [chain, characters]] of Object.entries(SIZES).entries())
    await insertRecords(
      database.url,
      NAMES.map((memo) => ({ memo, chain, geometry: hostileShape(memo, characters) })),
      1_000 * i,
    )
  api = await startApi({ databaseUrl: database.url })
})

/** Number of large values of the records whose parts this connection read and has not yet published. */
async function partsRead(): Promise<number> {
  const { rows } = await client.query<{ scans: number }>(
    `SELECT s.idx_scan::int AS scans FROM pg_stat_xact_all_tables s
     JOIN pg_class c ON s.relid = c.reltoastrelid WHERE c.oid = 'location_record'::regclass`,
  )
  return rows[0]!.scans
}

/** The rows of a statement, and the number of large values whose parts it read. */
async function readBy<R extends QueryResultRow>(statement: QueryConfig) {
  // Within a transaction, no counts are published.
  await client.query('BEGIN')
  try {
    const before = await partsRead()
    const { rows } = await client.query<R>(statement)
    return { rows, parts: (await partsRead()) - before }
  } finally {
    await client.query('ROLLBACK')
  }
}

test.each(TILES)('tile %i/%i/%i reads no position of shapes that are too large for it', async (z, x, y) => {
  const tile = { z, x, y }
  for (const statement of [
    recordsQuery({ chain: 'celo' }, tile),
    recordsQuery({ chain: 'celo', prover: ADDRESSES }, tile),
    countsQuery({ chain: 'celo' }, tile),
    placedQuery({ chain: 'celo' }, tile),
  ])
    expect((await readBy(statement)).parts).toBe(0)
  const { rows, parts } = await readBy<TileRecord>(recordsQuery({ chain: 'sepolia' }, tile))
  if (rows.some(({ shape }) => shape !== null)) expect(parts).toBeGreaterThan(0)
})

test('every tile query finds and counts a record at the position of its shape', async () => {
  const { rows } = await client.query<{ is: boolean }>(
    `SELECT reach = location_reach(geom) AND map_x = location_x(geom) AND map_y IS NOT DISTINCT FROM location_y(geom) AS is FROM location_record`,
  )
  expect(rows).toEqual(rows.map(() => ({ is: true })))
  expect(rows).toHaveLength(3 * NAMES.length)
  await client.query('BEGIN')
  try {
    const changed = await client.query(
      `UPDATE location_record SET longitude = 1, latitude = 2, geom = ST_SetSRID(ST_MakePoint(1, 2), 4326)
       WHERE memo = $1 RETURNING reach, map_x, map_y`,
      [NAMES[0]],
    )
    expect(changed.rows).toEqual(Array(3).fill({ reach: null, map_x: null, map_y: null }))
  } finally {
    await client.query('ROLLBACK')
  }
})

test.each(TILES)('tile %i/%i/%i has the shapes that are small enough for it', async (z, x, y) => {
  const response = await fetch(`${api.url}/tiles/location-records/${z}/${x}/${y}.mvt`)
  expect(response.status).toBe(200)
  const { rows } = await client.query<TileRecord>(recordsQuery({}, { z, x, y }))
  for (const { shape } of rows) expect(shape?.length ?? 0).toBeLessThanOrEqual(RECORD_CHARACTERS)
  expect(rows.filter(({ shape }) => shape !== null).map(({ memo }) => memo)).toEqual(
    // A shape without width and height is drawn as a point.
    rows
      .filter(({ chain, memo }) => chain !== 'celo' && memo !== 'one point many times')
      .map(({ memo }) => memo),
  )
  if (z === 0) {
    expect(rows).toHaveLength(3 * NAMES.length)
    const layer = new VectorTile(new PbfReader(new Uint8Array(await response.arrayBuffer()))).layers.records!
    const shown = Array.from({ length: layer.length }, (_, i) => layer.feature(i).properties)
    expect(new Set(shown.map(({ chain, memo }) => `${chain} ${memo}`)).size).toBe(3 * NAMES.length)
    expect(shown.filter(({ chain, reduced }) => chain === 'celo' && !reduced)).toEqual([])
  }
})
