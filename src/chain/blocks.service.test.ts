import { afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { faults, startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import { fixedSelection } from '../../test/simulation'
import { MONOTONIC, type Clock } from '../clock'
import { BlockReader } from './blocks'
import { Doubt } from './doubt'
import { headerByHash, headerCall } from './logs'
import { attestationFilter } from '../indexer/registrations'
import { sentence, testSentences } from '../../test/sentences'

/** Tests with blocks of a real node, read from endpoints that lie. */
let chain: LocalChain
let number: number
let hash: string
const proxies: RpcProxy[] = []
beforeAll(async () => {
  chain = await startTestChain({ port: await freePort() })
  await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  const block = (await chain.provider.getBlock('latest'))!
  number = block.number
  hash = block.hash!
})
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close()
})

const minute = 60_000
let now = 0
const clock: Clock = { ...MONOTONIC, now: () => now }
/** Returns a reader with one endpoint per list of faults. */
async function reader(...behind: Fault[][]) {
  for (const each of behind) proxies.push(await startRpcProxy(chain.url, ...each))
  const doubt = new Doubt(clock)
  return {
    doubt,
    blocks: new BlockReader(
      testRpc(proxies.map(({ url }) => url)),
      fixedSelection([attestationFilter(chain.chain)]),
      doubt,
      clock,
    ),
  }
}
const lacking =
  (methods: RegExp): Fault =>
  ({ method }) =>
    methods.test(method) ? { error: { code: -32601, message: 'the method does not exist' } } : undefined
const noReceipts = lacking(/Receipt/)
const noBlockReceipts = lacking(/^eth_getBlockReceipts$/)
const previous: Fault = ({ method, params }) =>
  /^eth_getBlockBy/.test(method)
    ? { ask: (ask) => ask('eth_getBlockByNumber', [`0x${(number - 1).toString(16)}`, params[1]]) }
    : undefined
const wrongBody: Fault = ({ method, params }) =>
  method === 'eth_getBlockByNumber'
    ? { ask: async (ask) => ({ ...((await ask(method, params)) as object), gasUsed: '0x1' }) }
    : undefined

test('the block reader returns the requested header, or null after it has queried all endpoints', async () => {
  const alone = await reader([previous])
  expect(
    await alone.blocks.headers([headerCall(number), headerByHash(hash), headerCall(number - 1)]),
  ).toMatchObject([null, null, { header: { number: `0x${(number - 1).toString(16)}` }, isValid: true }])
  expect(alone.doubt.reason()).toEqual(sentence())
  const honest = await reader([])
  expect(await honest.blocks.headers([headerCall(number), headerByHash(hash)])).toMatchObject([
    { header: { hash } },
    { header: { hash } },
  ])
  const both = await reader([previous], [])
  expect(await both.blocks.headers([headerCall(number)])).toMatchObject([{ header: { hash } }])
  expect(both.doubt.reason()).toBeUndefined()
  expect(await both.blocks.headers([headerCall(number + 1)])).toEqual([null])
})

test('the reader rejects headers with another hash, unless none matches for five minutes', async () => {
  const { blocks } = await reader([wrongBody])
  expect(await blocks.headers([headerCall(number)])).toEqual([null])
  expect(await blocks.headers([headerCall(number)], { anyForm: true })).toMatchObject([{ isValid: false }])
  now += 6 * minute
  expect(await blocks.headers([headerCall(number)])).toMatchObject([{ isValid: false }])
})

test.each<[string, Fault[][], object | null]>([
  ['receipts', [[]], { evidence: 'proven', contradicted: false, calls: 1 }],
  [
    'receipts of the second of two endpoints',
    [[faults.logsForged], []],
    { evidence: 'proven', contradicted: false, calls: 2 },
  ],
  ['false receipts of the only endpoint', [[faults.logsForged]], { evidence: 'single', contradicted: true }],
  ['no receipts of the only endpoint', [[noReceipts]], { evidence: 'single', contradicted: false }],
  [
    'no receipts of the only endpoint, and a log that the block cannot have',
    [[noReceipts, faults.logsForged]],
    null,
  ],
  ['no receipts of two endpoints', [[noReceipts], [noReceipts]], { evidence: 'agreed', contradicted: false }],
  [
    'no receipts, and different logs of the two endpoints',
    [[noReceipts], [noReceipts, faults.logsEmpty]],
    null,
  ],
])('the block reader reads logs of a block with %s', async (_, behind, expected) => {
  const { blocks } = await reader(...behind)
  const [header] = await blocks.headers([headerCall(number)])
  const found = await blocks.logs(header!)
  if (expected) expect(found).toMatchObject(expected)
  else expect(found).toBeNull()
  if (found && !found.contradicted) expect(found.logs).toMatchObject([{ logIndex: '0x0', blockHash: hash }])
})

test('the block reader accepts only true receipts from several nodes behind one URL', async () => {
  const { blocks, doubt } = await reader([faults.logsForged])
  const [header] = await blocks.headers([headerCall(number)])
  expect(await blocks.logs(header!)).toMatchObject({ contradicted: true })
  proxies[0]!.misbehave(faults.logsEmpty, noReceipts)
  expect(await blocks.logs(header!)).toMatchObject({ contradicted: true })
  expect(doubt.reason()).toBeDefined()
  proxies[0]!.misbehave()
  expect(await blocks.logs(header!)).toMatchObject({ evidence: 'proven', contradicted: false })
  proxies[0]!.misbehave(noReceipts)
  expect(await blocks.logs(header!)).toMatchObject({ evidence: 'single', contradicted: false })
})

