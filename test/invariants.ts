import type { JsonRpcProvider } from 'ethers'
import { expect } from 'vitest'
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import type { Finality } from '../api/store'
import * as eas from '../src/abi/EAS'
import type { AttestationBody } from '../src/indexer/bodies'
import { bodyOf, eventOf } from '../src/indexer/store'
import { hashesToUid } from '../src/eas'
import type { RpcLog } from '../src/chain'
import { EventKind } from '../src/model'
import { addAnswerAttesters } from '../src/answer'
import { PROJECTED_TABLES, project, type EventRow, type RecordRow } from '../src/indexer/project'
import { attestationFilter } from '../src/indexer/registrations'
import { watchedOf } from '../src/indexer/registry'
import { addLocationSchemas, locationSchemaUids, recordLine, type LocationSchema } from '../src/location'
import { hexNumber } from '../src/rpc'
import { rows } from './database'

/**
 * Invariants of a chain (Base Sepolia unless named) after every fault, when its indexer has caught up
 * (docs/spec/trust.md 6): I1 records and answers equal a projection of the whole event log; I2 every
 * attestation's content is the chain's and hashes to its UID; I3 the log has exactly the Attested and Revoked
 * events of the chain's receipts; I4 the cursor's block is canonical; I7 the stored counts equal those of a
 * scan, and a client that follows all changes has exactly the stored records (exactly the final ones, if it
 * follows final changes).
 */
export async function expectInvariants(
  { chains, databaseUrl }: { chains: ReadonlyMap<string, LocalChain>; databaseUrl: string },
  slug = LOCAL_CHAIN.slug,
): Promise<void> {
  const local = chains.get(slug)!
  const { provider } = local
  addLocationSchemas(
    await rows<LocationSchema>(
      databaseUrl,
      'SELECT uid, fields FROM location_schema WHERE chain = $1 AND watched',
      [slug],
    ),
    slug,
  )
  addAnswerAttesters(
    slug,
    await rows<{ address: string }>(databaseUrl, 'SELECT address FROM answer_attester WHERE chain = $1', [
      slug,
    ]),
  )
  const log = await rows<EventRow>(
    databaseUrl,
    'SELECT * FROM attestation_event WHERE chain = $1 ORDER BY block_number, log_index',
    [slug],
  )

  expect(
    log.map((row) => [row.block_number, row.block_hash, row.log_index, row.transaction_hash, row.uid]),
  ).toEqual(
    (await receiptLogs(local)).map((entry) => [
      Number(entry.blockNumber),
      entry.blockHash,
      Number(entry.logIndex),
      entry.transactionHash,
      entry.data,
    ]),
  )

  const contract = await local.eas()
  const bodies = new Map(
    log.filter((row) => row.kind === EventKind.ATTESTED).map((row) => [row.uid, bodyOf(row)]),
  )
  const known = COMPARED.get(provider) ?? new Set()
  COMPARED.set(provider, known)
  const compare = async ([uid, body]: [string, AttestationBody]) => {
    expect(await hashesToUid(body, uid)).toBe(true)
    if (known.has(uid)) return
    const stored = await contract.getFunction('getAttestation').staticCall(uid)
    expect([stored.uid, stored.data, stored.time]).toEqual([uid, `0x${body.data.toString('hex')}`, body.time])
    known.add(uid)
  }
  await Promise.all([...bodies].map(compare))

  const replayed = project(slug, log.map(eventOf), bodies, new Date(0))
  const comparable = (record: Record<string, unknown>) => {
    // api/tiles/hostile.service.test.ts checks the columns that a trigger fills from geom.
    const { created_at, updated_at, reach, map_x, map_y, line, ...rest } = record
    // pg returns numeric columns as text, and PostGIS writes hex in upper case.
    const plain = (name: string, value: unknown) =>
      typeof value === 'number' || typeof value === 'bigint'
        ? value.toString()
        : name === 'geom'
          ? (value as string | null)?.toLowerCase()
          : value
    return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, plain(name, value)]))
  }
  const byId = (list: Record<string, unknown>[]) =>
    Object.fromEntries(list.map((record) => [record.id, comparable(record)]))
  for (const table of PROJECTED_TABLES) {
    const stored = await rows<Record<string, unknown>>(
      databaseUrl,
      `SELECT * FROM ${table} WHERE chain = $1`,
      [slug],
    )
    if (table === 'location_record') expectLines(stored as unknown as RecordRow[])
    expect(byId(stored)).toEqual(byId(replayed.rows[table] as unknown as Record<string, unknown>[]))
  }
  expect(log.map((row) => row.problem)).toEqual(replayed.events.map((row) => row.problem))

  const [cursor] = await rows<{ height: number; hash: string }>(
    databaseUrl,
    'SELECT final_height AS height, final_hash AS hash FROM chain_status WHERE chain = $1',
    [slug],
  )
  expect((await provider.getBlock(cursor!.height))?.hash).toBe(cursor!.hash)

  await expectCounts(databaseUrl, slug)
  await expectChanges(
    databaseUrl,
    slug,
    'latest',
    'SELECT uid, revoked FROM location_record WHERE chain = $1',
  )
  await expectChanges(
    databaseUrl,
    slug,
    'final',
    `SELECT record.uid, event.id IS NOT NULL AS revoked FROM chain_status AS status
     JOIN location_record AS record ON record.chain = status.chain AND record.block_number <= status.final_height
     LEFT JOIN attestation_event AS event ON event.chain = record.chain AND event.uid = record.uid
       AND event.kind = 'REVOKED' AND event.block_number <= status.final_height
     WHERE record.chain = $1`,
  )
}

