import { existsSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ZeroAddress, ZeroHash, toQuantity } from 'ethers'
import { LOCAL_CHAIN, attest, locationRequest, type LocalChain } from '../dev/chain'
import { startTestChain } from '../test/chains'
import { freePort } from '../dev/services'
import { SettingsError } from '../src/config'
import { timeOf } from '../src/eas'
import type { GraphqlBackend } from './graphql'
import { ComputeError, UnavailableError } from './http/problems'
import { buildTestServer } from '../test/api'
import { createMigratedDatabase, type TestDatabase } from '../test/database'
import { faults, startRpcProxy, type Fault, type RpcCall } from '../test/rpc-proxy'
import { readManual } from './service/manual'
import { loadIdentity } from './compute/signers'
import { ChainReader } from './contracts'
import { Measurer } from './compute/measure'
import { sentence, testSentences } from '../test/sentences'

/** Tests a server in this process, with a real chain and a real database that fail on demand. */
let chain: LocalChain
let database: TestDatabase
beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
})
const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0).reverse()) await close()
})

const NOW = 1_700_000_000_000
const POINT = { type: 'Point', coordinates: [1, 2] }
const POINT_OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
async function serve(
  options: {
    fault?: Fault
    databaseUrl?: string
    clock?: () => number
    elapsed?: () => number
    key?: string
    perHour?: number
    measurer?: Measurer
  } = {},
) {
  const { fault = () => undefined, perHour = 0, ...others } = options
  const proxy = await startRpcProxy(chain.url, fault)
  const { app, close } = await buildTestServer({
    ...{ databaseUrl: database.url, rpcUrl: proxy.url },
    ...{ rateLimitPerHour: perHour, recordsRateLimitPerHour: perHour },
    ...others,
  })
  closing.push(() => proxy.close(), close)
  const send = (operation: string, body: object, remoteAddress = '127.0.0.1') =>
    app.inject({
      ...{ method: 'POST', url: `/compute/v0/${operation}`, remoteAddress },
      payload: { chainId: LOCAL_CHAIN.id, ...body },
    })
  return {
    app,
    proxy,
    get: (url: string) => app.inject({ url }),
    post: async (operation: string, body: object) => (await send(operation, body)).json(),
    distance: (from: unknown = POINT, remoteAddress?: string) =>
      send('distance', { from, to: POINT }, remoteAddress),
    send,
  }
}
/** Serves with an endpoint that has the fault while `state.broken`, at the time `state.now`. */
async function serveBreakable(fault: Fault, broken = false) {
  const state = { broken, now: NOW }
  const whileBroken: Fault = (call) => (state.broken ? fault(call) : undefined)
  return { state, ...(await serve({ elapsed: () => state.now, fault: whileBroken })) }
}
const PROBLEM = 'application/problem+json; charset=utf-8'
const LOST: Fault = () => ({ error: { code: -32000, message: 'secret upstream words' } })

/** 32 bytes of a response, in hex. */
const word = (value: number | string) =>
  (typeof value === 'number' ? value.toString(16) : value).padStart(64, '0')
/** True for calls of a function of a contract, by its selector. */
const calls =
  (selector: string) =>
  ({ method, params }: RpcCall): boolean =>
    method === 'eth_call' && params[0].data.startsWith(selector)
const onCall =
  (selector: string, fault: Fault): Fault =>
  (call) =>
    calls(selector)(call) ? fault(call) : undefined
const GET_ATTESTATION = '0xa3112a64'
const isBody = calls(GET_ATTESTATION)

class Remote extends ChainReader {
  override isLocal() {
    return Promise.resolve(false)
  }
}
const readerOf = (rpcUrls: string[], clock = () => Date.now(), Reader = ChainReader, batchSize?: number) =>
  new Reader({ chain: LOCAL_CHAIN, rpcUrls, gatewayUrl: undefined, headPollMs: 0 }, clock, batchSize)

