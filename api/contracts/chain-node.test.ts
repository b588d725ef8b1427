import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { AbiCoder } from 'ethers/abi'
import { expect, test, vi } from 'vitest'
import { CHAINS } from '../../src/chains'
import { serve } from '../../test/http-server'
import { UnavailableError } from '../http/problems'
import { OWN_WORK } from '../http/work'
import { ChainReader } from './chain-reader'

/** Shares of the calls to a chain's RPC endpoints, with calls that the test answers. */

/** A node whose calls do not end by themselves. */
class HeldNode extends ChainReader {
  readonly sent: { client: string; parameters: unknown[]; answer: (result: unknown) => void }[] = []

  protected override send(_method: string, parameters: unknown[]): Promise<unknown> {
    return new Promise((answer) => this.sent.push({ client: this.work.client, parameters, answer }))
  }
}

const held = () =>
  new HeldNode(
    { chain: CHAINS[0]!, rpcUrls: ['http://127.0.0.1:1'], gatewayUrl: undefined, headPollMs: 0 },
    Date.now,
    1,
  )

/** Calls of a client, each about another account, and the function that ends its request. */
function callsOf(node: HeldNode, client: string) {
  const abort = new AbortController()
  setMaxListeners(0, abort.signal)
  const own = node.of({ ...OWN_WORK, client, signal: abort.signal })
  const calls = (count: number, name = client) =>
    Promise.allSettled(
      Array.from({ length: count }, (_, i) => own.request('eth_getBalance', [`${name} ${i}`, 'latest'])),
    )
  return { calls, leave: () => abort.abort(new Error('gone')) }
}
const sentBy = ({ sent }: HeldNode, name: string) =>
  sent.filter(({ parameters }) => String(parameters[0]).startsWith(name)).length

test('the call queue leaves slots to other clients while one client waits for many calls', async () => {
  const node = held()
  const hostile = callsOf(node, 'hostile')
  const all = hostile.calls(100)
  expect(sentBy(node, 'hostile')).toBe(16)
  void callsOf(node, 'victim').calls(1)
  expect(sentBy(node, 'victim')).toBe(1)
  // Calls that wait for a slot are not made once their client has left.
  hostile.leave()
  for (const { answer } of node.sent) answer('0x1')
  const outcomes = await all
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(16)
  expect(sentBy(node, 'hostile')).toBe(16)
})

test('the call queue serves a waiting client before further calls of other clients', async () => {
  const node = held()
  const clients = ['a', 'b', 'c', 'd'].map((client) => callsOf(node, client))
  for (const { calls } of clients) void calls(50)
  expect(node.sent).toHaveLength(64)
  const waiting = callsOf(node, 'victim').calls(1)
  node.sent[0]!.answer('0x1')
  await expect.poll(() => sentBy(node, 'victim')).toBe(1)
  node.sent.at(-1)!.answer('0x2')
  expect(await waiting).toEqual([{ status: 'fulfilled', value: '0x2' }])
  for (const { leave } of clients) leave()
})

test('the call queue refuses calls only of the client whose share of the queue is full', async () => {
  const node = held()
  const hostile = callsOf(node, 'hostile')
  const all = hostile.calls(16 + 200 + 1)
  const other = callsOf(node, 'other').calls(1)
  hostile.leave()
  for (const { answer } of node.sent) answer('0x1')
  expect((await all).at(-1)).toMatchObject({ reason: { slug: 'rate-limited', retryAfter: 5 } })
  expect(await other).toEqual([{ status: 'fulfilled', value: '0x1' }])
})

test('the call queue sends equal calls of several clients once', async () => {
  const node = held()
  const clients = Array.from({ length: 9 }, (_, i) => callsOf(node, `client ${i}`))
  const all = Promise.all(clients.map(({ calls }) => calls(1, 'shared')))
  await expect.poll(() => node.sent).toHaveLength(1)
  node.sent[0]!.answer('0x3')
  for (const outcomes of await all) expect(outcomes).toEqual([{ status: 'fulfilled', value: '0x3' }])
  expect(node.sent).toHaveLength(1)
})

