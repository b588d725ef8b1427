import { readdirSync } from 'node:fs'
import type { Polygon } from 'geojson'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY, attest, locationRequest } from '../dev/chain'
import { freePort } from '../dev/services'
import { waitForHead } from '../dev/indexed'
import { startWorld, type World } from '../dev/world'
import { seededRandom } from '../dev/random'
import { ETHERS_CURVE, NATIVE_CURVE, type Curve } from '../src/eas/curve'
import { SEED, attestPoints, randomPoint } from './points'
import type { Load, Measured } from './load'
import { run, warmUp } from './load-thread'
import {
  KINDS,
  isAsked,
  processMegabytes,
  processStatus,
  processorMs,
  rounded,
  type Bench,
  type Table,
} from './bench'

const CONCURRENCIES = KINDS ? [32] : [1, 8, 32]
const SECONDS = 8
/** Number of points attested for the requests by UID. */
const ATTESTED = 500
/**
 * Number of different requests of each kind, which are sent in turn, so that no response can come from a
 * cache.
 */
const BODIES = 1_000

/**
 * Vertices of the polygon in the requests, and the number of distinct polygons if each request has a new one.
 */
const VERTICES = 10_000
const POLYGONS = 100
/** Placeholder digits in a vertex, which the load replaces by the number of each request. */
const NUMBERED = '98765432'

/**
 * Measures the speed of the whole service, compared with a route that only signs, and the cost of signing by
 * library.
 */
export async function compute(bench: Bench): Promise<Table[]> {
  const { world, environment } = await bringUp(bench)
  const random = seededRandom(SEED)
  const uids = await attestPoints(world.chain!, ATTESTED, bench.progress)
  const polygonUid = await attest(world.chain!, locationRequest(wobbly(random)))
  await waitForHead(world.settings, world.chain!, bench.progress)
  const service: Measurable = {
    bench,
    url: `${world.settings.publicBaseUrl}/compute/v0/`,
    pid: [...world.services.values()].find(({ name }) => name === 'api')!.pid,
  }
  const pairs = (input: () => unknown) =>
    Array.from({ length: BODIES }, () => ({ from: input(), to: input() }))
  const points = pairs(() => randomPoint(random))
  const byUids = pairs(() => uids[Math.floor(random() * uids.length)])
  const tables = [
    await rates(service, environment, points, byUids),
    await containment(service, points.map(ask), polygonUid, random),
    KINDS ? [] : await signing(),
    memory(world),
  ]
  return tables.filter((table) => table.length > 0)
}

interface Measurable {
  bench: Bench
  /** base URL of its operations, ending with a slash */
  url: string
  pid: number
}
const ask = (request: object) => JSON.stringify({ chainId: LOCAL_CHAIN.id, ...request })

/** Adds the API's processor time per request, which depends little on other work of the machine. */
async function charged(pid: number, load: Load): Promise<Measured & { apiMicroseconds: number | 'n/a' }> {
  const before = processorMs(pid)
  const measured = await run(load)
  const ms = before === undefined ? undefined : processorMs(pid)! - before
  const requests = measured.requestsPerSecond * SECONDS
  return { ...measured, apiMicroseconds: ms === undefined ? 'n/a' : Math.round((1_000 * ms) / requests) }
}

