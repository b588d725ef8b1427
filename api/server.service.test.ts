import { existsSync } from 'node:fs'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ZeroAddress, ZeroHash } from 'ethers'
import { LOCAL_CHAIN, attest, locationRequest, type LocalChain } from '../dev/chain'
import { startTestChain } from '../test/chains'
import { freePort } from '../dev/services'
import { SettingsError } from '../src/config'
import type { GraphqlBackend } from './graphql'
import { UnavailableError } from './http/problems'
import { buildTestServer } from '../test/api'
import { createMigratedDatabase, type TestDatabase } from '../test/database'
import { faults, startRpcProxy, type Fault, type RpcCall } from '../test/rpc-proxy'
import { readManual } from './service/manual'
import { loadIdentity } from './compute/signers'
import { ChainReader } from './contracts'
import { Measurer } from './compute/measure'
import { ComputeError } from './http/problems'
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
  return {
    app,
    proxy,
    get: (url: string) => app.inject({ url }),
    post: async (operation: string, body: object) =>
      (
        await app.inject({
          method: 'POST',
          url: `/compute/v0/${operation}`,
          payload: { chainId: LOCAL_CHAIN.id, ...body },
        })
      ).json(),
    distance: (from: unknown = POINT, remoteAddress = '127.0.0.1') =>
      app.inject({
        method: 'POST',
        url: '/compute/v0/distance',
        remoteAddress,
        payload: { chainId: LOCAL_CHAIN.id, from, to: POINT },
      }),
  }
}

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
  test('returns computation-error while the RPC endpoint is lost, until the endpoint recovers', async () => {
    let broken = false
    const { distance } = await serve({
      fault: () => (broken ? { error: { code: -32000, message: 'secret upstream words' } } : undefined),
    })
    expect((await distance()).statusCode).toBe(200)
    broken = true
    const answer = await distance()
    expect([answer.statusCode, answer.headers['retry-after'], answer.headers['content-type']]).toEqual([
      500,
      '5',
      'application/problem+json; charset=utf-8',
    ])
    expect(answer.json().detail).toEqual(sentence())
    broken = false
    expect((await distance()).statusCode).toBe(200)
  })
  test('retries an RPC endpoint that is unavailable at the start', async () => {
    let broken = true
    let now = 1_700_000_000_000
    const { distance } = await serve({
      elapsed: () => now,
      fault: () => (broken ? { error: { code: -32000, message: 'no' } } : undefined),
    })
    const answer = await distance()
    expect(answer.json()).toMatchObject({
      status: 500,
      detail: sentence(),
    })
    expect(answer.headers['retry-after']).toBe('5')
    broken = false
    now += 6_000
    expect((await distance()).statusCode).toBe(200)
  })
  test('reports a lost RPC endpoint in GET /, and answers the first request after the recovery', async () => {
    let broken = false
    let now = 1_700_000_000_000
    const { distance, get } = await serve({
      elapsed: () => now,
      fault: () => (broken ? { error: { code: -32000, message: 'no' } } : undefined),
    })
    const told = async () => (await get('/?format=json')).json().chains[0]
    const before = await told()
    expect(before).toMatchObject({ ready: true, domain: { name: 'EAS' } })
    broken = true
    now += 61_000
    expect((await distance()).statusCode).toBe(500)
    // An answer that is already signed can still be submitted.
    expect(await told()).toEqual({ ...before, ready: false, reason: sentence() })
    broken = false
    expect((await distance()).statusCode).toBe(200)
    now += 6_000
    expect(await told()).toEqual(before)
  })
  test('rejects a response that contains another attestation than the requested attestation', async () => {
    const word = (value: string) => value.padStart(64, '0')
    const forged = `0x${word('20')}${'1'.repeat(64)}${'ba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2'}${word('1').repeat(2)}${word('0').repeat(4)}${word('1')}${word('140')}${word('0')}`
    const { distance } = await serve({
      fault: ({ method, params }: RpcCall) =>
        method === 'eth_call' && params[0].data.startsWith('0xa3112a64') ? { result: forged } : undefined,
    })
    expect((await distance(`0x${'1'.repeat(64)}`)).json()).toMatchObject({
      status: 500,
      detail: sentence(),
    })
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
      detail: sentence('', uid, expirationTime),
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
    const isBody = ({ method, params }: RpcCall) =>
      method === 'eth_call' && params[0].data.startsWith('0xa3112a64')
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
    const word = (value: string) => value.padStart(64, '0')
    const text = Buffer.from(
      'uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation',
    )
    const schema = `0x${'99'.repeat(32)}`
    const record = `0x${word('20')}${'99'.repeat(32)}${word('0')}${word('1')}${word('80')}${word(text.length.toString(16))}${text.toString('hex').padEnd(192, '0')}`
    const { post } = await serve({
      fault: ({ method, params }: RpcCall) =>
        method === 'eth_call' && params[0].data.startsWith('0xa2ea7c6e') && params[0].data.endsWith('99')
          ? { result: record }
          : undefined,
    })
    expect(await post('distance', { from: POINT, to: POINT, schema })).toMatchObject({
      status: 500,
      detail: sentence(),
    })
    const wrong = await serve({ fault: faults.wrongIds })
    expect((await wrong.distance()).json()).toMatchObject({
      status: 500,
      detail: sentence(),
    })
  })
})