test('the call queue checks signatures of smart accounts within the share of each client', async () => {
  const node = held()
  // A local chain is called at its head only.
  vi.spyOn(node, 'isLocal').mockResolvedValue(true)
  const claim = { account: `0x${'1'.repeat(40)}`, digest: `0x${'2'.repeat(64)}`, signature: '0x00' }
  const check = (client: string) =>
    node
      .of({ ...OWN_WORK, client })
      .accountRefusal(claim, 60)
      .catch(() => {})
  const encode = vi.spyOn(AbiCoder.prototype, 'encode')
  for (let i = 0; i < 30; i++) void check('hostile')
  const atHead = () =>
    node.sent.filter(({ client, parameters }) => client !== '' && parameters[0] === 'latest').length
  await expect.poll(atHead).toBe(6)
  expect(encode).toHaveBeenCalledTimes(6)
  encode.mockRestore()
  void check('victim')
  await expect.poll(atHead).toBe(7)
})

test('the call queue shares results between clients without charging the first client again', async () => {
  const node = held()
  const own = node.of({ ...OWN_WORK, client: 'first' })
  const local = own.isLocal()
  node.sent[0]!.answer('anvil/v1.7.1')
  expect([await local, node.wasLocal]).toEqual([true, true])
  void own.nonce(`0x${'1'.repeat(40)}`)
  expect(node.sent.map(({ client }) => client)).toEqual(['', ''])
  for (const { answer } of node.sent) answer(`0x${'0'.repeat(64)}`)
})

/** Endpoint whose head has this age, and which returns this word or error, or status 429, for each call. */
function endpoint(ageSeconds: number, word: string | object | undefined): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body: Buffer[] = []
    for await (const part of request) body.push(part as Buffer)
    const given = JSON.parse(Buffer.concat(body).toString()) as unknown
    const calls = [given].flat() as { id: number; method: string; params: unknown[] }[]
    if (word === undefined && calls.some(({ method }) => method === 'eth_call'))
      return void response.writeHead(429).end()
    const hex = (value: number) => `0x${value.toString(16)}`
    const head = { number: hex(1e6 - ageSeconds), timestamp: hex(Math.floor(Date.now() / 1000) - ageSeconds) }
    const results: Record<string, unknown> = {
      ...{ eth_chainId: hex(CHAINS[0]!.id), web3_clientVersion: 'geth/v1' },
      ...{ eth_getBlockByNumber: head, eth_call: word },
    }
    const isError = (method: string) => method === 'eth_call' && typeof word === 'object'
    const answers = calls.map(({ id, method, params }) =>
      Number(params[1]) > Number(head.number)
        ? { jsonrpc: '2.0', id, error: { code: -32_000, message: 'header not found' } }
        : { jsonrpc: '2.0', id, [isError(method) ? 'error' : 'result']: results[method] },
    )
    response.end(JSON.stringify(Array.isArray(given) ? answers : answers[0]))
  }
  return serve((request, response) => void answer(request, response))
}
const word = (value: number) => `0x${String(value).padStart(64, '0')}`
test.each([
  ['a batch of calls', 81],
  ['one call at a time', 1],
])('no result of an endpoint that lags is used, whatever the head of another one (%s)', async (_, size) => {
  const account = `0x${'1'.repeat(40)}`
  const claim = { account, digest: `0x${'2'.repeat(64)}`, signature: '0x00' }
  for (const ageSeconds of [0, 3_600]) {
    const rpcUrls = [await endpoint(0, undefined), await endpoint(ageSeconds, word(0))]
    const chain = { chain: CHAINS[0]!, rpcUrls, gatewayUrl: undefined, headPollMs: 0 }
    const node = new ChainReader(chain, Date.now, size)
    const reads = await Promise.allSettled([
      node.offchainRevocationTime(account, claim.digest, 60),
      node.accountRefusal(claim, 60),
    ])
    expect(reads).toMatchObject(
      ageSeconds === 0
        ? [{ value: 0n }, { value: { isContract: false } }]
        : reads.map(() => ({ status: 'rejected', reason: expect.any(UnavailableError) as unknown })),
    )
  }
})

test.each([
  ['code 3', { code: 3, data: '0x' }, '0x'],
  ['code -32000 and no data', { code: -32_000 }, '0x'],
  ['data', { code: 3, data: '0x8baa579f' }, '0x8baa579f'],
])('a revert is an answer of the contract, not of the endpoint (%s)', async (_, error, data) => {
  const rpcUrls = [await endpoint(0, { ...error, message: 'execution reverted' })]
  const node = new ChainReader({ chain: CHAINS[0]!, rpcUrls, gatewayUrl: undefined, headPollMs: 0 }, Date.now)
  const { eas } = CHAINS[0]!
  expect([await node.revertOf(eas, '0x'), await node.proxyFacts(eas)]).toEqual([data, undefined])
})