/** UIDs whose content was read from each chain. A UID is the hash of its content, so it cannot change. */
const COMPARED = new WeakMap<JsonRpcProvider, Set<string>>()

/** Checks that each stored JSON line equals the JSON of its row. pg returns numbers as texts. */
function expectLines(stored: readonly RecordRow[]): void {
  const number = (value: number | null) => (value === null ? null : Number(value))
  for (const row of stored)
    expect(row.line).toBe(
      recordLine({ ...row, longitude: number(row.longitude), latitude: number(row.latitude) }),
    )
}

/** Checks I7 for the counts that are updated with records. */
export async function expectCounts(databaseUrl: string, slug: string): Promise<void> {
  const kept = await rows<object>(
    databaseUrl,
    `SELECT total::int, revoked::int, (SELECT json_agg(json_build_array(extract(epoch FROM hour), total) ORDER BY hour) FROM record_hour WHERE chain = state.chain AND total <> 0) AS hours FROM record_state AS state WHERE chain = $1`,
    [slug],
  )
  const scanned = await rows<{ total: number }>(
    databaseUrl,
    `SELECT count(*)::int AS total, (count(*) FILTER (WHERE revoked))::int AS revoked,
       (SELECT json_agg(json_build_array(extract(epoch FROM hour), total) ORDER BY hour) FROM (SELECT date_trunc('hour', timestamp, 'UTC') AS hour, count(*) AS total FROM location_record WHERE chain = $1 GROUP BY 1) AS by_hour) AS hours
     FROM location_record WHERE chain = $1`,
    [slug],
  )
  // Counts the records that no indexer has counted yet since the migration.
  await rows(databaseUrl, 'SELECT count_records($1, 1000000)', [slug])
  const groups = await rows<{ stored: unknown; scanned: unknown }>(
    databaseUrl,
    `WITH scanned AS (
       SELECT dimension, value, revoked, count(*) AS total, coalesce(sum(area_square_centimeters), 0) AS area, coalesce(sum(length_centimeters), 0) AS length,
         count(*) - count(area_square_centimeters) AS without_area, count(*) - count(length_centimeters) AS without_length
       FROM location_record, (VALUES ('day'), ('prover'), ('schema'), ('location_type')) AS of (dimension),
         LATERAL (SELECT CASE dimension WHEN 'day' THEN to_char(timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD') WHEN 'prover' THEN prover WHEN 'schema' THEN schema_uid ELSE left(location_type, 100) END) AS group_of (value)
       WHERE chain = $1 GROUP BY 1, 2, 3),
     stored AS (
       SELECT dimension, value, revoked, total, area_square_centimeters AS area, length_centimeters AS length, without_area, without_length
       FROM record_count WHERE chain = $1 AND (total, area_square_centimeters, length_centimeters, without_area, without_length) <> (0, 0, 0, 0, 0))
     SELECT to_jsonb(stored) AS stored, to_jsonb(scanned) AS scanned
     FROM stored FULL JOIN scanned USING (dimension, value, revoked) WHERE to_jsonb(stored) IS DISTINCT FROM to_jsonb(scanned)`,
    [slug],
  )
  expect(groups).toEqual([])
  // There is no row before the first record.
  expect(kept.length ? kept : [{ total: 0, revoked: 0, hours: null }]).toEqual(scanned)
}

/**
 * Checks I7 for the changes that the stream sends. Each change must be possible after the changes before it,
 * and the last change of a record must lead to its stored state, which `storedSql` reads.
 */