class Remote extends ChainReader {
  override isLocal() {
    return Promise.resolve(false)
  }
}

test('the service reads concurrent attestations in one request, except refused attestations', async () => {
  const uids = await Promise.all(
    [1, 2, 3].map((at) => attest(chain, locationRequest({ type: 'Point', coordinates: [at, at] }))),
  )
  const proxy = await startRpcProxy(chain.url)
  closing.push(() => proxy.close())
  const reader = new ChainReader(
    { chain: LOCAL_CHAIN, rpcUrls: [proxy.url], gatewayUrl: undefined, headPollMs: 0 },
    () => Date.now(),
  )
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
  proxy.misbehave(() => ({
    mangle: (answer: unknown) =>
      Array.isArray(answer)
        ? answer.with(2, { ...answer[2], error: { code: -32000, message: 'response too large' } })
        : answer,
  }))
  const oneByOne = 1 + 1 + 4
  expect(await read()).toBe(oneByOne)
  // The response has one error for the whole batch.
  proxy.misbehave(() => ({
    mangle: (answer: unknown) =>
      Array.isArray(answer)
        ? { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are not supported' } }
        : answer,
  }))
  expect(await read()).toBe(oneByOne)
  // A temporary refusal does not lead to more requests.
  proxy.misbehave(() => ({ status: 429 }))
  const { requests } = proxy
  await expect(reader.attestation(uids[0]!)).rejects.toThrow(UnavailableError)
  expect(proxy.requests - requests).toBe(1)
  // Without batches, the state is read at the block whose age is checked.
  proxy.misbehave()
  const single = new ChainReader(
    { chain: LOCAL_CHAIN, rpcUrls: [proxy.url], gatewayUrl: undefined, headPollMs: 0 },
    () => Date.now(),
    1,
  )
  expect((await single.attestation(uids[0]!))?.uid).toBe(uids[0])
  const block = await chain.provider.send('eth_blockNumber', [])
  expect(proxy.calls.at(-1)).toMatchObject({ method: 'eth_call', params: [{}, block] })
})

test('the service reads no attestation from an RPC endpoint that lags, even if another is fresh', async () => {
  const uid = await attest(chain, locationRequest({ type: 'Point', coordinates: [7, 8] }))
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const isBody = ({ method, params }: RpcCall) =>
    method === 'eth_call' && params[0].data.startsWith('0xa3112a64')
  const failing = await startRpcProxy(chain.url, (call) => (isBody(call) ? { status: 500 } : undefined))
  const lagging = await startRpcProxy(chain.url, ({ method, params }) =>
    method === 'eth_getBlockByNumber'
      ? {
          ask: async (ask) => ({
            ...(await ask(method, params)),
            timestamp: `0x${(timestamp - 600).toString(16)}`,
          }),
        }
      : undefined,
  )
  closing.push(
    () => failing.close(),
    () => lagging.close(),
  )
  const reader = (rpcUrls: string[]) =>
    new Remote({ chain: LOCAL_CHAIN, rpcUrls, gatewayUrl: undefined, headPollMs: 0 }, () => timestamp * 1000)
  await expect(reader([failing.url, lagging.url]).attestation(uid, 120)).rejects.toThrow(UnavailableError)
  expect((await reader([failing.url, chain.url]).attestation(uid, 120))?.uid).toBe(uid)
})

test('the service rejects an RPC endpoint whose head is old, or in the future', async () => {
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const at = (seconds: number) =>
    new Remote(
      { chain: LOCAL_CHAIN, rpcUrls: [chain.url], gatewayUrl: undefined, headPollMs: 0 },
      () => (timestamp + seconds) * 1000,
    ).offchainRevocationTime(ZeroAddress, ZeroHash, 120)
  await expect(at(119)).resolves.toBe(0n)
  await expect(at(130)).rejects.toThrow(sentence())
  await expect(at(-50)).resolves.toBe(0n)
  await expect(at(-90)).rejects.toThrow(UnavailableError)
})

test('the service accepts an old head only from a development node on this machine', async () => {
  const { timestamp } = (await chain.provider.getBlock('latest'))!
  const old = (url: string) =>
    new ChainReader(
      { chain: LOCAL_CHAIN, rpcUrls: [url], gatewayUrl: undefined, headPollMs: 0 },
      () => (timestamp + 86_400) * 1000,
    ).offchainRevocationTime(ZeroAddress, ZeroHash, 120)
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
  const { app, proxy } = await serve()
  const batch = () =>
    app.inject({
      method: 'POST',
      url: '/compute/v0/batch',
      payload: {
        chainId: LOCAL_CHAIN.id,
        operations: [{ operation: 'distance', from: `0x${'7'.repeat(64)}`, to: POINT }],
      },
    })
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
    expect(await post('verify', parts(answer))).toMatchObject({
      ours: true,
      submittable: true,
      deadline: 1_700_003_600,
    })
    const again = await post('resign', parts(answer))
    expect(again.delegatedAttestation).toMatchObject({
      deadline: 1_700_007_200,
      nonce: answer.delegatedAttestation.nonce,
    })
    expect([again.timestamp, again.attestation.data]).toEqual([answer.timestamp, answer.attestation.data])
    now += 1_000
    expect(await post('verify', parts(answer))).toMatchObject({
      ours: true,
      submittable: false,
      reasons: [sentence()],
    })
    expect(await post('verify', parts(again))).toMatchObject({ ours: true, submittable: true })
    // The age counts from the computation, not from the last signature.
    for (const each of [answer, again])
      expect(await post('resign', parts(each))).toMatchObject({
        status: 400,
        detail: sentence(),
      })
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
    const answers = (change: object) => post('verify', { attestation, delegatedAttestation, ...change })
    for (const [change, detail] of [
      [{ attestation: undefined }, sentence('attestation')],
      [{ attestation: { ...attestation, data: '0x12' } }, sentence('attestation.data')],
      [
        { attestation: { ...attestation, recipient: '0xA0Ee7A142d267C1f36714E4a8F75612F20a79721' } },
        sentence('attestation.recipient'),
      ],
      [{ attestation: { ...attestation, revocable: 'yes' } }, sentence('attestation.revocable')],
      [
        { delegatedAttestation: { ...delegatedAttestation, nonce: -1 } },
        sentence('delegatedAttestation.nonce'),
      ],
      [
        { delegatedAttestation: { ...delegatedAttestation, deadline: '1' } },
        sentence('delegatedAttestation.deadline'),
      ],
      [{ results: [] }, sentence('results')],
      [{ surprise: 1 }, sentence('surprise')],
    ] as const)
      expect(await answers(change)).toMatchObject({ status: 400, detail })
    const { resignToken, ...without } = delegatedAttestation
    expect(await post('resign', { attestation, delegatedAttestation: without })).toMatchObject({
      status: 400,
      detail: sentence('delegatedAttestation.resignToken'),
    })
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
  const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
  const selector = (data: string) => data.slice(0, 10)
  const lyingAbout =
    (wanted: string, result: string): Fault =>
    ({ method, params }) =>
      method === 'eth_call' && selector(params[0].data) === wanted ? { result } : undefined
  test.each<[string, Fault, unknown]>([
    ['another chain', ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined), sentence()],
    ['an unknown domain', lyingAbout('0xed24911d', word(1)), sentence()],
    ['an unknown layout', lyingAbout('0x12b11a17', word(2)), sentence()],
    [
      'another registry',
      lyingAbout('0xf10b5cc8', word(3)),
      /names the schema registry 0x0000000000000000000000000000000000000003/,
    ],
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
    let now = 1_700_000_000_000
    let exchanged = false
    const { distance } = await serve({
      elapsed: () => now,
      fault: (call) => (exchanged ? lyingAbout('0x12b11a17', word(2))(call) : undefined),
    })
    expect((await distance()).statusCode).toBe(200)
    exchanged = true
    expect((await distance()).statusCode).toBe(200)
    now += 601_000
    expect((await distance()).json()).toMatchObject({
      status: 400,
      detail: sentence(),
    })
    exchanged = false
    now += 61_000
    expect((await distance()).statusCode).toBe(200)
  })
  test.each<[string, Fault]>([
    ['is on another chain', ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined)],
    ['finds no contract', ({ method }) => (method === 'eth_call' ? { result: '0x' } : undefined)],
    ['returns another layout', lyingAbout('0x12b11a17', word(2))],
    ['is lost', () => ({ status: 500 })],
  ])('are supported again soon after an RPC endpoint that %s has recovered', async (_, fault) => {
    let now = 1_700_000_000_000
    for (const wasReady of [true, false]) {
      let broken = !wasReady
      const { distance } = await serve({
        elapsed: () => now,
        fault: (call) => (broken ? fault(call) : undefined),
      })
      if (wasReady) expect((await distance()).statusCode).toBe(200)
      broken = true
      now += 61_000
      expect((await distance()).statusCode).not.toBe(200)
      broken = false
      now += 6_000
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
  const nonceReads = (calls: RpcCall[]) =>
    calls.filter(({ method, params }) => method === 'eth_call' && params[0].data.startsWith('0x2d0335ab'))
      .length
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
  test('returns 429 in the form of the API, and counts unknown paths, but not /health and /', async () => {
    const { distance, get } = await serve({ perHour: 2, elapsed: () => 0 })
    expect((await get('/compute/v0/unknown')).statusCode).toBe(404)
    expect((await distance()).statusCode).toBe(200)
    const refused = await distance()
    expect([refused.statusCode, refused.headers['content-type']]).toEqual([
      429,
      'application/problem+json; charset=utf-8',
    ])
    expect(refused.json()).toEqual({
      type: 'https://x.example/errors/rate-limited',
      title: 'Too Many Requests',
      status: 429,
      detail: sentence(),
      instance: '/compute/v0/distance',
    })
    expect((await get('/api/v0/unknown')).statusCode).toBe(404)
    expect((await get('/api/v0/config')).statusCode).toBe(200)
    const records = await get('/api/v0/config')
    expect([records.statusCode, Number(records.headers['retry-after'])]).toEqual([429, 3600])
    expect(records.json()).toEqual({
      status: 'error',
      message: 'Rate limit exceeded',
      detail: sentence(),
    })
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
