import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Client } from 'pg'
import { LOCAL_SIGNER_KEY } from '../dev/chain'
import { seededRandom } from '../dev/random'
import { freePort, type Service } from '../dev/services'
import { Store } from '../api/store/store'
import { conditionIn } from '../api/query/filter'
import type { RecordFilter, Statement } from '../api/store/model'
import { KINDS, isAsked, processStatus, processorMs, rounded, type Bench, type Table } from './bench'
import {
  CITIES_SQL,
  FILLED,
  FIRST_TIME,
  PROVERS,
  SECONDS_BETWEEN,
  fill,
  proverAddress,
} from './generated-records'
import { runPgbench, statementsOf, type Page } from './pgbench'
import { SEED } from './points'
import { run, runWarm, warmUp } from './load-thread'

/**
 * Numbers of records; BENCH_RECORDS sets others, separated by commas. All are measured in one table, which
 * grows from one number to the next.
 */
const SIZES = (process.env.BENCH_RECORDS || '1000000,10000000').split(',').map(Number)
const CONCURRENCY = 32
/** Concurrency at which response times include no queueing. */
const FEW = 8
const SECONDS = 8
const LOAD = { concurrency: CONCURRENCY, seconds: SECONDS }
/** Number of different requests of a kind, sent in turn. pgbench accepts at most 128 scripts. */
const VARIANTS = 100
/** Number of rows that a page's query reads: one more than the page, to detect a next page. */
const LIMIT = 100
/** Half the side of a box around a city, degrees. */
const CITY = 0.2

type Random = () => number
interface City {
  lng: number
  lat: number
}

/**
 * Measures the speed of lists of records with a million and ten million records, compared with pgbench with
 * the same SQL, and with a minimal Node server.
 */
export async function records(bench: Bench): Promise<Table[]> {
  const databaseUrl = FILLED || (await bench.migratedDatabase())
  const client = await bench.connect(databaseUrl)
  const tables: Table[] = []
  const measured = new Map<string, number>()
  let filled = 0
  for (const size of SIZES) {
    if (!FILLED) await fill(bench, client, filled, size)
    filled = size
    const kinds = await kindsOf(client, size)
    const api = await startApi(bench, databaseUrl, { CACHE_MB: '0' })
    const rows: Table[number][] = []
    for (const [kind, pages] of Object.entries(kinds).filter(([kind]) => isAsked(kind))) {
      bench.report(`${size} records, ${kind} ...`)
      const statements = await statementsOf(databaseUrl, pages)
      const pgbench = await runPgbench(bench, databaseUrl, statements, LOAD)
      const bare = await passedThrough(bench, databaseUrl, statements)
      const load = { urls: urlsOf(api.url, pages), bodies: [], ...LOAD }
      await warmUp(load)
      const before = await processorTimes(client, api.service.pid)
      const service = await run(load)
      const after = await processorTimes(client, api.service.pid)
      const perRequest = (part: 'api' | 'postgres') =>
        rounded((after[part] - before[part]) / (service.requestsPerSecond * SECONDS), 3)
      const few = await run({ ...load, concurrency: FEW })
      const smaller = measured.get(kind)
      measured.set(kind, pgbench)
      rows.push({
        records: size,
        kind,
        ...service,
        p99MsAt8: few.p99Ms,
        pgbenchPerSecond: Math.round(pgbench),
        ofPgbench: rounded(service.requestsPerSecond / pgbench, 2),
        bareOfPgbench: rounded(bare / pgbench, 2),
        apiMs: perRequest('api'),
        postgresMs: perRequest('postgres'),
        costOfSizeBefore: smaller === undefined ? 'n/a' : rounded(smaller / pgbench, 2),
      })
    }
    tables.push(rows)
    await api.service.stop()
    if (!KINDS) tables.push(await kept(bench, databaseUrl, size, kinds))
  }
  return tables
}

/**
 * Processor times of the API and of the Postgres processes that serve it, milliseconds. NaN for a Postgres on
 * another machine.
 */