/** Distances per second of points and of UIDs, by one and two processes, and of the route that only signs. */
async function rates(
  { bench, url, pid }: Measurable,
  environment: NodeJS.ProcessEnv,
  points: readonly object[],
  uids: readonly object[],
): Promise<Table> {
  const [barePort, twoPort] = await Promise.all([freePort(), freePort()])
  await bench.start('bare', ['dist/bench/bare.js', String(barePort)], bench.environment)
  const two = { ...environment, PORT: String(twoPort), API_PROCESSES: '2' }
  await bench.start('api-two-processes', ['dist/api/main.js'], two)
  const bare = `http://127.0.0.1:${barePort}/`
  const one = `${url}distance`
  const both = `http://127.0.0.1:${twoPort}/compute/v0/distance`
  const loads: [load: string, url: string, requests: readonly object[], more?: object][] = [
    ['bare signing route', `${bare}native`, points],
    ['bare signing route, ethers', bare, points],
    ['two GeoJSON points', one, points],
    ['points, with transaction', one, points, { include: ['transaction'] }],
    ['points, for the proxy', one, points, { submission: 'proxy' }],
    ['two UIDs', one, uids],
    ['points, two processes', both, points],
    ['UIDs, two processes', both, uids],
  ]
  if (!loads.some(([load]) => isAsked(load))) return []
  const rows: Table[number][] = []
  for (const concurrency of CONCURRENCIES) {
    let ofBare: number | undefined
    // The rates of all others are compared with that of the first.
    for (const [load, url, requests, more] of loads.filter(([load], i) => i === 0 || isAsked(load))) {
      bench.report(`${load}, ${concurrency} at a time ...`)
      const bodies = requests.map((request) => ask({ ...request, ...more }))
      const sent = { urls: [url], bodies, concurrency, seconds: SECONDS }
      await warmUp(sent)
      const measured =
        url === one ? await charged(pid, sent) : { ...(await run(sent)), apiMicroseconds: 'n/a' }
      ofBare ??= measured.requestsPerSecond
      rows.push({
        load,
        concurrency,
        ...measured,
        ofBareRate: rounded(measured.requestsPerSecond / ofBare, 2),
      })
    }
  }
  return rows
}

/**
 * Points in one polygon, like a client with one zone, in an attested polygon, and in a new polygon with each
 * request, next to requests of others.
 */
async function containment(
  { bench, url, pid }: Measurable,
  bodiesOfOthers: readonly string[],
  polygonUid: string,
  random: () => number,
): Promise<Table> {
  const zone = wobbly(random)
  const bodies = (count: number, container: () => unknown) =>
    Array.from({ length: count }, () =>
      ask({
        container: container(),
        geometry: { type: 'Point', coordinates: [10 + random(), 50 + random()] },
      }),
    )
  const kinds: [load: string, bodies: () => string[], numbered?: string][] = [
    ['one polygon, many points', () => bodies(50, () => zone)],
    ['an attested polygon', () => bodies(50, () => polygonUid)],
    ['another polygon each time', () => bodies(POLYGONS, () => numberedPolygon(random)), NUMBERED],
  ]
  const rows: Table[number][] = []
  for (const [load, bodiesOf, numbered] of kinds) {
    if (!isAsked(load)) continue
    bench.report(`contains, ${load} ...`)
    // Each run needs new polygons, because each load numbers its requests from the start.
    const question = (): Load => ({
      ...{ urls: [`${url}contains`], bodies: bodiesOf(), concurrency: 8, seconds: SECONDS },
      ...(numbered !== undefined && { numbered }),
    })
    const [contains, others] = await Promise.all([
      run(question()),
      run({ urls: [`${url}distance`], bodies: bodiesOfOthers, concurrency: 4, seconds: SECONDS }),
    ])
    const alone = await charged(pid, question())
    rows.push({
      ...{ contains: load, vertices: VERTICES, concurrency: 8, ...contains },
      apiMicrosecondsAlone: alone.apiMicroseconds,
      othersConcurrency: 4,
      othersPerSecond: others.requestsPerSecond,
      othersP99Ms: others.p99Ms,
      othersErrors: others.errors,
    })
  }
  return rows
}

