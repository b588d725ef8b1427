import { setMaxListeners } from 'node:events'
import { createServer, get, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY, type LocalChain } from '../dev/chain'
import { startRpcProxy } from '../dev/rpc-proxy'
import { freePort, startService } from '../dev/services'
import { waitForHead } from '../dev/indexed'
import {
  attestDigest,
  domainSeparator,
  keySigner,
  type AttestMessage,
  type AttestTypedData,
} from '../src/eas'
import { EIFFEL_TOWER, offchain } from '../test/offchain'
import type { Bench, Table } from './bench'
import { bringUp } from './compute'
import { insertRecordsSql, insertWrittenRecords } from './generated-records'
import { attestPoints } from './points'
import { fill } from './records'

const SIZE = Number(process.env.BENCH_FAIRNESS || 200_000)
/** Number of changes that a disconnected listener missed. */
const MISSED = Math.min(10_000, SIZE / 2)
const SECONDS = 20
/** Names of the attacks to run, separated by semicolons; all attacks if not set. */
const ASKED = process.env.BENCH_KINDS?.split(';')
const WARM_UP_SECONDS = 3
/**
 * Pause after each request of the victim, in milliseconds. The victim has one request of each kind pending at
 * a time.
 */
const PAUSE_MS = 40
/** Milliseconds after which a response counts as an error. */
const LONGEST_MS = 60_000
/** Maximum length in bytes of a text that a listener awaits. */
const LONGEST_TEXT = 100
const LISTS = '/api/v0/location-records'
const DISTANCE = '/compute/v0/distance'
const BATCH = '/compute/v0/batch'
const ITEMS = '/ogc/collections/location-records/items'
const GRAPHQL = JSON.stringify({
  query: '{ locationRecords(first: 10, filter: { bbox: [-10, 35, 30, 60] }) { nodes { chain uid memo } } }',
})
const GROUPS = graphqlGroups(1)
/** Milliseconds that the service with the signing key needs for a signature, like a cloud service. */
const SIGNATURE_MS = 40
/**
 * Simulated duration in milliseconds of a call of a smart account by a node. A real call would use the
 * processors of this machine.
 */
const ACCOUNT_MS = 300
/** Contract that accepts any signature (ERC-1271). */
const ACCOUNT = { address: `0x${'e1271'.padStart(40, '0')}`, code: '0x631626ba7e60e01b60005260206000f3' }

/**
 * Sends a request of the victim. Resolves after a successful response. Throws without a response, or for an
 * error.
 */
type Ask = (number: number) => Promise<unknown>
/**
 * Sends the requests of one hostile client until the signal aborts. Resolves with the statuses that it
 * received.
 */
type Attack = (signal: AbortSignal) => Promise<Map<number, number>>

/**
 * Measures how a client that uses a resource as much as it can affects another client: the times and errors
 * of each kind of request, alone and during each attack. The hourly limits are off.
 */
