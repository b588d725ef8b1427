import { setTimeout as pause } from 'node:timers/promises'
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import { offchain } from '../test/offchain'
import { answered, listen } from './clients'
import { TOWER } from '../test/positions'

/** Hostile clients, each of which uses as much as it can of one resource. */

/**
 * Sends the requests of one hostile client until the signal aborts. Resolves with the statuses that it
 * received.
 */
export type Attack = (signal: AbortSignal) => Promise<Map<number, number>>

const LISTS = '/api/v0/location-records'
const DISTANCE = '/compute/v0/distance'
const BATCH = '/compute/v0/batch'
const ITEMS = '/ogc/collections/location-records/items'
/** Contract that accepts any signature (ERC-1271). */
const ACCOUNT = { address: `0x${'e1271'.padStart(40, '0')}`, code: '0x631626ba7e60e01b60005260206000f3' }

/** Attacks by name, the first of which does nothing. `beginning` is the position before all changes. */
export async function attacksOn(
  url: string,
  chain: LocalChain,
  beginning: string,
): Promise<Record<string, Attack>> {
  const accounts = await accountRequests(chain)
  return {
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
 * Filter that makes workers measure many geometries: at 200,000 records about 10,000, half of the number that
 * a filter may measure. Above that number, all requests of the flood would be rejected.
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

/** A query of this many groups over all records, which the database reads each time. */
export function graphqlGroups(count: number): string {
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
      offchain(TOWER, { slug: LOCAL_CHAIN.slug, account: { address, sign: () => '0x00' } }),
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
  return JSON.stringify({ chainId: LOCAL_CHAIN.id, from: TOWER, to })
}

/** Replays all missed changes, in a box that no other listener uses. */
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
  // A heartbeat means that it has caught up.
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
