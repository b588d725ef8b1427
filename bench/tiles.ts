import type { Client } from 'pg'
import { percentile, rounded, type Bench, type Table } from './bench'
import { filledDatabase } from './generated-records'
import { runWarm } from './load-thread'
import { startApi } from './records'

const SIZE = Number(process.env.BENCH_TILES || 1_000_000)
const ZOOMS = [0, 4, 8, 12]
/** Number of different tiles per zoom. They contain records that are picked at even intervals. */
const VARIANTS = 100
const SECONDS = 8
const WARM_UP_SECONDS = 2
const CONCURRENCY = 8
const HEADERS = { 'accept-encoding': 'gzip' }

/**
 * Query of pg_tileserv (internal/data/layer_table.go), with its default limit: features beyond the limit are
 * left out of a tile.
 */
const PLAIN = `SELECT ST_AsMVT(mvtgeom, 'records', 4096, 'geom') AS tile FROM (
  SELECT ST_AsMVTGeom(ST_Transform(ST_Force2D(t.geom), 3857), bounds.geom_clip, 4096, 256) AS geom,
    uid, chain, prover, location_type, revoked, timestamp, left(memo, 100) AS memo
  FROM location_record AS t, (SELECT ST_TileEnvelope($1, $2, $3) AS geom_clip) AS bounds
  WHERE ST_Intersects(t.geom, ST_Transform(bounds.geom_clip, 4326)) LIMIT 10000) AS mvtgeom`

type Tile = readonly [z: number, x: number, y: number]

/**
 * Measures vector tiles of a million records, cold and warm, and the query that builds them in the database.
 */
export async function tiles(bench: Bench): Promise<Table[]> {
  const databaseUrl = await filledDatabase(bench, SIZE)
  const client = await bench.connect(databaseUrl)
  // Settings of the API's own connections, which make the plain query faster.
  await client.query('SET jit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = "16MB"')
  const api = await startApi(bench, databaseUrl)
  const forgetful = await startApi(bench, databaseUrl, { CACHE_MB: '0' }, 'api-without-cache')
  const rows: Table[number][] = []
  for (const zoom of ZOOMS) {
    bench.report(`tiles of zoom ${zoom} ...`)
    const some = await tilesOf(client, zoom)
    const urls = (base: string) => some.map((tile) => `${base}/tiles/location-records/${tile.join('/')}.mvt`)
    const load = { bodies: [], headers: HEADERS, seconds: SECONDS }
    const made = await runWarm({ ...load, urls: urls(forgetful.url), concurrency: 1 })
    await plain(client, some, WARM_UP_SECONDS)
    const compared = await plain(client, some, SECONDS)
    const kept = await runWarm({ ...load, urls: urls(api.url), concurrency: CONCURRENCY })
    rows.push({
      records: SIZE,
      zoom,
      tiles: some.length,
      ...{ coldPerSecond: made.requestsPerSecond, coldP50Ms: made.p50Ms, coldP99Ms: made.p99Ms },
      ...compared,
      coldTimeOfPlain: rounded(compared.plainPerSecond / made.requestsPerSecond, 2),
      ...{ warmPerSecond: kept.requestsPerSecond, warmP50Ms: kept.p50Ms, warmP99Ms: kept.p99Ms },
      errors: made.errors + kept.errors,
    })
  }
  return [rows]
}

/**
 * Tiles of a zoom that contain records picked at even intervals, so that dense areas are requested more
 * often.
 */
async function tilesOf(client: Client, zoom: number): Promise<Tile[]> {
  const { rows } = await client.query<{ x: number; y: number }>(
    `SELECT DISTINCT (location_x(geom) >> $1)::int AS x, (location_y(geom) >> $1)::int AS y FROM location_record
     WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY timestamp, id) AS n FROM location_record) AS numbered WHERE n % $2 = 0)`,
    [31 - zoom, Math.floor(SIZE / VARIANTS)],
  )
  return rows.map(({ x, y }) => [zoom, x, y] as const)
}

/** The plain query, run sequentially on one connection. */
async function plain(client: Client, some: readonly Tile[], seconds: number) {
  const times: number[] = []
  const started = performance.now()
  for (let i = 0; performance.now() - started < seconds * 1000; i++) {
    const sent = performance.now()
    await client.query(PLAIN, [...some[i % some.length]!])
    times.push(performance.now() - sent)
  }
  const elapsed = performance.now() - started
  return {
    plainPerSecond: Math.round((times.length * 1000) / elapsed),
    plainP50Ms: rounded(percentile(times, 0.5), 2),
    plainP99Ms: rounded(percentile(times, 0.99), 2),
  }
}