describe('the service during an outage', () => {
  test('returns 503 for records and computation-error for UIDs without a database', async () => {
    const { get, distance } = await serve({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' })
    expect((await get('/health')).statusCode).toBe(503)
    expect((await get('/health')).json()).toMatchObject({ status: 'unhealthy', database: 'disconnected' })
    const records = await get('/api/v0/location-records')
    expect([records.statusCode, records.headers['retry-after']]).toEqual([503, '5'])
    expect(records.json()).toEqual({
      status: 'error',
      message: 'Temporarily unavailable',
      detail: sentence(),
    })
    const byUid = await distance(`0x${'1'.repeat(64)}`)
    expect([byUid.statusCode, byUid.headers['retry-after']]).toEqual([500, '5'])
    expect(byUid.json()).toEqual({
      ...{ type: 'https://x.example/errors/computation-error', title: 'Computation Error', status: 500 },
      detail: sentence(),
      instance: '/compute/v0/distance',
    })
    expect((await distance()).json()).toMatchObject({ result: 0 })
  })
  test('retries an RPC endpoint that is unavailable at the start', async () => {
    const { distance, state } = await serveBreakable(LOST, true)
    const answer = await distance()
    expect(answer.json()).toMatchObject({ status: 500, detail: sentence() })
    expect(answer.headers['retry-after']).toBe('5')
    state.broken = false
    state.now += 6_000
    expect((await distance()).statusCode).toBe(200)
  })
  test('reports a lost RPC endpoint in GET /, and answers the first request after the recovery', async () => {
    const { distance, get, state } = await serveBreakable(LOST)
    const told = async () => (await get('/?format=json')).json().chains[0]
    const before = await told()
    expect(before).toMatchObject({ ready: true, domain: { name: 'EAS' } })
    state.broken = true
    // An endpoint that was lost less than a minute ago still counts as ready.
    for (const later of [0, 61_000]) {
      state.now += later
      const refused = await distance()
      expect(refused.statusCode).toBe(500)
      expect(refused.headers).toMatchObject({ 'retry-after': '5', 'content-type': PROBLEM })
      expect(refused.json().detail).toEqual(sentence())
    }
    // An answer that is already signed can still be submitted.
    expect(await told()).toEqual({ ...before, ready: false, reason: sentence() })
    state.broken = false
    expect((await distance()).statusCode).toBe(200)
    state.now += 6_000
    expect(await told()).toEqual(before)
  })
  test('rejects a response that contains another attestation than the requested attestation', async () => {
    const forged = `0x${word('20')}${'1'.repeat(64)}${'ba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2'}${word('1').repeat(2)}${word('0').repeat(4)}${word('1')}${word('140')}${word('0')}`
    const { distance } = await serve({ fault: onCall(GET_ATTESTATION, () => ({ result: forged })) })
    expect((await distance(`0x${'1'.repeat(64)}`)).json()).toMatchObject({ status: 500, detail: sentence() })
  })
})

describe('the check before signing', () => {
  test('refuses an input that expires during the measurement', async () => {
    let now = Date.now()
    let ahead = 0
    const real = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
    onTestFinished(() => clock.mockRestore())
    class Slow extends Measurer {
      override async measure(...given: Parameters<Measurer['measure']>) {
        // The check is repeated after a second.
        ahead += 1_050
        now += 20_000
        return super.measure(...given)
      }
    }
    const expirationTime = Math.floor(now / 1000) + 10
    const uid = await attest(
      chain,
      locationRequest({ type: 'Point', coordinates: [3, 4] }, { expirationTime }),
    )
    const { distance, post } = await serve({ clock: () => now, measurer: new Slow() })
    expect((await distance(uid)).json()).toMatchObject({
      status: 400,
      detail: sentence('', uid, timeOf(BigInt(expirationTime))),
    })
    now -= 20_000
    expect(
      await post('batch', { operations: [{ operation: 'distance', from: POINT, to: uid }] }),
    ).toMatchObject({ status: 400, detail: expect.stringContaining('input 2') })
  })
  test('reads the nonce and attestations despite queued calls of another client', async () => {
    let slow = false
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const { distance, proxy } = await serve({
      fault: (call) =>
        slow && isBody(call)
          ? { ask: async (ask) => (await held, ask(call.method, call.params)) }
          : undefined,
    })
    expect((await distance()).statusCode).toBe(200)
    slow = true
    const unknown: ReturnType<typeof distance>[] = []
    const reads = () => proxy.calls.filter(isBody).length
    for (let i = 0; i < 20; i++) unknown.push(distance(`0x${String(i).padStart(64, '1')}`))
    await expect.poll(reads).toBe(16)
    unknown.push(distance(`0x${'2'.repeat(64)}`, '192.0.2.1'))
    await expect.poll(reads).toBe(17)
    expect((await distance()).statusCode).toBe(200)
    expect(reads()).toBe(17)
    release()
    for (const answer of await Promise.all(unknown)) expect(answer.statusCode).toBe(404)
    expect(reads()).toBe(21)
  })
  test('rejects a schema that does not match its UID, and a response to another call', async () => {
    const text = Buffer.from(
      'uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation',
    )
    const schema = `0x${'99'.repeat(32)}`
    const record = `0x${word('20')}${'99'.repeat(32)}${word('0')}${word('1')}${word('80')}${word(text.length)}${text.toString('hex').padEnd(192, '0')}`
    const { post } = await serve({
      fault: onCall('0xa2ea7c6e', ({ params }) =>
        params[0].data.endsWith('99') ? { result: record } : undefined,
      ),
    })
    expect(await post('distance', { from: POINT, to: POINT, schema })).toMatchObject({
      status: 500,
      detail: sentence(),
    })
    const wrong = await serve({ fault: faults.wrongIds })
    expect((await wrong.distance()).json()).toMatchObject({ status: 500, detail: sentence() })
  })
})

test('the service reads concurrent attestations in one request, except refused attestations', async () => {
  const uids = await Promise.all(
    [1, 2, 3].map((at) => attest(chain, locationRequest({ type: 'Point', coordinates: [at, at] }))),
  )
  const proxy = await startRpcProxy(chain.url)
  closing.push(() => proxy.close())
  const reader = readerOf([proxy.url])
  const read = async () => {
    const asked = [...uids, uids[0]!, `0x${'9'.repeat(64)}`]
    const { requests } = proxy
    const found = await Promise.all(asked.map((uid) => reader.attestation(uid)))
    expect(found.map((each) => each?.uid)).toEqual([...uids, uids[0], undefined])
    return proxy.requests - requests
  }
  await reader.block('latest') // from here on, the chain's id is known
  expect(await read()).toBe(1)
  // The endpoint refuses one of the calls.
  const mangled = (mangle: (answers: any[]) => unknown) =>
    proxy.misbehave(() => ({ mangle: (answer) => (Array.isArray(answer) ? mangle(answer) : answer) }))
  mangled((all) => all.with(2, { ...all[2], error: { code: -32000, message: 'response too large' } }))
  const oneByOne = 1 + 1 + 4
  expect(await read()).toBe(oneByOne)
  // The response has one error for the whole batch.
  mangled(() => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } }))
  expect(await read()).toBe(oneByOne)
  // A temporary refusal does not lead to more requests.
  proxy.misbehave(() => ({ status: 429 }))
  const { requests } = proxy
  await expect(reader.attestation(uids[0]!)).rejects.toThrow(UnavailableError)
  expect(proxy.requests - requests).toBe(1)
  // Without batches, the state is read at the block whose age is checked.
  proxy.misbehave()
  const single = readerOf([proxy.url], undefined, ChainReader, 1)
  expect((await single.attestation(uids[0]!))?.uid).toBe(uids[0])
  const block = await chain.provider.send('eth_blockNumber', [])
  expect(proxy.calls.at(-1)).toMatchObject({ method: 'eth_call', params: [{}, block] })
})