export async function expectChanges(
  databaseUrl: string,
  slug: string,
  finality: Finality,
  storedSql: string,
): Promise<void> {
  type State = 'none' | 'valid' | 'revoked'
  const steps: Record<string, Partial<Record<State, readonly State[]>>> = {
    new: { none: ['valid'] },
    revoked: { valid: ['revoked'] },
    // A rollback removed the record, or only its revocation. The kind of change does not distinguish the two.
    reorged: { valid: ['none'], revoked: ['valid', 'none'] },
  }
  const changes = await rows<{ kind: string; uid: string }>(
    databaseUrl,
    `SELECT kind, uid FROM record_change WHERE chain = $1 AND finality IN ('both', $2) ORDER BY id`,
    [slug, finality],
  )
  const possible = new Map<string, readonly State[]>()
  for (const { kind, uid } of changes) {
    const states = (possible.get(uid) ?? ['none']).flatMap((state) => steps[kind]![state] ?? [])
    expect(
      states,
      `${finality}: ${kind} of ${uid}, which was ${possible.get(uid)?.join(' or ')}`,
    ).not.toEqual([])
    possible.set(uid, states)
  }
  const stored = new Map(
    (await rows<{ uid: string; revoked: boolean }>(databaseUrl, storedSql, [slug])).map(
      ({ uid, revoked }) => [uid, revoked ? 'revoked' : 'valid'] as const,
    ),
  )
  for (const uid of new Set([...possible.keys(), ...stored.keys()]))
    expect(possible.get(uid) ?? [], `${finality}: ${uid}`).toContain(stored.get(uid) ?? 'none')
}

/** Logs in the receipts of each chain up to a final block, so that a test file reads its blocks once. */
const READ = new WeakMap<JsonRpcProvider, { height: number; hash: string; logs: RpcLog[] }>()

/**
 * Logs of EAS in the receipts of all blocks of the node, because eth_getLogs of the endpoint may be faulty.
 */
async function receiptLogs({ chain, provider, url }: LocalChain): Promise<RpcLog[]> {
  const batch = async <T>(method: string, paramsOf: unknown[][]): Promise<T[]> => {
    const results: T[] = []
    for (let i = 0; i < paramsOf.length; i += 500) {
      const calls = paramsOf.slice(i, i + 500).map((params, id) => ({ jsonrpc: '2.0', id, method, params }))
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(calls),
      })
      results.push(...((await response.json()) as { result: T }[]).map(({ result }) => result))
    }
    return results
  }
  const head = await provider.getBlockNumber()
  let known = READ.get(provider)
  if (known && (await provider.getBlock(known.height))?.hash !== known.hash) known = undefined
  const from = known ? known.height + 1 : chain.firstBlock
  const numbers = Array.from({ length: head - from + 1 }, (_, i) => hexNumber(from + i))
  const headers = await batch<{ number: string; hash: string; transactions: string[] }>(
    'eth_getBlockByNumber',
    numbers.map((number) => [number, false]),
  )
  const receipts = await batch<{ logs: RpcLog[] }[]>(
    'eth_getBlockReceipts',
    headers.filter(({ transactions }) => transactions.length).map(({ number }) => [number]),
  )
  const read = [...(known?.logs ?? []), ...receipts.flat().flatMap(({ logs }) => logs)]
  const final = headers.at(-1 - chain.finality)
  if (final) {
    const height = Number(final.number)
    const logs = read.filter(({ blockNumber }) => Number(blockNumber) <= height)
    READ.set(provider, { height, hash: final.hash, logs })
  }
  const { address, topic0 } = attestationFilter(chain)
  const { schemas, attesters } = watchedOf(chain)
  return read.filter(
    (entry) =>
      address.includes(entry.address.toLowerCase()) &&
      topic0.includes(entry.topics[0]!) &&
      (schemas.includes(entry.topics[3]!) || attesters.includes(`0x${entry.topics[2]!.slice(-40)}`)),
  )
}

/** Attested and Revoked of the location schemas since a block, in order, in the form of events. */
export async function onChain({ chain, provider }: LocalChain, from: number): Promise<string[]> {
  const { address, topic0 } = attestationFilter(chain)
  const logs = await provider.getLogs({
    ...{ address: address[0]!, topics: [topic0] },
    ...{ fromBlock: from, toBlock: 'latest' },
  })
  return logs
    .filter(({ topics }) => locationSchemaUids(chain.slug).includes(topics[3]!))
    .map(({ topics, data }) => `${topics[0] === eas.events.Attested.topic ? 'new' : 'revoked'} ${data}`)
}
