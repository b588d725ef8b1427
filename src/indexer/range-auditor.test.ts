import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { SimulatedChain, SimulatedEndpoint, VirtualClock, topic } from '../../test/simulation'
import * as eas from '../abi/EAS'
import { addAnswerAttesters } from '../answer'
import { ContradictionError, Doubt, type RpcLog } from '../chain'
import { CHAINS } from '../chains'
import { LOCATION_SCHEMA } from '../location'
import { Rpc } from '../rpc'
import { MissingBodyError, type BodyReader } from './bodies'
import { RangeAuditor } from './range-auditor'
import type { Registry } from './registry'
import { attestationFilter } from './registrations'
import { LeaseLostError, type Database, type StoredEvent, type Transactions } from './store'
import { eventId } from './project'

const CHAIN = { ...CHAINS[0]!, firstBlock: 0 }
const NUMBER = 1
/** Revocations need no body, so that only their block shows whether they exist. */
const TOPICS = [topic(1), topic(2)]

const addressOf = (word: string) => `0x${word.slice(-40)}`
const ATTESTER = addressOf(topic(2))

/** A changed response of an endpoint. Throws if the endpoint refuses the call. */
type Lie = (method: string, answer: unknown) => unknown
const ofLogs =
  (change: (logs: RpcLog[]) => RpcLog[]): Lie =>
  (method, answer) =>
    method === 'eth_getLogs' ? change(answer as RpcLog[]) : answer
const INVENTS = ofLogs(([log]) => [log!, { ...log!, data: topic(66), logIndex: '0x1' }])
const RENUMBERS = ofLogs(([log]) => [{ ...log!, logIndex: '0x5' }])
const HONEST: Lie = (_, answer) => answer
const withoutReceipts =
  (lie: Lie): Lie =>
  (method, answer) => {
    if (/Receipt/.test(method)) throw new RpcError({ code: -32601, message: 'method not found' })
    return lie(method, answer)
  }
const DOWN: Lie = (method, answer) => {
  // Both endpoints report their head before one of them stops.
  if (/chainId|blockNumber/.test(method)) return answer
  throw new Error('connection refused')
}

interface Circumstances {
  lease: Transactions
  /** True if the schema or the attester of the revocation was not watched when its block was indexed. */
  isHistory: boolean
  schema: string
  /** Event of the block, by default a revocation. */
  event: string
}

/** Rereads a block with one revocation through these endpoints, after `rounds` failures. */
async function reread(
  lies: readonly Lie[],
  isStored: boolean,
  rounds = 0,
  {
    lease,
    isHistory = false,
    schema = LOCATION_SCHEMA.uid,
    event = eas.events.Revoked.topic,
  }: Partial<Circumstances> = {},
) {
  const clock = new VirtualClock()
  const chain = new SimulatedChain(CHAIN.eas)
  for (let height = 0; height <= NUMBER + CHAIN.finality; height++)
    await chain.mine(1_700_000_000 + height, height === NUMBER ? [[event, ...TOPICS, schema]] : [])
  const block = [...chain.blocks.values()][NUMBER]!
  const [log] = block.logs
  const stored: StoredEvent = {
    ...{ id: eventId(CHAIN.slug, NUMBER, 0), kind: 'REVOKED', uid: log!.data },
    ...{ schema_uid: schema, attester: ATTESTER, recipient: addressOf(topic(1)) },
    ...{ block_number: NUMBER, block_hash: block.header.hash, transaction_hash: log!.transactionHash },
    block_timestamp: new Date(1000 * Number(block.header.timestamp)),
  } as StoredEvent
  const clients = lies.map((lie) => {
    const { client } = new SimulatedEndpoint(chain, CHAIN.id, clock, () => 1, 100)
    const batchCall = async (calls: { method: string; params?: unknown[] }[]) => {
      const refused = calls.find(({ method }) => /Receipt/.test(method))
      if (refused) lie(refused.method, null)
      const answers = await client.batchCall(calls)
      return answers.map((answer, i) => lie(calls[i]!.method, answer))
    }
    const call = async (method: string, params: unknown[]) => (await batchCall([{ method, params }]))[0]
    return { batchCall, call, close: () => {} } as unknown as RpcClient
  })
  const urls = lies.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => clients[urls.indexOf(url)]!,
  })
  const written: string[] = []
  const query = (sql: string) => {
    if (/WHERE id BETWEEN/.test(sql)) return Promise.resolve(isStored ? [stored] : [])
    if (/SET reread|SET proven/.test(sql)) written.push(/SET (\w+)/.exec(sql)![1]!)
    if (/final_height/.test(sql))
      return Promise.resolve([{ final: { height: NUMBER, hash: block.header.hash }, top: null }])
    return Promise.resolve(/RETURNING chain/.test(sql) ? [{ chain: CHAIN.slug }] : [])
  }
  const copy = (table: string, _: unknown, texts: readonly string[]) => {
    const uids = texts.join('').match(/0x[0-9a-f]{64}/g)!
    return Promise.resolve(void written.push(`${table} ${uids[0]}`))
  }
  const registry = {
    ...{ version: 0, watched: [], learn: () => Promise.resolve(0), isHistory: () => isHistory },
    filters: [{ ...attestationFilter(CHAIN), topic3: [schema] }],
  }
  const bodies = async (times: ReadonlyMap<string, bigint>) => {
    if ([...times.keys()].some((uid) => uid !== log!.data)) throw new MissingBodyError('no body')
    const content = { schema, attester: ATTESTER, recipient: addressOf(topic(1)), data: Buffer.alloc(0) }
    return new Map([...times].map(([uid, time]) => [uid, { ...content, uid, time, expirationTime: 0n }]))
  }
  const doubt = new Doubt(clock)
  const auditor = new RangeAuditor({
    ...{ chain: CHAIN, rpc, doubt, clock, lease, log: SILENT, registry: registry as unknown as Registry },
    bodies: { read: bodies } as unknown as BodyReader,
    database: {
      query,
      transaction: (work: (...parts: unknown[]) => unknown) => work(query, copy),
    } as unknown as Database,
  })
  let outcome: unknown
  let shown = {}
  const reading = (async () => {
    for (let round = 0; round <= rounds; round++) {
      outcome = await auditor
        .reread({ from: 0, to: NUMBER }, (read) => Boolean((shown = { ...read })))
        .catch((error: unknown) => error)
      await clock.pause(20_000)
    }
  })()
  let isRead = false
  void reading.finally(() => (isRead = true)).catch(() => {})
  while (!isRead) await clock.pass(1_000, () => {})
  await reading
  return { outcome, written, shown, uid: log!.data, contradictions: doubt.takeContradictions() }
}