test('the service reads no attestation from an RPC endpoint that lags, even if another is fresh', async () => {
  const uid = await attest(chain, locationRequest({ type: 'Point', coordinates: [7, 8] }))
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const failing = await startRpcProxy(chain.url, (call) => (isBody(call) ? { status: 500 } : undefined))
  const lagging = await startRpcProxy(chain.url, ({ method, params }) =>
    method === 'eth_getBlockByNumber'
      ? { ask: async (ask) => ({ ...(await ask(method, params)), timestamp: toQuantity(timestamp - 600) }) }
      : undefined,
  )
  closing.push(
    () => failing.close(),
    () => lagging.close(),
  )
  const reader = (rpcUrls: string[]) => readerOf(rpcUrls, () => timestamp * 1000, Remote)
  await expect(reader([failing.url, lagging.url]).attestation(uid, 120)).rejects.toThrow(UnavailableError)
  expect((await reader([failing.url, chain.url]).attestation(uid, 120))?.uid).toBe(uid)
})

test('the service rejects an RPC endpoint whose head is old, or in the future', async () => {
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const at = (seconds: number) =>
    readerOf([chain.url], () => (timestamp + seconds) * 1000, Remote).offchainRevocationTime(
      ...([ZeroAddress, ZeroHash, 120] as const),
    )
  await expect(at(119)).resolves.toBe(0n)
  await expect(at(130)).rejects.toThrow(sentence())
  await expect(at(-50)).resolves.toBe(0n)
  await expect(at(-90)).rejects.toThrow(UnavailableError)
})

