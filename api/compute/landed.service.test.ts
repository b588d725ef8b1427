import { ZeroAddress } from 'ethers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { LOCAL_CHAIN, attest, request, startLocalChain, testAccount, type LocalChain } from '../../dev/chain'
import { freePort } from '../../dev/services'
import { CHAINS } from '../../src/chains'
import { LOCATION_SCHEMA } from '../../src/location'
import { faults, startRpcProxy, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import type { Attester } from './attester'
import { ChainReader, type Block } from '../contracts'
import { OWN_WORK } from '../http/work'
import { findLanded } from './landed'

/** A real chain behind a node that limits its responses, under a host name that does not count as local. */
let chain: LocalChain
let proxy: RpcProxy
beforeAll(async () => {
  chain = await startLocalChain({ port: await freePort(), startsAt: 1_700_000_000 })
  proxy = await startRpcProxy(chain.url)
})
afterEach(() => proxy?.misbehave())
afterAll(() => chain?.stop())

const address = testAccount(0).address
/** @param host 0.0.0.0 reaches the loopback interface as well, but does not count as local */
function served(
  host = '0.0.0.0',
  row = LOCAL_CHAIN,
  clock = () => Date.now(),
  proxies = [proxy],
  batchSize?: number,
) {
  const rpcUrls = proxies.map(({ url }) => url.replace('127.0.0.1', host))
  return {
    attester: { chain: row } as Attester,
    reader: new ChainReader({ chain: row, rpcUrls, gatewayUrl: undefined, headPollMs: 0 }, clock, batchSize),
  }
}
let made = 0
/** Creates a new attestation; returns its statement, UID, block number and timestamp. */
async function land() {
  const data = `0x${(++made).toString(16).padStart(64, '0')}`
  const uid = await attest(chain, request(LOCATION_SCHEMA.uid, data))
  const { number, timestamp } = (await chain.provider.getBlock('latest'))!
  return {
    statement: {
      ...{ schema: LOCATION_SCHEMA.uid, recipient: ZeroAddress, revocable: true, data },
      expirationTime: 0,
    },
    uid,
    number,
    timestamp,
  }
}
type Parameter = Parameters<typeof findLanded>
const search = (
  from: ReturnType<typeof served>,
  statement: Parameter[1],
  by: string,
  timestamp: number,
  isDecisive: Parameter[4] = () => true,
) => findLanded(from, statement, by, timestamp, isDecisive)
const mine = (blocks: number) => chain.provider.send('anvil_mine', [`0x${blocks.toString(16)}`, '0x2'])
const logCalls = () => proxy.calls.filter(({ method }) => method === 'eth_getLogs').length
const range = ({ params }: { params: { fromBlock: string; toBlock: string }[] }) =>
  Number(params[0]!.toBlock) - Number(params[0]!.fromBlock) + 1
const atMost =
  (blocks: number): Fault =>
  (call) =>
    call.method === 'eth_getLogs' && range(call) > blocks
      ? { error: { code: -32602, message: `up to a ${blocks} block range` } }
      : undefined

test('the search for a landed answer finds it by its content among other attestations', async () => {
  await land()
  const { statement, uid, number, timestamp } = await land()
  await attest(chain, request(LOCATION_SCHEMA.uid, statement.data))
  await land()
  await mine(50)
  const found = await search(served(), statement, address, timestamp - 5)
  expect(found).toEqual({
    status: 'landed',
    uid,
    transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    blockNumber: number,
    revoked: false,
  })
  expect(await search(served('127.0.0.1'), statement, address, 2_000_000_000)).toEqual(found)
  for (const change of [
    { data: '0x' },
    { revocable: false },
    { recipient: address },
    { schema: statement.data },
  ])
    expect(await search(served(), { ...statement, ...change }, address, timestamp)).toEqual({
      status: 'not landed',
      uid: null,
      transactionHash: null,
      blockNumber: null,
      revoked: null,
    })
})

test('the search for an answer shrinks a refused block range, and returns unknown if all are refused', async () => {
  const { statement, uid, timestamp } = await land()
  await mine(300)
  proxy.misbehave(atMost(40))
  const from = served()
  expect(await search(from, statement, address, timestamp)).toMatchObject({ status: 'landed', uid })
  const before = logCalls()
  expect(await search(from, { ...statement, data: '0x' }, address, timestamp)).toMatchObject({
    status: 'not landed',
  })
  expect(logCalls() - before).toBeLessThan(20)
  proxy.misbehave(atMost(2))
  expect(await search(served(), { ...statement, data: '0x' }, address, timestamp)).toMatchObject({
    status: 'unknown',
    uid: null,
  })
  proxy.misbehave(atMost(0))
  expect(await search(served(), statement, address, timestamp)).toMatchObject({ status: 'unknown' })
})

test('the search for an answer returns unknown if an endpoint lags', async () => {
  const { statement, timestamp } = await land()
  const replica = await startRpcProxy(chain.url, faults.lagging(1))
  const unknown = { status: 'unknown', uid: null }
  // Another endpoint has returned the head, but no logs.
  proxy.misbehave(({ method }) => (method === 'eth_getLogs' ? { status: 500 } : undefined))
  for (const batchSize of [undefined, 1]) {
    const both = served(undefined, undefined, undefined, [proxy, replica], batchSize)
    expect(await search(both, statement, address, timestamp)).toMatchObject(unknown)
  }
  // The log is there, but not the attestation.
  proxy.misbehave(faults.bodiesUnknown)
  expect(await search(served(), statement, address, timestamp)).toMatchObject(unknown)
  // All results are from the replica. The nonce was read elsewhere.
  const behind = served(undefined, undefined, undefined, [replica])
  const { number } = (await chain.provider.getBlock('latest'))!
  const isDecisive = (head: Block) => head.number >= number
  expect(await search(behind, statement, address, timestamp, isDecisive)).toMatchObject(unknown)
})

test('the search for an answer does not shrink the block range when a client disconnects', async () => {
  const { statement, timestamp } = await land()
  const { attester, reader } = served()
  const left = reader.of({ ...OWN_WORK, signal: AbortSignal.abort(new Error('gone')) })
  await expect(search({ attester, reader: left }, statement, address, timestamp)).rejects.toThrow()
  expect(reader.logs.span).toBe(Infinity)
})

test.each([
  ['has no time', undefined],
  ['has the time 0, as from some nodes', '0x0'],
])(
  'the search for an answer reads the block if a log %s, and searches back on a fast chain',
  async (_, blockTimestamp) => {
    const { statement, uid, timestamp } = await land()
    await mine(200)
    proxy.misbehave(({ method, params }) =>
      method === 'eth_getLogs'
        ? {
            ask: async (ask) =>
              (await ask(method, params)).map((log: object) => ({ ...log, blockTimestamp })),
          }
        : undefined,
    )
    expect(
      await search(served('0.0.0.0', { ...LOCAL_CHAIN, blockMs: 60_000 }), statement, address, timestamp),
    ).toMatchObject({ status: 'landed', uid })
  },
)

test.each([
  ['of a local chain is read after the request', '127.0.0.1', LOCAL_CHAIN, 2],
  [
    'of a chain with a block each 250 ms is read after the request',
    '0.0.0.0',
    { ...CHAINS.find(({ slug }) => slug === 'arbitrum')!, id: LOCAL_CHAIN.id, eas: LOCAL_CHAIN.eas },
    2,
  ],
  ['of any other chain may be 250 ms old', '0.0.0.0', LOCAL_CHAIN, 1],
])('the nonce %s', async (_, host, row, reads) => {
  const { reader } = served(host, row, () => 1_700_000_000_000)
  const nonceReads = () =>
    proxy.calls.filter(
      ({ method, params }) => method === 'eth_call' && params[0].data.startsWith('0x2d0335ab'),
    ).length
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  proxy.misbehave(({ method, params }) =>
    method === 'eth_call'
      ? { ask: (ask) => ask(method, params).then((answer: unknown) => held.then(() => answer)) }
      : undefined,
  )
  const before = nonceReads()
  const first = reader.nonce(address) // starts reading at once
  const others = Array.from({ length: 9 }, () => reader.nonce(address))
  goOn()
  await Promise.all([first, ...others])
  expect(nonceReads() - before).toBe(reads)
  await Promise.all([reader.nonce(address, true), reader.nonce(address, true)])
  expect(nonceReads() - before).toBeGreaterThan(reads)
})
