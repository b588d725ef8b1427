import { medianMs, rounded, type Bench, type Table } from './bench'
import { fill, FIRST_TIME, SECONDS_BETWEEN } from './generated-records'
import { startApi } from './records'

/** Measures statistics by group over HTTP, compared with plain SQL over the records in the same run. */

const SIZES = (process.env.BENCH_RECORDS || '1000000').split(',').map(Number)
/** Number of requests per kind, of which the median is reported. */
const REQUESTS = 21
const PLAIN_REQUESTS = 3
/** Number of records that the filter by time selects. */
const LEFT = 100_000

export async function statistics(bench: Bench): Promise<Table[]> {
  const databaseUrl = await bench.migratedDatabase()
  const client = await bench.connect(databaseUrl)
  await client.query('SET max_parallel_workers_per_gather = 0; SET jit = off')
  const tables: Table[] = []
  let filled = 0
  for (const size of SIZES) {
    await fill(bench, client, filled, size)
    filled = size
    const api = await startApi(bench, databaseUrl, { CACHE_MB: '0' })
    const rows: Table[number][] = []
    for (const [kind, { query, sql }] of Object.entries(kindsOf(size))) {
      bench.report(`${size} records, ${kind} ...`)
      const url = `${api.url}/api/v0/location-records/stats?${query}`
      const total = ((await (await fetch(url)).json()) as { total: number }).total
      rows.push({
        records: size,
        kind,
        counted: total,
        medianMs: rounded(await medianMs(REQUESTS, async () => (await fetch(url)).text())),
        plainSqlMs: rounded(await medianMs(PLAIN_REQUESTS, () => client.query(sql))),
      })
    }
    tables.push(rows)
    await api.service.stop()
  }
  return tables
}

function kindsOf(size: number): Record<string, { query: string; sql: string }> {
  const day = `date_trunc('day', timestamp, 'UTC')`
  const grouped = (keys: string, where = '') =>
    `SELECT ${keys}, count(*) FROM location_record ${where} GROUP BY ${keys}`
  const from = new Date(FIRST_TIME + Math.max(0, size - LEFT) * SECONDS_BETWEEN * 1000).toISOString()
  const recent = `WHERE timestamp > '${from}'`
  return {
    'by day': { query: 'by=day', sql: grouped(day) },
    'by month and chain': {
      query: 'by=month,chain',
      sql: grouped(`date_trunc('month', timestamp, 'UTC'), chain`),
    },
    'by chain': { query: 'by=chain', sql: grouped('chain') },
    'top 20 provers': { query: 'by=prover&top=20', sql: `${grouped('prover')} ORDER BY 2 DESC LIMIT 20` },
    'a time, by day': { query: `by=day&fromTimestamp=${from}`, sql: grouped(day, recent) },
    'a time, by prover': { query: `by=prover&fromTimestamp=${from}`, sql: grouped('prover', recent) },
    'a time, by day, areas': {
      query: `by=day&sum=area&fromTimestamp=${from}`,
      sql: `SELECT ${day}, count(*), sum(area_square_centimeters) FROM location_record ${recent} GROUP BY 1`,
    },
    'a time, by geohash': {
      query: `by=geohash:3&fromTimestamp=${from}`,
      sql: grouped('ST_GeoHash(ST_Centroid(geom), 3)', recent),
    },
    // Plain SQL has no H3 cells.
    'a time, by H3 cell': {
      query: `by=h3:9&fromTimestamp=${from}`,
      sql: grouped('longitude, latitude', recent),
    },
  }
}