test('the service accepts an old head only from a development node on this machine', async () => {
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const old = (url: string) =>
    readerOf([url], () => (timestamp + 86_400) * 1000).offchainRevocationTime(ZeroAddress, ZeroHash, 120)
  await expect(old(chain.url)).resolves.toBe(0n)
  const software = (name: unknown) =>
    startRpcProxy(chain.url, ({ method }) => (method === 'web3_clientVersion' ? { result: name } : undefined))
  for (const name of ['op-geth/v1.101605.0-stable', 'reth/v1.9.0', null]) {
    const proxy = await software(name)
    closing.push(() => proxy.close())
    await expect(old(proxy.url)).rejects.toThrow(UnavailableError)
  }
})

test('the service allows two concurrent batches per client', async () => {
  const { send, proxy } = await serve()
  const operations = [{ operation: 'distance', from: `0x${'7'.repeat(64)}`, to: POINT }]
  const batch = () => send('batch', { operations })
  expect((await batch()).statusCode).toBe(404)
  proxy.misbehave(faults.slow(300))
  const answers = await Promise.all([batch(), batch(), batch()])
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([404, 404, 429])
  expect(answers.find(({ statusCode }) => statusCode === 429)!.headers['retry-after']).toBe('5')
  expect((await batch()).statusCode).toBe(404)
})

test('an error names the part of the request that caused it, and keeps its retry time', () => {
  expect(new ComputeError('rate-limited', 'uri: not now', 6).within('operations[1]: ')).toMatchObject({
    slug: 'rate-limited',
    message: 'operations[1]: uri: not now',
    retryAfter: 6,
  })
})