export async function fairness(bench: Bench): Promise<Table[]> {
  const { world, environment } = await bringUp(bench)
  const [port, signer, node] = await Promise.all([
    freePort(),
    startSigner(bench),
    startSlowNode(bench, world.chain!),
  ])
  const { SIGNER_PRIVATE_KEY: _, ...others } = environment
  const api = startService(
    'api-under-attack',
    ['dist/api/main.js'],
    {
      ...others,
      ...{ RPC_URL_BASE_SEPOLIA: node.url, PORT: String(port), TRUST_PROXY: '127.0.0.1/32' },
      ...{ DEPLOYMENT_NAME: 'local', LOCAL_NODES: 'true' },
      ...{ SIGNER_URL: signer.url, ATTESTER_ADDRESS: signer.address, SEAL_SECRET: LOCAL_SIGNER_KEY },
      // Without this setting, the victim's lists would be served from the cache.
      CACHE_MB: '0',
    },
    bench.folder,
  )
  bench.atEnd(() => api.stop())
  await api.ready
  const { DATABASE_URL: databaseUrl } = environment
  const uids = await attestPoints(world.chain!, 20, bench.progress)
  await waitForHead(world.settings, world.chain!, bench.progress)
  const client = new Client({ connectionString: databaseUrl! })
  await client.connect()
  try {
    await fill(bench, client, 0, SIZE - MISSED)
    for (let first = SIZE - MISSED + 1; first <= SIZE; first += 1_000)
      await insertWrittenRecords(client, first, Math.min(SIZE, first + 999))
    await client.query('VACUUM (ANALYZE) location_record')
    const url = `http://127.0.0.1:${port}`
    const beginning = await positionOf(url)
    const asks = asksOf(url, uids, client, beginning)
    const accounts = await accountRequests(world.chain!)
    const attacks: Record<string, Attack> = {
      nothing: () => Promise.resolve(new Map<number, number>()),
      'memo LIKE': attackBy(16, (i) => answered(url, '10.6.6.1', `${ITEMS}?${filterOf(likes(i))}`)),
      'NOT S_INTERSECTS': attackBy(8, (i) => answered(url, '10.6.6.2', `${ITEMS}?${filterOf(notAt(i))}`)),
      'GraphQL groups': attackBy(8, () => answered(url, '10.6.6.4', '/graphql', graphqlGroups(10))),
      replays: attackBy(50, (i, signal) => replayed(url, '10.6.6.3', i, beginning, signal)),
      // Two addresses with four concurrent requests each, which occupy all slots for sorted files.
      'slow exports': attackBy(10, (i, signal) => slowly(url, `10.6.7.${i % 5}`, signal)),
      'smart accounts': attackBy(128, (i) =>
        answered(url, '10.6.6.5', DISTANCE, accounts[i % accounts.length]),
      ),
      'contract reads': attackBy(2, (i) => answered(url, '10.6.6.6', BATCH, unknownUids(i))),
      signatures: attackBy(96, (i) => answered(url, '10.6.6.8', DISTANCE, distanceFrom(i))),
    }
    const rows: Table[number][] = []
    const quiet = new Map<string, number>()
    for (const [attack, run] of Object.entries(attacks)) {
      if (ASKED && attack !== 'nothing' && !ASKED.includes(attack)) continue
      bench.report(`next to ${attack} ...`)
      const stop = new AbortController()
      setMaxListeners(0, stop.signal)
      const attacking = run(stop.signal)
      await pause(WARM_UP_SECONDS * 1000)
      const measured = await Promise.all(
        Object.entries(asks).map(async ([kind, ask]) => ({ kind, ...(await measure(ask)) })),
      )
      stop.abort()
      const got = await attacking
      const statuses = [...got].map(([status, count]) => `${count} of ${status}`).join(', ') || 'n/a'
      if (attack !== 'nothing' && [...got.keys()].every((status) => status === 429))
        throw new Error(`all requests of ${attack} were refused (${statuses}), so that it floods nothing`)
      for (const { kind, ...figures } of measured) {
        const before = quiet.get(kind)
        if (before === undefined) quiet.set(kind, figures.p99Ms)
        rows.push({
          ...{ nextTo: attack, kind, ...figures },
          ofQuiet: before === undefined ? 1 : Math.round((figures.p99Ms / before) * 10) / 10,
          attackGot: statuses,
        })
      }
      // Waits until pending requests have ended.
      await pause(WARM_UP_SECONDS * 1000)
    }
    return [rows]
  } finally {
    await client.end()
  }
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

/** Times of requests that are sent one after another. */
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
  times.sort((a, b) => a - b)
  const percentile = (p: number) =>
    Math.round((times[Math.ceil((times.length * p) / 100) - 1] ?? 0) * 10) / 10
  return { requests: times.length + failed, p50Ms: percentile(50), p99Ms: percentile(99), failed }
}

