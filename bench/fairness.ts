import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY } from '../dev/chain'
import { freePort } from '../dev/services'
import { waitForHead } from '../dev/indexed'
import { attacksOn, graphqlGroups, type Attack } from './attacks'
import { isAsked, percentile, rounded, type Bench, type Table } from './bench'
import { firstPosition, listen, ok } from './clients'
import { bringUp } from './compute'
import { fill, insertRecordsSql, insertWrittenRecords } from './generated-records'
import { attestPoints } from './points'
import { isAccountCall, startSigner, startSlowNode } from './slow-services'

const SIZE = Number(process.env.BENCH_FAIRNESS || 200_000)
/** Number of changes that a disconnected listener missed. */
const MISSED = Math.min(10_000, SIZE / 2)
const SECONDS = 20
const WARM_UP_SECONDS = 3
/**
 * Milliseconds in which a node calls a smart account. The node of this machine would share its processors.
 */
const ACCOUNT_MS = 300
/**
 * Pause after each request of the victim, in milliseconds. The victim has one request of each kind pending at
 * a time.
 */
const PAUSE_MS = 40
const LISTS = '/api/v0/location-records'
const DISTANCE = '/compute/v0/distance'
const ITEMS = '/ogc/collections/location-records/items'
const GRAPHQL = JSON.stringify({
  query: '{ locationRecords(first: 10, filter: { bbox: [-10, 35, 30, 60] }) { nodes { chain uid memo } } }',
})
const GROUPS = graphqlGroups(1)

/**
 * Sends a request of the victim. Resolves after a successful response. Throws without a response, or for an
 * error.
 */
type Ask = (number: number) => Promise<unknown>

/**
 * Measures how a client that uses a resource as much as it can affects another client: the times and errors
 * of each kind of request, alone and during each attack. The hourly limits are off.
 */
export async function fairness(bench: Bench): Promise<Table[]> {
  const { world, environment } = await bringUp(bench)
  const [port, signer, nodeUrl] = await Promise.all([
    freePort(),
    startSigner(bench),
    startSlowNode(bench, { url: world.chain!.url, ms: ACCOUNT_MS, isSlow: isAccountCall }),
  ])
  const { SIGNER_PRIVATE_KEY: _, ...others } = environment
  await bench.start('api-under-attack', ['dist/api/main.js'], {
    ...others,
    ...{ RPC_URL_BASE_SEPOLIA: nodeUrl, PORT: String(port), TRUST_PROXY: '127.0.0.1/32' },
    DEPLOYMENT_NAME: 'local',
    ...{ SIGNER_URL: signer.url, ATTESTER_ADDRESS: signer.address, SEAL_SECRET: LOCAL_SIGNER_KEY },
    // Without this setting, the victim's lists would be served from the cache.
    CACHE_MB: '0',
  })
  const { DATABASE_URL: databaseUrl } = environment
  const uids = await attestPoints(world.chain!, 20, bench.progress)
  await waitForHead(world.settings, world.chain!, bench.progress)
  const client = await bench.connect(databaseUrl!)
  await fill(bench, client, 0, SIZE - MISSED)
  for (let first = SIZE - MISSED + 1; first <= SIZE; first += 1_000)
    await insertWrittenRecords(client, first, Math.min(SIZE, first + 999))
  await client.query('VACUUM (ANALYZE) location_record')
  const url = `http://127.0.0.1:${port}`
  const beginning = await firstPosition(url, '10.0.0.13')
  const asks = asksOf(url, uids, client, beginning)
  const rows: Table[number][] = []
  const quiet = new Map<string, number>()
  for (const [attack, run] of Object.entries(await attacksOn(url, world.chain!, beginning))) {
    if (attack !== 'nothing' && !isAsked(attack)) continue
    bench.report(`next to ${attack} ...`)
    const { measured, statuses } = await measureNextTo(run, asks)
    const attackGot = statuses.map(([status, count]) => `${count} of ${status}`).join(', ') || 'n/a'
    if (attack !== 'nothing' && statuses.every(([status]) => status === 429))
      throw new Error(`all requests of ${attack} were refused (${attackGot}), so that it floods nothing`)
    for (const { kind, ...figures } of measured) {
      if (attack === 'nothing') quiet.set(kind, figures.p99Ms)
      const ofQuiet = rounded(figures.p99Ms / quiet.get(kind)!)
      rows.push({ nextTo: attack, kind, ...figures, ofQuiet, attackGot })
    }
  }
  return [rows]
}

