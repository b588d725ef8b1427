import type { RpcClient } from '@subsquid/rpc-client'
import { beforeAll, expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { SimulatedChain, SimulatedEndpoint, VirtualClock, fixedSelection, topic } from '../../test/simulation'
import { CHAINS } from '../chains'
import { Rpc } from '../rpc'
import { BlockReader, type CheckedLogs } from './blocks'
import { Doubt } from './doubt'
import { headerCall, type FullHeader, type RpcLog } from './logs'
import type { RpcReceipt } from './receipts'

/**
 * Reads one block from several endpoints, some of which lie, each in its own way. The block has an
 * attestation, a revocation and a log of another kind.
 */

const CHAIN = { ...CHAINS[0]!, firstBlock: 0 }
const [ATTESTED, REVOKED, OTHER] = [topic(1), topic(2), topic(3)]
const NUMBER = 3
const HEIGHTS = 6

/** A changed response of an endpoint; `method` is that of JSON-RPC. */
type Lie = (method: string, answer: unknown) => unknown
const ofHeader =
  (change: Partial<FullHeader>): Lie =>
  (method, answer) =>
    method.startsWith('eth_getBlockBy') && answer ? { ...(answer as FullHeader), ...change } : answer
const ofReceipts =
  (change: (receipts: RpcReceipt[]) => unknown): Lie =>
  (method, answer) =>
    method === 'eth_getBlockReceipts' && answer ? change(answer as RpcReceipt[]) : answer
const ofLogs =
  (change: (logs: RpcLog[]) => unknown): Lie =>
  (method, answer) =>
    method === 'eth_getLogs' ? change(answer as RpcLog[]) : answer
const both =
  (...lies: Lie[]): Lie =>
  (method, answer) =>
    lies.reduce((changed, lie) => lie(method, changed), answer)
const without = (kind: string): Lie =>
  both(
    ofReceipts((receipts) =>
      receipts.map((each) => ({ ...each, logs: each.logs.filter(({ topics }) => topics[0] !== kind) })),
    ),
    ofLogs((logs) => logs.filter(({ topics }) => topics[0] !== kind)),
  )
const NO_BLOOM = `0x${'0'.repeat(512)}`
const LIES: Record<string, Lie> = {
  'no attestation': without(ATTESTED),
  'no revocation': without(REVOKED),
  'no receipts of one transaction': ofReceipts((receipts) => receipts.slice(1)),
  'no receipts': both(
    ofReceipts(() => []),
    ofLogs(() => []),
  ),
  'receipts in another order': ofReceipts((receipts) => receipts.toReversed()),
  'a receipt twice': ofReceipts((receipts) => [...receipts, receipts[0]!]),
  'a revocation that is not on the chain': both(
    ofReceipts((receipts) =>
      receipts.map((each) => ({ ...each, logs: each.logs.map((log) => ({ ...log, topics: [REVOKED] })) })),
    ),
    ofLogs((logs) => logs.map((log) => ({ ...log, topics: [REVOKED] }))),
  ),
  'other data': both(
    ofReceipts((receipts) =>
      receipts.map((each) => ({ ...each, logs: each.logs.map((log) => ({ ...log, data: topic(9) })) })),
    ),
    ofLogs((logs) => logs.map((log) => ({ ...log, data: topic(9) }))),
  ),
  'no revocation in receipts of an unknown type': both(
    without(REVOKED),
    ofReceipts((receipts) => receipts.map((each) => ({ ...each, type: '0x63' }))),
  ),
  'an empty bloom filter': both(ofHeader({ logsBloom: NO_BLOOM }), without(REVOKED)),
  'another receipts root': both(ofHeader({ receiptsRoot: topic(7) }), without(REVOKED)),
  'another number': ofHeader({ number: '0x4' }),
  'another parent': ofHeader({ parentHash: topic(8) }),
  'another time': ofHeader({ timestamp: '0x1' }),
  'another hash': ofHeader({ hash: topic(5) }),
  'no transactions': both(ofHeader({ transactions: [] }), without(REVOKED)),
}
const NAMES = Object.keys(LIES)

/** Milliseconds without a proven block after which the form of the chain's receipts is not known any more. */
const QUIET_MS = 400_000

/** The chain, which no test changes. */
const chain = new SimulatedChain(CHAIN.eas)
beforeAll(async () => {
  for (let i = 0; i < HEIGHTS; i++)
    await chain.mine(
      1_700_000_000 + i,
      [ATTESTED, OTHER, REVOKED].map((kind) => [kind, topic(i)]),
    )
})

/** Reads the block from endpoints with these lies, or honest ones, `quietMs` after the start. */
async function read(lies: readonly (Lie | undefined)[], quietMs = 0) {
  const clock = new VirtualClock()
  const block = [...chain.blocks.values()][NUMBER]!
  const asked: number[] = []
  let isLying = false
  const clients = lies.map((lie = (_, answer) => answer, n) => {
    const { client } = new SimulatedEndpoint(chain, CHAIN.id, clock, () => 1, 100)
    const changed = async (calls: { method: string; params?: unknown[] }[]) => {
      if (calls[0]!.method !== 'eth_chainId') asked.push(n)
      const answers = await client.batchCall(calls)
      return isLying ? answers.map((answer, i) => lie(calls[i]!.method, answer)) : answers
    }
    return {
      batchCall: changed,
      call: async (method: string, params: unknown[]) => (await changed([{ method, params }]))[0],
      close: () => {},
    } as unknown as RpcClient
  })
  const urls = lies.map((_, i) => `http://endpoint-${i}.example`)
  const rpc = new Rpc({
    ...{ chain: CHAIN, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, clock },
    connect: ({ url }) => clients[urls.indexOf(url)]!,
  })
  const doubt = new Doubt(clock)
  const selection = fixedSelection([{ address: [CHAIN.eas.toLowerCase()], topic0: [ATTESTED, REVOKED] }])
  const blocks = new BlockReader(rpc, selection, doubt, clock)
  const wanted = block.logs.filter(({ topics }) => topics[0] !== OTHER)
  const looks: (CheckedLogs | null)[] = []
  const hashes: (string | null)[] = []
  /** Index of the endpoint that was queried first, for each of the three attempts to read the block. */
  const firsts: number[] = []
  let header: FullHeader | undefined
  const reading = (async () => {
    await clock.pause(quietMs)
    // Headers are read all the time, unlike receipts.
    await blocks.headers([headerCall(0)])
    isLying = true
    for (let i = 0; i < 3; i++) {
      asked.length = 0
      const [checked] = await blocks.headers([headerCall(NUMBER)])
      firsts.push(asked[0]!)
      header = checked?.header
      looks.push(checked ? await blocks.logs(checked) : null)
      hashes.push(...(await blocks.hashesAt(NUMBER)))
      await clock.pause(20_000)
    }
  })()
  let isRead = false
  void reading.finally(() => (isRead = true)).catch(() => {})
  while (!isRead) await clock.pass(1_000, () => {})
  await reading
  return { looks, header, block, wanted, doubt, hashes, firsts }
}
/** Content of logs that the service stores. */
const contentOf = (logs: readonly RpcLog[]) =>
  logs.map(({ topics, data, logIndex, transactionHash, blockHash }) => ({
    ...{ topics, data, logIndex: Number(logIndex), transactionHash, blockHash },
  }))

/** Checks that the logs to be written are those of the chain, and that an unresolved lie raises a doubt. */
function check(
  { looks, block, wanted, doubt, hashes }: Awaited<ReturnType<typeof read>>,
  canBeRead: boolean,
) {
  for (const hash of hashes) expect(hash).toBe(block.header.hash)
  for (const look of looks) {
    if (!look || look.contradicted) continue
    expect(contentOf(look.logs)).toEqual(contentOf(wanted))
    expect(look.logs.every(({ blockHash }) => blockHash === block.header.hash)).toBe(true)
  }
  const last = looks.at(-1)
  if (canBeRead) expect(last).toMatchObject({ contradicted: false, evidence: 'proven' })
  if (!last || last.contradicted) expect(doubt.takeContradictions()).toBeGreaterThan(0)
}

test.each(NAMES)('the indexer never writes a block that all endpoints falsify equally: %s', async (name) => {
  for (const quietMs of [0, QUIET_MS]) {
    check(await read([LIES[name]], quietMs), false)
    check(await read([LIES[name], LIES[name]], quietMs), false)
  }
})

test.each(NAMES)('the indexer writes the block of the honest endpoint of two: %s', async (name) => {
  check(await read([LIES[name], undefined]), true)
  check(await read([undefined, LIES[name]]), true)
})

test.each(NAMES)('the indexer never writes a block that two endpoints falsify: %s', async (name) => {
  const at = NAMES.indexOf(name)
  for (const step of [1, 4, 9])
    check(await read([LIES[name], LIES[NAMES[(at + step) % NAMES.length]!]]), false)
})

test('the indexer reads the hex of headers and receipts in any letter case', async () => {
  const shouts: Lie = (method, answer) =>
    JSON.parse(
      JSON.stringify(answer, (_, value: unknown) =>
        typeof value === 'string' ? `0x${value.slice(2).toUpperCase()}` : value,
      ),
    )
  check(await read([shouts]), true)
  check(
    await read([
      both(
        shouts,
        ofReceipts(() => null),
      ),
    ]),
    false,
  )
})

test('the indexer reads a block whose header has no list of transactions', async () => {
  check(await read([ofHeader({ transactions: undefined })]), true)
})

test('the indexer queries an endpoint last for half a minute after it sent false receipts', async () => {
  for (const name of ['no revocation', 'receipts in another order', 'other data'])
    expect((await read([LIES[name], undefined])).firsts).toEqual([0, 1, 0])
})

test('the indexer reads no logs if one URL leads to nodes with and without the block', async () => {
  const lacksBlock: Lie = both(
    ofReceipts(() => null),
    ofLogs(() => []),
    (method, answer) => (method === 'eth_getBlockByHash' ? null : answer),
  )
  expect((await read([lacksBlock])).looks).toEqual([null, null, null])
  expect((await read([lacksBlock, lacksBlock])).looks).toEqual([null, null, null])
})