describe('resign and verify', () => {
  const parts = ({ attestation, delegatedAttestation }: Record<string, unknown>) => ({
    attestation,
    delegatedAttestation,
  })
  test('sign an answer again until it is too old, while it can be submitted until its deadline', async () => {
    let now = 1_700_000_000_000
    const { post, distance } = await serve({ clock: () => now })
    const answer = (await distance()).json()
    now += 3_600_000
    const deadline = 1_700_003_600
    expect(await post('verify', parts(answer))).toMatchObject({ ours: true, submittable: true, deadline })
    const again = await post('resign', parts(answer))
    const { nonce } = answer.delegatedAttestation
    expect(again.delegatedAttestation).toMatchObject({ deadline: 1_700_007_200, nonce })
    expect([again.timestamp, again.attestation.data]).toEqual([answer.timestamp, answer.attestation.data])
    now += 1_000
    const late = { ours: true, submittable: false, reasons: [sentence()] }
    expect(await post('verify', parts(answer))).toMatchObject(late)
    expect(await post('verify', parts(again))).toMatchObject({ ours: true, submittable: true })
    // The age counts from the computation, not from the last signature.
    for (const each of [answer, again])
      expect(await post('resign', parts(each))).toMatchObject({ status: 400, detail: sentence() })
  })
  test('reject a signature that no contract accepts: high s, incorrect v, zeros, ones', async () => {
    const { post, distance } = await serve()
    const answer = (await distance()).json()
    const { signature } = answer.attestation as { signature: string }
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const high = (order - BigInt(`0x${s}`)).toString(16).padStart(64, '0')
    for (const each of [`${r}${high}${v}`, `${r}${s}00`, `${r}${s}01`, '0'.repeat(130), 'f'.repeat(130)]) {
      const forged = parts(answer) as any
      for (const place of ['attestation', 'delegatedAttestation'])
        forged[place] = { ...forged[place], signature: `0x${each}` }
      expect(await post('verify', forged)).toMatchObject({ ours: false, says: null, landed: null })
      expect(await post('resign', forged)).toMatchObject({ status: 401 })
    }
  })
  test('refuse an answer of another form, and state the expected form', async () => {
    const { post, distance } = await serve()
    const { attestation, delegatedAttestation } = (await distance()).json()
    const swapped = '0xA0Ee7A142d267C1f36714E4a8F75612F20a79721'
    const attested = (change: object) => ({ attestation: { ...attestation, ...change } })
    const delegated = (change: object) => ({ delegatedAttestation: { ...delegatedAttestation, ...change } })
    for (const [change, field] of [
      [{ attestation: undefined }, 'attestation'],
      [attested({ data: '0x12' }), 'attestation.data'],
      [attested({ recipient: swapped }), 'attestation.recipient'],
      [attested({ revocable: 'yes' }), 'attestation.revocable'],
      [delegated({ nonce: -1 }), 'delegatedAttestation.nonce'],
      [delegated({ deadline: '1' }), 'delegatedAttestation.deadline'],
      [{ results: [] }, 'results'],
      [{ surprise: 1 }, 'surprise'],
    ] as const)
      expect(await post('verify', { attestation, delegatedAttestation, ...change })).toMatchObject({
        ...{ status: 400, detail: sentence(field) },
      })
    const without = { attestation, ...delegated({ resignToken: undefined }) }
    const detail = sentence('delegatedAttestation.resignToken')
    expect(await post('resign', without)).toMatchObject({ status: 400, detail })
  })
  test('refuse a whole batch for one invalid answer, and name its operation in the error', async () => {
    const { post } = await serve()
    const good = { operation: 'distance', from: POINT, to: POINT }
    for (const [operations, detail] of [
      [undefined, sentence('operations')],
      [[], sentence('operations')],
      [Array(21).fill(good), sentence('operations')],
      [[good, null], sentence('operations[1]')],
      [[1], sentence('operations[0]')],
      [[good, { ...good, operation: 'toString' }], sentence('operations[1]: operation')],
      [[good, { ...good, chainId: 1 }], sentence('operations[1]: chainId')],
      [
        [good, { ...good, to: { type: 'Point', coordinates: [200, 0] } }],
        expect.stringContaining('operations[1]: to.coordinates'),
      ],
      [
        [good, { operation: 'area', geometry: POINT }],
        expect.stringContaining('operations[1]: geometry: area requires a Polygon'),
      ],
    ] as const)
      expect(await post('batch', { operations })).toMatchObject({ status: 400, detail })
    const recipient = '0x00000000219ab540356cBB839Cbe05303d7705Fa'
    expect(await post('batch', { recipient, operations: [{ ...good, recipient: null }] })).toMatchObject({
      status: 400,
      detail: sentence('operations[0]: recipient'),
    })
    expect(
      (
        await post('batch', { recipient, operations: [good, { ...good, recipient: POINT_OWNER }] })
      ).results.map(({ attestation }: { attestation: { recipient: string } }) => attestation.recipient),
    ).toEqual([recipient, POINT_OWNER])
    expect(await post('batch', { operations: [good, { ...good, to: `0x${'1'.repeat(64)}` }] })).toMatchObject(
      { status: 404, detail: sentence('operations[1]: to') },
    )
  })
})