function attackBy(lanes: number, send: (i: number, signal: AbortSignal) => Promise<number>): Attack {
  return async (signal) => {
    const statuses = new Map<number, number>()
    let next = 0
    const lane = async (): Promise<void> => {
      while (!signal.aborted) {
        const status = await send(next++, signal).catch(() => 0)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        // A client pauses after a rejected request. All attackers pause for the same time.
        if (status === 429 || status === 503) await pause(100)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return statuses
  }
}

function filterOf(filter: string): string {
  return new URLSearchParams({ filter, limit: '10' }).toString()
}

/** A filter that makes the database read all memos 199 times. */
function likes(i: number): string {
  return Array.from({ length: 199 }, (_, n) => `memo LIKE '%${i}x${n}%'`).join(' OR ')
}

/**
 * Filter that makes workers measure many geometries: about 10,000 of 200,000 records, which is half of the
 * number that a filter may measure. Above that limit, all requests of the flood would be rejected.
 */
function notAt(i: number): string {
  return Array.from({ length: 8 }, (_, n) => {
    const [lng, lat] = [-170 + 40 * n + (i % 10), -50 + (i % 7)]
    const ring = Array.from({ length: 20 }, (_, k) => {
      const angle = (k / 20) * 2 * Math.PI
      return `${(lng + 4 * Math.cos(angle)).toFixed(4)} ${(lat + 40 + 25 * Math.sin(angle)).toFixed(4)}`
    })
    return `NOT S_INTERSECTS(geometry, POLYGON((${[...ring, ring[0]].join(', ')})))`
  }).join(' AND ')
}

/** A query with this many groups over all records, which the database reads each time. */
function graphqlGroups(count: number): string {
  const fields = Array.from(
    { length: count },
    (_, i) => `g${i}: locationRecordGroups(by: "hour,subject", top: "1")`,
  )
  return JSON.stringify({ query: `{ ${fields.join(' ')} }` })
}

/**
 * Requests whose inputs are offchain attestations of a smart account. Stores the account's code on the chain.
 */
async function accountRequests({ provider }: LocalChain): Promise<string[]> {
  const { address, code } = ACCOUNT
  await provider.send('anvil_setCode', [address, code])
  const documents = await Promise.all(
    Array.from({ length: 128 }, () =>
      offchain(EIFFEL_TOWER, { slug: LOCAL_CHAIN.slug, account: { address, sign: () => '0x00' } }),
    ),
  )
  return documents.map((attestation, i) =>
    JSON.stringify({
      chainId: LOCAL_CHAIN.id,
      from: { attestation },
      to: { attestation: documents[(i + 1) % documents.length] },
    }),
  )
}

/** A full batch of UIDs that neither the index nor the chain has, so that each is read from the contract. */
function unknownUids(i: number): string {
  const uid = (n: number) => `0x${(i * 100 + n + 1).toString(16).padStart(64, 'f')}`
  const operations = Array.from({ length: 20 }, (_, n) => ({
    operation: 'distance',
    from: uid(2 * n),
    to: uid(2 * n + 1),
  }))
  return JSON.stringify({ chainId: LOCAL_CHAIN.id, operations })
}

function distanceFrom(i: number): string {
  const to = { type: 'Point', coordinates: [(i % 3_600) / 10 - 180, (i % 1_700) / 10 - 85] }
  return JSON.stringify({ chainId: LOCAL_CHAIN.id, from: EIFFEL_TOWER, to })
}

/** Starts a proxy to the node that delays calls of smart accounts: those of `eth_call` without a `to`. */
async function startSlowNode(bench: Bench, { url }: LocalChain): Promise<{ url: string }> {
  const proxy = await startRpcProxy(url)
  bench.atEnd(() => proxy.close())
  proxy.misbehave(({ method, params }) =>
    method === 'eth_call' && (params[0] as { to?: string }).to === undefined
      ? {
          ask: async (ask): Promise<unknown> => {
            await pause(ACCOUNT_MS)
            return ask(method, params)
          },
        }
      : undefined,
  )
  return proxy
}

/**
 * Starts a service that holds the local signer's key (eth_signTypedData_v4), and responds as slowly as a
 * cloud service.
 */
async function startSigner(bench: Bench): Promise<{ url: string; address: string }> {
  const signer = await keySigner(LOCAL_SIGNER_KEY)
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, params } = (await json(incoming)) as { id: number; params: [string, AttestTypedData] }
    const { domain, message } = params[1]
    const digest = await attestDigest(
      domainSeparator(domain),
      'attester' in message ? 'v2' : 'v1',
      Object.fromEntries(
        Object.entries(message).map(([name, value]) => [
          name,
          /^\d+$/.test(`${value}`) ? BigInt(value) : value,
        ]),
      ) as unknown as AttestMessage,
    )
    const result = await signer.sign(digest)
    await pause(SIGNATURE_MS)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const server = createServer((incoming, response) => void answer(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  bench.atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, address: signer.address }
}

async function answered(url: string, address: string, path: string, body?: string): Promise<number> {
  const response = await fetch(url + path, {
    headers: {
      'x-forwarded-for': address,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body }),
    signal: AbortSignal.timeout(LONGEST_MS),
  })
  await response.arrayBuffer()
  return response.status
}

async function ok(url: string, address: string, path: string, body?: string): Promise<void> {
  const status = await answered(url, address, path, body)
  if (status !== 200) throw new Error(`${path} was answered with ${status}`)
}

interface Listener {
  status: number
  /** Resolves when this text is received. */
  until: (text: string) => Promise<void>
  close: () => void
}

function listen(url: string, address: string, from = '', query = ''): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}${LISTS}/stream${query}`,
      { agent: false, headers: { 'x-forwarded-for': address, ...(from && { 'last-event-id': from }) } },
      (response) => {
        // Keeps only the end of the data. This process also measures, so it must do little work for many
        // megabytes.
        let last = Buffer.alloc(0)
        let look = (_: Buffer) => {}
        response.on('data', (chunk: Buffer) => {
          look(Buffer.concat([last, chunk.subarray(0, LONGEST_TEXT)]))
          look(chunk)
          last = Buffer.from(chunk.subarray(-LONGEST_TEXT))
        })
        response.on('error', () => {})
        resolve({
          status: response.statusCode!,
          until: (text) =>
            new Promise((arrived, late) => {
              const timer = setTimeout(() => late(new Error('no event')), LONGEST_MS)
              response.once('close', () => late(new Error('closed')))
              look = (chunk) => {
                if (!chunk.includes(text)) return
                clearTimeout(timer)
                arrived()
              }
              look(last)
            }),
          close: () => asked.destroy(),
        })
      },
    )
    asked.on('error', reject)
    asked.end()
  })
}

/** Position in the log of changes before the changes that a listener missed. */
async function positionOf(url: string): Promise<string> {
  const stream = await listen(url, '10.0.0.13')
  await stream.until('\nid: ')
  stream.close()
  return new Promise((resolve, reject) => {
    get(`${url}${LISTS}/stream`, { agent: false }, (response: IncomingMessage) => {
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const id = /\nid: ([^\n]+)/.exec(chunk)?.[1]
        if (id === undefined) return
        response.destroy()
        // Position before the first change of all chains.
        resolve(id.replace(/\.\d+/g, '.0'))
      })
    }).once('error', reject)
  })
}

/** Replays all missed changes for a box that no other listener uses. */
async function replayed(
  url: string,
  address: string,
  i: number,
  beginning: string,
  signal: AbortSignal,
): Promise<number> {
  const box = `?bbox=${-180 + (i % 1000) / 1000},-90,180,90`
  const stream = await listen(url, address, beginning, box)
  if (stream.status !== 200) return stream.status
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  // A heartbeat means that the listener has caught up.
  await Promise.race([ended, stream.until('\n:\nid: ')]).catch(() => {})
  stream.close()
  return stream.status
}

/** Requests a sorted file and reads it slowly, in pieces of about 64 kB, one per second. */
async function slowly(url: string, address: string, signal: AbortSignal): Promise<number> {
  const response = await fetch(`${url}${LISTS}?format=geoparquet`, {
    headers: { 'x-forwarded-for': address },
    signal,
  })
  if (response.status !== 200) {
    await response.arrayBuffer()
    return response.status
  }
  const reader = response.body!.getReader()
  while (!(await reader.read()).done) await pause(1_000, undefined, { signal })
  return response.status
}