const LIES = ['logsEmpty', 'logsForged'] as const
test.each([0, 1, 2].flatMap((liar) => LIES.map((lie) => [liar, lie] as const)))(
  'the block reader outvotes lying endpoint %i of three without receipts (%s)',
  async (liar, lie) => {
    const behind = [0, 1, 2].map((each) => (each === liar ? [faults[lie], noReceipts] : [noReceipts]))
    for (const second of [false, true]) {
      const { blocks, doubt } = await reader(...behind)
      const [header] = await blocks.headers([headerCall(number)])
      if (second) blocks.turn()
      const asked = () => proxies[liar]!.calls.filter(({ method }) => method === 'eth_getLogs').length
      const found = await blocks.logs(header!)
      expect(found).toMatchObject({ evidence: 'agreed', logs: [{ logIndex: '0x0', blockHash: hash }] })
      expect(found!.logs).toHaveLength(1)
      expect(doubt.reason()).toBeUndefined()
      // The lying endpoint is not queried again once the two others agree, even if it was the first to be
      // queried before.
      const before = asked()
      expect(await blocks.logs(header!)).toMatchObject({ evidence: 'agreed' })
      expect(asked()).toBe(before)
      for (const proxy of proxies.splice(0)) await proxy.close()
    }
  },
)

test('the block reader returns null if three endpoints without receipts return different logs', async () => {
  const behind = [[], [faults.logsEmpty], [faults.logsForged]].map((lies) => [...lies, noReceipts])
  const { blocks, doubt } = await reader(...behind)
  const [header] = await blocks.headers([headerCall(number)])
  expect(await blocks.logs(header!)).toBeNull()
  expect(doubt.reason()).toEqual(sentence())
})

/** A fault: returns receipts of an unknown transaction type. */
const ofUnknownForm: Fault = ({ method, params }) =>
  method === 'eth_getBlockReceipts'
    ? {
        ask: async (ask) =>
          ((await ask(method, params)) as object[]).map((receipt) => ({ ...receipt, type: '0x50' })),
      }
    : undefined

test.each([1, 2])(
  'the block reader reports false receipts while all endpoints (%i) agree on them',
  async (endpoints) => {
    const behind = Array.from({ length: endpoints }, () => [faults.logsCutEverywhere])
    const { blocks, doubt } = await reader(...behind)
    const [header] = await blocks.headers([headerCall(number)])
    for (const minutes of [0, 6, 60]) {
      now += minutes * minute
      expect(await blocks.logs(header!)).toMatchObject({ contradicted: true })
      expect(doubt.reason()).toBeDefined()
    }
  },
)

test('the block reader waits for receipts, but ignores an unknown form after five minutes', async () => {
  const { blocks, doubt } = await reader([ofUnknownForm])
  const [header] = await blocks.headers([headerCall(number)])
  expect(await blocks.logs(header!)).toMatchObject({ contradicted: true })
  now += 6 * minute
  expect(await blocks.logs(header!)).toMatchObject({ evidence: 'single', contradicted: false })
  expect(doubt.reason()).toBeUndefined()
  proxies[0]!.misbehave(({ method }) => (method === 'eth_getBlockReceipts' ? { result: null } : undefined))
  expect(await blocks.logs(header!)).toBeNull()
  now += minute
  expect(await blocks.logs(header!)).toMatchObject({ evidence: 'single' })
})

test('the block reader falls back to single receipts, and then to the logs of one endpoint', async () => {
  const { blocks } = await reader([noBlockReceipts])
  const [header] = await blocks.headers([headerCall(number)])
  expect(await blocks.logs(header!, { receiptByReceipt: true })).toMatchObject({
    evidence: 'proven',
    calls: 2,
  })
  proxies[0]!.misbehave(noReceipts)
  expect(await blocks.logs(header!, { receiptByReceipt: true })).toMatchObject({
    evidence: 'single',
    contradicted: false,
  })
})

/** Fault: appends the receipt of a state sync like nodes of Polygon, and with `listed` its transaction. */
const stateSync = (listed: boolean): Fault => {
  const sync = `0x${'9'.repeat(64)}`
  const receipt = { type: '0x0', status: '0x1', cumulativeGasUsed: '0x0', logsBloom: `0x${'0'.repeat(512)}` }
  return ({ method, params }) => {
    const whole = { ...receipt, logs: [], blockHash: hash, transactionHash: sync }
    if (method === 'eth_getBlockReceipts')
      return { ask: async (ask) => [...((await ask(method, params)) as object[]), whole] }
    if (method === 'eth_getTransactionReceipt' && params[0] === sync) return { result: whole }
    if (!listed || !method.startsWith('eth_getBlockBy')) return undefined
    return {
      ask: async (ask) => {
        const block = (await ask(method, params)) as { transactions: string[] }
        return { ...block, transactions: [...block.transactions, sync] }
      },
    }
  }
}
test.each<[string, Fault[], number]>([
  ['that the header does not list', [stateSync(false)], 1],
  ['that the header lists', [stateSync(true)], 1],
  ['that the header lists, among single receipts', [noBlockReceipts, stateSync(true)], 3],
])('the block reader proves logs despite the receipt of a state sync %s', async (_, behind, calls) => {
  const { blocks } = await reader(behind)
  const [header] = await blocks.headers([headerCall(number)])
  expect(await blocks.logs(header!, { receiptByReceipt: true })).toMatchObject({
    ...{ logs: [{ logIndex: '0x0' }], evidence: 'proven', contradicted: false, calls },
  })
})

test('the block reader makes no call for an empty block', async () => {
  const { blocks } = await reader([])
  const [header] = await blocks.headers([headerCall(number - 1)])
  const before = proxies[0]!.calls.length
  expect(await blocks.logs(header!)).toMatchObject({
    ...{ logs: [], evidence: 'proven', contradicted: false, calls: 0 },
  })
  expect(proxies[0]!.calls.length).toBe(before)
})

testSentences()