describe('chains for which the service does not sign', () => {
  const lyingAbout = (selector: string, result: number) =>
    onCall(selector, () => ({ result: `0x${word(result)}` }))
  test.each<[string, Fault, unknown]>([
    ['another chain', ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined), sentence()],
    ['an unknown domain', lyingAbout('0xed24911d', 1), sentence()],
    ['an unknown layout', lyingAbout('0x12b11a17', 2), sentence()],
    ['another registry', lyingAbout('0xf10b5cc8', 3), /names the schema registry 0x0{39}3/],
    [
      'no contract at all',
      ({ method }) => (method === 'eth_call' ? { result: '0x' } : undefined),
      sentence(),
    ],
    [
      'a test account on a node that is not local',
      ({ method }) => (method === 'web3_clientVersion' ? { result: 'Geth/v1.14' } : undefined),
      sentence(),
    ],
  ])('include a chain whose endpoint has %s', async (_, fault, reason) => {
    const { distance, get } = await serve({ fault })
    const answer = await distance()
    expect(answer.json()).toMatchObject({ status: 400, detail: reason })
    expect((await get('/')).json().chains).toMatchObject([{ id: 84532, ready: false }])
  })
  test('include a chain with a replaced contract, until the contract is corrected', async () => {
    const { distance, state } = await serveBreakable(lyingAbout('0x12b11a17', 2))
    expect((await distance()).statusCode).toBe(200)
    state.broken = true
    expect((await distance()).statusCode).toBe(200)
    state.now += 601_000
    expect((await distance()).json()).toMatchObject({ status: 400, detail: sentence() })
    state.broken = false
    state.now += 61_000
    expect((await distance()).statusCode).toBe(200)
  })
  test.each<[string, Fault]>([
    ['is on another chain', ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined)],
    ['finds no contract', ({ method }) => (method === 'eth_call' ? { result: '0x' } : undefined)],
    ['returns another layout', lyingAbout('0x12b11a17', 2)],
    ['is lost', () => ({ status: 500 })],
  ])('are supported again soon after an RPC endpoint that %s has recovered', async (_, fault) => {
    for (const wasReady of [true, false]) {
      const { distance, state } = await serveBreakable(fault, !wasReady)
      if (wasReady) expect((await distance()).statusCode).toBe(200)
      state.broken = true
      state.now += 61_000
      expect((await distance()).statusCode).not.toBe(200)
      state.broken = false
      state.now += 6_000
      // After a response with another chain id, the id is read again one second later.
      await expect.poll(async () => (await distance()).statusCode).toBe(200)
    }
  })
  test('prevent the start with a key that does not belong to the published attester', async () => {
    const load = (attesterAddress: string) =>
      loadIdentity({
        signer: { kind: 'key', readKey: () => `0x${'11'.repeat(32)}` },
        ...{ attesterAddress, otherAttesters: [], readSealSecrets: undefined },
      })
    await expect(load('0x00000000219ab540356cbb839cbe05303d7705fa')).rejects.toThrow(SettingsError)
    expect((await load('0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a')).signer.address).toBe(
      '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
    )
  })
})