test('rereading inserts no revocation that one endpoint invented', async () => {
  for (const lies of [
    [HONEST, INVENTS],
    [withoutReceipts(HONEST), INVENTS],
  ]) {
    const { outcome, written } = await reread(lies, true)
    expect(outcome).toMatchObject({ to: NUMBER, repaired: 0 })
    expect(written).toEqual(['proven', 'reread'])
  }
})

test('rereading inserts a revocation that the receipts of its block prove', async () => {
  const { outcome, written, shown, uid } = await reread([HONEST, HONEST], false)
  expect(outcome).toMatchObject({ to: NUMBER, events: 1, repaired: 1 })
  expect(shown).toEqual(outcome)
  expect(written).toEqual([`attestation_event ${uid}`, 'proven', 'reread'])
})

test('rereading without receipts inserts a revocation on which two endpoints agree', async () => {
  const honest = withoutReceipts(HONEST)
  const { written, uid } = await reread([honest, honest], false)
  expect(written).toEqual([`attestation_event ${uid}`, 'proven', 'reread'])
})

test('rereading proves the history of an attester, but not of a schema', async () => {
  const ofSchema = await reread([HONEST, HONEST], false, 0, { isHistory: true })
  expect(ofSchema.written).toEqual([`attestation_event ${ofSchema.uid}`, 'reread'])
  addAnswerAttesters(CHAIN.slug, [{ address: ATTESTER }])
  const ofAttester = await reread([HONEST, HONEST], false, 0, { isHistory: true, schema: topic(7) })
  expect(ofAttester.written).toEqual([`attestation_event ${ofAttester.uid}`, 'proven', 'reread'])
})

test.each([
  ['endpoints disagree', [HONEST, INVENTS]],
  ['only the endpoint responds that returns it', [DOWN, INVENTS]],
  ['it is a stored one with another number', [RENUMBERS, RENUMBERS]],
  ['it is a stored one with another number, of a single endpoint', [RENUMBERS]],
])('rereading without receipts inserts no revocation if %s', async (_, lies) => {
  const { outcome, written, contradictions } = await reread(lies.map(withoutReceipts), true, 2)
  expect(outcome).toBeInstanceOf(ContradictionError)
  expect(written).toEqual([])
  expect(contradictions).toBeGreaterThan(0)
})

test('rereading reads the history of a schema from another endpoint if one announces unknown UIDs', async () => {
  const liar = ofLogs(([log]) => [{ ...log!, data: topic(66) }])
  const attested = { isHistory: true, event: eas.events.Attested.topic }
  const { outcome, written, uid } = await reread([HONEST, liar], false, 0, attested)
  expect(outcome).toMatchObject({ to: NUMBER, events: 1, repaired: 1 })
  expect(written).toEqual([`attestation_event ${uid}`, 'reread'])
  expect((await reread([liar, liar], false, 0, attested)).outcome).toBeInstanceOf(MissingBodyError)
})

test('rereading repairs nothing once the lease is lost', async () => {
  const lost = new LeaseLostError('lost')
  const lease: Transactions = { transaction: () => Promise.reject(lost) }
  const { outcome, written } = await reread([HONEST, HONEST], false, 0, { lease })
  expect(outcome).toBe(lost)
  expect(written).toEqual([])
})