/** Requests of the victim, each kind from its own address. */
function asksOf(
  url: string,
  uids: readonly string[],
  client: Client,
  beginning: string,
): Record<string, Ask> {
  const at = (i: number) => `${((i * 7) % 300) - 150},${((i * 3) % 80) - 40}`
  const boxAt = (i: number) => {
    const [lng, lat] = at(i).split(',').map(Number) as [number, number]
    return `${lng},${lat},${lng + 1},${lat + 1}`
  }
  const plain = (path: (i: number) => string, address: string) => (i: number) => ok(url, address, path(i))
  let written = SIZE
  return {
    list: plain((i) => `${LISTS}?limit=${50 + (i % 50)}`, '10.0.0.1'),
    'list in a box': plain((i) => `${LISTS}?bbox=${boxAt(i)}`, '10.0.0.2'),
    'OGC items': plain((i) => `${ITEMS}?limit=10&bbox=${boxAt(i)}`, '10.0.0.3'),
    tile: plain((i) => `/tiles/location-records/8/${i % 256}/${64 + (i % 128)}.mvt`, '10.0.0.4'),
    'list at a place': plain((i) => `${LISTS}?near=${at(i)}&radius=20000`, '10.0.0.5'),
    GraphQL: () => ok(url, '10.0.0.6', '/graphql', GRAPHQL),
    'GraphQL groups': () => ok(url, '10.0.0.13', '/graphql', GROUPS),
    stats: plain(() => `${LISTS}/stats`, '10.0.0.7'),
    health: plain(() => '/health', '10.0.0.8'),
    'compute by UID': (i) =>
      ok(
        url,
        '10.0.0.9',
        DISTANCE,
        JSON.stringify({
          chainId: LOCAL_CHAIN.id,
          from: uids[i % uids.length],
          to: uids[(i * 7 + 1) % uids.length],
        }),
      ),
    'stream event': async () => {
      const stream = await listen(url, '10.0.0.10')
      const number = ++written
      const arrived = stream.until(`"memo":"Place ${number}"`)
      const began = performance.now()
      await client.query(insertRecordsSql(), [number, number])
      await arrived
      stream.close()
      return performance.now() - began
    },
    'stream resumed': async () => {
      const stream = await listen(url, '10.0.0.11', beginning)
      await stream.until('event: new')
      stream.close()
    },
    export: plain((i) => `${LISTS}?format=geoparquet&bbox=${boxAt(i)}`, '10.0.0.12'),
  }
}

/** Measures all requests of the victim during an attack. Resolves once pending requests have ended. */
async function measureNextTo(attack: Attack, asks: Record<string, Ask>) {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const attacking = attack(stop.signal)
  await pause(WARM_UP_SECONDS * 1000)
  const measured = await Promise.all(
    Object.entries(asks).map(async ([kind, ask]) => ({ kind, ...(await measure(ask)) })),
  )
  stop.abort()
  const statuses = [...(await attacking)]
  await pause(WARM_UP_SECONDS * 1000)
  return { measured, statuses }
}

/** Times of requests that are sent one after the other. */
async function measure(
  ask: Ask,
): Promise<{ requests: number; p50Ms: number; p99Ms: number; failed: number }> {
  const times: number[] = []
  let failed = 0
  const end = performance.now() + SECONDS * 1000
  for (let i = 0; performance.now() < end; i++) {
    const began = performance.now()
    try {
      const own = await ask(i)
      times.push(typeof own === 'number' ? own : performance.now() - began)
    } catch {
      failed++
    }
    await pause(PAUSE_MS)
  }
  const ms = (share: number) => rounded(percentile(times, share))
  return { requests: times.length + failed, p50Ms: ms(0.5), p99Ms: ms(0.99), failed }
}