describe('the service, for nonces and rate limits,', () => {
  const nonceReads = (all: RpcCall[]) => all.filter(calls('0x2d0335ab')).length
  test('reads the nonce of a local chain for each answer, which concurrent answers share', async () => {
    const { distance, proxy } = await serve({ clock: () => 1_700_000_000_000 })
    for (let i = 1; i <= 3; i++) {
      await distance()
      expect(nonceReads(proxy.calls)).toBe(i)
    }
    await Promise.all(Array.from({ length: 50 }, () => distance()))
    expect(nonceReads(proxy.calls)).toBeLessThan(40)
    const { timestamp, delegatedAttestation } = (await distance()).json()
    expect([timestamp, delegatedAttestation.deadline]).toEqual([1_700_000_000, 1_700_003_600])
  })
  test('names the list of endpoints, and the ending of tiles, for an unknown path', async () => {
    const { app } = await serve()
    const refused = async (url: string) => (await app.inject(url)).json<{ detail: string }>().detail
    expect([await refused('/nowhere'), await refused('/tiles/location-records/1/0/0.pbf')]).toEqual([
      sentence('', '/nowhere'),
      sentence('', '/tiles/location-records/1/0/0.pbf'),
    ])
  })
  test('returns 429 in the form of the API, and counts unknown paths, but not /health and /', async () => {
    const { distance, get } = await serve({ perHour: 2, elapsed: () => 0 })
    expect((await get('/compute/v0/unknown')).statusCode).toBe(404)
    expect((await distance()).statusCode).toBe(200)
    const refused = await distance()
    expect([refused.statusCode, refused.headers['content-type']]).toEqual([429, PROBLEM])
    expect(refused.json()).toEqual({
      ...{ type: 'https://x.example/errors/rate-limited', title: 'Too Many Requests', status: 429 },
      ...{ detail: sentence(), instance: '/compute/v0/distance' },
    })
    expect((await get('/api/v0/unknown')).statusCode).toBe(404)
    expect((await get('/api/v0/config')).statusCode).toBe(200)
    const records = await get('/api/v0/config')
    expect([records.statusCode, Number(records.headers['retry-after'])]).toEqual([429, 3600])
    expect(records.json()).toEqual({ status: 'error', message: 'Rate limit exceeded', detail: sentence() })
    for (let i = 0; i < 5; i++)
      expect([(await get('/health')).statusCode, (await get('/')).statusCode]).toEqual([200, 200])
  })
})

const hasPages = existsSync('dist/web/index.html')
test.skipIf(!hasPages)('pages link to existing addresses, with or without a trailing slash', async () => {
  const manual = readManual('docs')
  const graphql = {} as GraphqlBackend
  const { app, close } = await buildTestServer({ databaseUrl: database.url, manual, graphql })
  closing.push(close)
  const visit = async (url: string) => {
    const { statusCode, headers, body } = await app.inject({ url, headers: { accept: 'text/html' } })
    return { statusCode, location: headers.location, body }
  }
  const broken = new Set<string>()
  const visited = new Set<string>()
  const follow = async (link: string, page: string): Promise<void> => {
    const { origin, pathname, search } = new URL(link.replaceAll('&amp;', '&'), `https://x.example${page}`)
    const url = pathname + search
    if (origin !== 'https://x.example' || visited.has(url)) return
    visited.add(url)
    const { statusCode, location } = await visit(url)
    if (statusCode === 404) broken.add(`${link} on ${page}`)
    if (location !== undefined) await follow(location, url)
  }
  const addresses = [
    ...['/playground', '/attest', '/log', '/docs', '/docs/distance', '/docs?q=record', '/manual?q=radius'],
    ...['/manual', '/guide', '/guide/cli', '/errors/rate-limited', '/ogc', '/graphql'],
    ...[`/r/84532/${ZeroHash}`, `/r/base-sepolia/${ZeroHash}`],
    ...manual.map(({ address }) => address.replace('.md', '')),
  ]
  for (const address of addresses)
    for (const page of [address, address.replace(/(?=\?|$)/, '/')]) {
      const { statusCode, location, body } = await visit(page)
      expect([page, statusCode]).toEqual([page, location ? 308 : page.startsWith('/r/') ? 404 : 200])
      const links = [...body.matchAll(/\b(?:href|src|action)="([^"#]+)/g)].map(([, link]) => link!)
      for (const link of location ? [location] : links) await follow(link, page)
    }
  broken.delete(`../../r/base-sepolia/${ZeroHash} on /r/84532/${ZeroHash}`)
  expect([...broken]).toEqual([])
})

testSentences()