export async function processorTimes(
  client: Client,
  apiPid: number,
): Promise<{ api: number; postgres: number }> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'api' AND datname = current_database()`,
  )
  const times = rows.map(({ pid }) =>
    processStatus(pid, 'Name') === 'postgres' ? (processorMs(pid) ?? NaN) : NaN,
  )
  return { api: processorMs(apiPid) ?? NaN, postgres: times.reduce((sum, time) => sum + time, 0) }
}

/**
 * Kinds of requests. The selective ones find about as many records at every size, so their cost should not
 * grow.
 */
async function kindsOf(client: Client, size: number): Promise<Record<string, Page[]>> {
  const random = seededRandom(SEED)
  const cities = (await client.query<City>(CITIES_SQL)).rows
  const provers = (
    await client.query<{ address: string }>(
      `SELECT ${proverAddress('n')} AS address FROM generate_series(0, ${PROVERS - 1}) AS n`,
    )
  ).rows
  const anyCity = () => cities[Math.floor(random() * cities.length)]!
  const chains = ['base-sepolia', 'sepolia', 'arbitrum', 'celo']
  const hour = () => {
    const after = new Date(FIRST_TIME + Math.floor(random() * size) * SECONDS_BETWEEN * 1000)
    return { after, before: new Date(after.getTime() + 3_600_000) }
  }
  const box = ({ lng, lat }: City, half: number) => ({
    bbox: [lng - half, lat - half, lng + half, lat + half].map(
      (degrees) => Math.round(degrees * 1e6) / 1e6,
    ) as unknown as readonly [number, number, number, number],
  })
  // A city of medium size has 0.04 % of all records, half of them within 0.1 degrees. This box therefore
  // contains about a hundred records.
  const neighbourhood = () => box(anyCity(), 0.05 * Math.sqrt(1_000_000 / size))
  const variants = <Made>(make: (random: Random) => Made) =>
    Array.from({ length: VARIANTS }, () => make(random))
  const nearestPage = (read: (store: Store, at: readonly [number, number]) => Promise<unknown>): Page => {
    const { lng, lat } = anyCity()
    const at = [lng, lat].map((degrees) => Number((degrees + random() - 0.5).toFixed(5))) as [number, number]
    return {
      path: `/api/v0/location-records?sort=distance&near=${at.join()}`,
      read: (store) => read(store, at),
    }
  }
  const anyProver = () => provers[Math.floor(random() * PROVERS)]!.address
  const lists: Record<string, RecordFilter[]> = {
    newest: [{}],
    'by chain': chains.map((chain) => ({ chain })),
    'by prover': variants(() => ({ prover: anyProver() })),
    'by time': variants(hour),
    'by bbox, a neighbourhood': variants(neighbourhood),
    'by bbox, a city': variants(() => box(anyCity(), CITY)),
    'by bbox, the largest cities': cities.slice(0, 5).map((city) => box(city, CITY)),
    'by bbox, the world': [{ bbox: [-180, -90, 180, 90] }],
    'all together': variants(() => ({
      chain: chains[Math.floor(random() * 4)]!,
      prover: provers[Math.floor(random() * 200)]!.address,
      after: new Date(FIRST_TIME),
      ...box(cities[Math.floor(random() * 50)]!, CITY),
    })),
  }
  return {
    ...Object.fromEntries(Object.entries(lists).map(([kind, filters]) => [kind, filters.map(listPage)])),
    nearest: variants(() => nearestPage((store, at) => store.recordsNear(at, LIMIT + 1, {}))),
    'CQL2: provers, and a box': variants(() =>
      filterPage(
        `prover IN ('${anyProver()}', '${anyProver()}') AND S_INTERSECTS(geometry, BBOX(-60, -60, 120, 70))`,
      ),
    ),
    'CQL2: a city or a prover': variants(() =>
      filterPage(`S_INTERSECTS(geometry, BBOX(${neighbourhood().bbox.join()})) OR prover = '${anyProver()}'`),
    ),
    // pgbench reads only the geometries of the first records in planar order, which need not be the nearest.
    'nearest, of the plane': variants(() =>
      nearestPage((store, at) => store.samplePlaces({}, [[...at, ...at]], LIMIT + 1)),
    ),
  }
}

function listPage(filter: RecordFilter): Page {
  return {
    path: `/api/v0/location-records?${queryString(filter)}`,
    read: (store) => store.page({ ...filter, limit: LIMIT }),
  }
}

/** Features of the response, and the number of matching records. */
function filterPage(filter: string): Page {
  const condition = conditionIn(filter) as RecordFilter['condition']
  return {
    path: `/ogc/collections/location-records/items?${new URLSearchParams({ filter }).toString()}`,
    read: async (store) => {
      await store.page({ condition, limit: LIMIT, withGeometry: true })
      await store.countRecords({ condition }, 10_001)
    },
  }
}

function urlsOf(url: string, pages: readonly Page[]): string[] {
  return pages.map(({ path }) => `${url}${path}`)
}

function queryString({ chain, prover, after, before, bbox }: RecordFilter): string {
  const given = {
    chain,
    prover,
    fromTimestamp: after?.toISOString(),
    toTimestamp: before?.toISOString(),
    bbox: bbox?.join(),
  }
  return new URLSearchParams(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString()
}

export async function startApi(
  bench: Bench,
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
  name = 'api',
): Promise<{ url: string; service: Service }> {
  const port = String(await freePort())
  const settings = {
    DATABASE_URL: databaseUrl,
    PORT: port,
    API_PROCESSES: '1',
    RECORDS_RATE_LIMIT_PER_HOUR: '0',
    CHAINS: 'base-sepolia',
    RPC_URL_BASE_SEPOLIA: 'http://127.0.0.1:1',
    SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
    ...more,
  }
  const service = await bench.start(name, ['dist/api/main.js'], { ...bench.environment, ...settings })
  return { url: `http://127.0.0.1:${port}`, service }
}

/**
 * Repeated requests of pages while no record changes: from one process, and from the default number of
 * processes.
 */
async function kept(
  bench: Bench,
  databaseUrl: string,
  size: number,
  kinds: Record<string, Page[]>,
): Promise<Table> {
  const rows: Table[number][] = []
  for (const processes of ['1', '']) {
    const api = await startApi(bench, databaseUrl, { API_PROCESSES: processes })
    for (const kind of ['newest', 'by bbox, a city']) {
      const urls = urlsOf(api.url, kinds[kind]!)
      rows.push({
        records: size,
        askedBefore: kind,
        processes: processes || 'default',
        ...(await runWarm({ urls, bodies: [], ...LOAD })),
      })
    }
    await api.service.stop()
  }
  return rows
}

/**
 * Repetitions of equal statements per second through pg and Fastify, with the text passed through
 * (bare-records.ts).
 */
async function passedThrough(bench: Bench, databaseUrl: string, pages: Statement[][]): Promise<number> {
  const port = await freePort()
  const file = path.join(bench.folder, 'pages.json')
  writeFileSync(file, JSON.stringify(pages))
  const args = ['dist/bench/bare-records.js', String(port), databaseUrl, file]
  const service = await bench.start('bare-records', args, bench.environment)
  const urls = pages.map((_, i) => `http://127.0.0.1:${port}/${i}`)
  const { requestsPerSecond } = await runWarm({ urls, bodies: [], ...LOAD })
  await service.stop()
  return requestsPerSecond
}