/** A ring around 10 E, 50 N with a random outline. */
function wobbly(random: () => number): Polygon {
  const [phase, waves] = [random() * 2 * Math.PI, 10 + Math.floor(random() * 20)]
  const ring = Array.from({ length: VERTICES }, (_, i) => {
    const angle = (2 * Math.PI * i) / VERTICES
    const radius = 0.5 + 0.05 * Math.sin(waves * angle + phase)
    return [10 + radius * Math.cos(angle), 50 + radius * Math.sin(angle)]
  })
  return { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
}

/** A ring whose second vertex moves in and out with the number of the request. */
function numberedPolygon(random: () => number): Polygon {
  const { type, coordinates } = wobbly(random)
  coordinates[0]![1] = [Number(`10.5${NUMBERED}`), coordinates[0]![1]![1]!]
  return { type, coordinates }
}

/** Microseconds of the steps of a signature, by libraries that produce the same bytes. */
async function signing(): Promise<Table> {
  const { secp256k1 } = await import('@noble/curves/secp256k1.js')
  const noble: Curve = {
    name: '@noble/curves',
    sign: (digest, privateKey) => {
      const bytes = secp256k1.sign(digest, privateKey, { prehash: false, format: 'recovered' })
      return { signature: bytes.subarray(1), recovery: bytes[0]! }
    },
    recover: (digest, signature, recovery) =>
      secp256k1.Point.fromBytes(
        secp256k1.recoverPublicKey(Uint8Array.of(recovery, ...signature), digest, { prehash: false }),
      )
        .toBytes(false)
        .subarray(1),
    publicKey: (privateKey) => secp256k1.getPublicKey(privateKey, false).subarray(1),
  }
  const key = Buffer.from(LOCAL_SIGNER_KEY.slice(2), 'hex')
  const digest = Buffer.alloc(32, 0x5a)
  const curves = [ETHERS_CURVE, noble, ...(NATIVE_CURVE ? [NATIVE_CURVE] : [])]
  const truth = ETHERS_CURVE.sign(digest, key)
  return curves.map((curve) => {
    const { signature, recovery } = curve.sign(digest, key)
    if (Buffer.compare(signature, truth.signature) || recovery !== truth.recovery)
      throw new Error(`${curve.name} signs otherwise than ethers`)
    return {
      library: curve.name,
      signMicroseconds: microseconds(() => curve.sign(digest, key)),
      recoverMicroseconds: microseconds(() => curve.recover(digest, signature, recovery)),
    }
  })
}

function microseconds(work: () => unknown): number {
  const count = (ms: number) => {
    const end = performance.now() + ms
    let n = 0
    while (performance.now() < end) {
      work()
      n++
    }
    return n
  }
  count(300)
  return rounded(1_000_000 / count(1_000))
}

/**
 * Starts the service like `npm start`, on free ports and its own database, without limits. Returns it with
 * the settings for another API instance.
 */
export async function bringUp(
  bench: Bench,
  samples = false,
): Promise<{ world: World; environment: NodeJS.ProcessEnv }> {
  const [port, chainPort] = await Promise.all([freePort(), freePort()])
  const settings = {
    ...bench.environment,
    DATABASE_URL: await bench.createDatabase(),
    CHAINS: LOCAL_CHAIN.slug,
    RATE_LIMIT_PER_HOUR: '0',
    RECORDS_RATE_LIMIT_PER_HOUR: '0',
    API_PROCESSES: '1',
  }
  const world = await startWorld({
    environment: { ...settings, PORT: String(port), LOCAL_CHAIN_PORT: String(chainPort) },
    folder: bench.folder,
    samples,
    keep: false,
    report: bench.report,
    progress: bench.progress,
  })
  bench.atEnd(() => world.stop())
  return {
    world,
    environment: {
      ...settings,
      RPC_URL_BASE_SEPOLIA: world.chain!.url,
      PROXY_BASE_SEPOLIA: world.chain!.proxy,
      SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
    },
  }
}

/**
 * Memory of the service's processes after the load. Memory of the Postgres server is not included, because
 * other processes share it.
 */
function memory(world: World): Table {
  const processes = [...world.services.values()].map(({ name, pid }) => ({ process: name, pid }))
  const chain = localChainPid()
  if (chain !== undefined) processes.push({ process: 'local chain', pid: chain })
  return processes.map(({ process, pid }) => ({
    process,
    rssMegabytes: processMegabytes(pid, 'VmRSS'),
    peakMegabytes: processMegabytes(pid, 'VmHWM'),
  }))
}

/** Child of this process that is named anvil; undefined without /proc. */
function localChainPid(): number | undefined {
  if (process.platform !== 'linux') return undefined
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.find(
    (pid) => processStatus(pid, 'Name') === 'anvil' && processStatus(pid, 'PPid') === String(process.pid),
  )
}
