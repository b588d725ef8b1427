import { writeFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { Contract, TypedDataEncoder, Wallet, concat, dataSlice, toBeHex } from 'ethers'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createGeo, type QuorumAnswer, type QuorumError } from '@geospatial-attestation/client'
import { createMcpServer } from '@geospatial-attestation/mcp'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  bringToPresent,
  attest,
  deployQuorum,
  LOCAL_CHAIN,
  locationRequest,
  mined,
  revoke,
  testAccount,
} from '../dev/chain'
import { QUORUM_ABI, quorumDigest, quorumDomain } from '../src/eas'
import { OPERATIONS, type OperationName } from '../src/operations'
import { run } from '../packages/cli/src/run'
import { exchange, postJson, startApi, type TestApi } from './api'
import { INCLUSION_SECONDS, encodeEntry, leafHash, parseSignerKey, toHex } from '../src/tlog'
import { rows, temporaryFolder } from './database'
import { serve } from './http-server'
import { signContent } from './operators'
import { startTestWorld, type TestWorld } from './world'
import { positions } from './positions'

/**
 * Tests five operators with their own keys, which read one database and one chain. They sign the same bytes,
 * and the real GeoQuorum contract attests the answer that three of them signed through the real EAS.
 */
const KEYS = [1, 2, 3, 4, 5].map((i) => `0x${`${i}`.repeat(64)}`)
const operatorsByAddress = KEYS.map((key) => new Wallet(key)).sort((a, b) =>
  a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
)
const OTHER = privateKeyToAccount(testAccount(8).privateKey as `0x${string}`)
const THRESHOLD = 3
const POINT = { type: 'Point', coordinates: [2.2945, 48.8584] }
const POLYGON = { type: 'Polygon', coordinates: [positions('2 48, 3 48, 3 49, 2 49, 2 48')] }
const LINE = { type: 'LineString', coordinates: positions('2 48, 3 49') }
/** Arguments of each operation, in which the place is an attestation. */
const questions = (place: string): Record<OperationName, object> => ({
  distance: { from: place, to: POINT },
  contains: { container: POLYGON, geometry: place },
  within: { geometry: place, target: POINT, radius: 500 },
  intersects: { geometry1: place, geometry2: POLYGON },
  area: { geometry: POLYGON },
  length: { geometry: LINE },
})

let world: TestWorld
let quorum: Contract
let operators: TestApi[]
let place: string
beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  await bringToPresent(chain)
  const address = await deployQuorum(chain, {
    operators: operatorsByAddress.map((each) => each.address),
    threshold: THRESHOLD,
  })
  quorum = new Contract(address, QUORUM_ABI, await chain.provider.getSigner(9))
  place = await attest(chain, locationRequest(POINT as never))
  await world.caughtUp()
  operators = await Promise.all(operatorsByAddress.map(({ privateKey }) => operatorWith(privateKey)))
})
afterAll(() => Promise.all((operators ?? []).map((each) => each.close())))

function operatorWith(key: string, options: Parameters<typeof startApi>[0] = {}): Promise<TestApi> {
  return startApi({
    ...{ databaseUrl: world.databaseUrl, rpcUrl: world.chain.url, key },
    ...{ quorum: quorum.target as string },
    ...options,
  })
}

const terms = () => {
  const now = Math.floor(Date.now() / 1000)
  return { timestamp: now, deadline: now + 600, expirationTime: 0, epoch: 1 }
}
async function sign({ url }: TestApi, body: object): Promise<{ status: number; body: any }> {
  const response = await postJson(`${url}/quorum/v0/sign`, { chainId: LOCAL_CHAIN.id, ...body })
  return { status: response.status, body: await response.json() }
}

test.each(Object.keys(OPERATIONS) as OperationName[])('%s lands with three signatures', async (operation) => {
  const request = {
    operation,
    ...questions(place)[operation],
    ...terms(),
    recipient: Wallet.createRandom().address,
  }
  const signed = await Promise.all(operators.map((operator) => sign(operator, request)))
  expect(signed.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const [first] = signed.map(({ body }) => body)
  for (const [i, { body }] of signed.entries()) {
    const { operator, index, signature, ...common } = body
    expect(common).toEqual((({ operator: _, index: __, signature: ___, ...rest }) => rest)(first))
    expect([operator, index]).toEqual([operatorsByAddress[i]!.address, i])
  }
  expect(await quorum.getFunction('digestOf').staticCall(first.answer)).toBe(first.digest)
  const chosen = [0, 2, 4]
  const signatures = concat(chosen.map((i) => signed[i]!.body.signature))
  const bitmap = chosen.reduce((bits, i) => bits | (1 << i), 0)
  const sent = await quorum.getFunction('land').send(first.answer, bitmap, signatures)
  const { logs } = await mined(world.chain, sent.hash)
  const uid = logs.find(({ address }) => address.toLowerCase() === LOCAL_CHAIN.eas)!.data
  const attestation = await (await world.chain.eas()).getFunction('getAttestation').staticCall(uid)
  expect(attestation.toObject()).toMatchObject({
    ...{ attester: quorum.target, recipient: request.recipient, data: first.answer.data },
    schema: first.answer.schema,
  })
})

test('an operator records its signature in its log', async () => {
  const [state] = await rows<{ key: string }>(world.databaseUrl, 'SELECT key FROM log_state')
  const logKey = await parseSignerKey(state!.key)
  const { privateKey, address } = operatorsByAddress[0]!
  const operator = await operatorWith(privateKey, { logKey })
  try {
    const { body } = await sign(operator, { operation: 'area', ...questions(place).area, ...terms() })
    const { epoch: nonce, ...answer } = body.answer
    const domain = {
      ...{ name: 'GeoQuorum', version: '1', chainId: LOCAL_CHAIN.id },
      verifyingContract: quorum.target as string,
    }
    const entry = encodeEntry({
      ...{ kind: 'quorum', time: body.log.by - INCLUSION_SECONDS, chainId: LOCAL_CHAIN.id, layout: 'quorum' },
      ...{
        attester: address.toLowerCase(),
        separator: TypedDataEncoder.hashDomain(domain),
        ...answer,
        nonce,
      },
      ...{ recipient: answer.recipient.toLowerCase(), signature: body.signature },
    })
    expect([body.log.origin, body.log.leaf]).toEqual([logKey.name, toHex(leafHash(entry))])
    const { log, operator: account, index, signature, ...signed } = body
    const one = {
      ...{ ...signed, chainId: LOCAL_CHAIN.id, dissent: [] },
      ...{ signers: toBeHex(1n << BigInt(index)), signatures: signature },
      operators: [{ url: operator.url, index, operator: account, log }],
    } as QuorumAnswer
    const logged = async () => (await createGeo(operator.url).logged(one))[0]!.log?.state
    await expect.poll(logged).toBe('included')
    expect((await createGeo(operator.url).verifyQuorum(one)).problems).toEqual([
      expect.stringContaining('requires 3'),
    ])
  } finally {
    await operator.close()
  }
})

test('the contract lists its quorums and their epochs', async () => {
  const response = await fetch(`${operators[0]!.url}/quorum/v0`)
  const [validFrom, validUntil] = [expect.any(Number) as number, expect.any(Number) as number]
  const accounts = operatorsByAddress.map(({ address }) => address.toLowerCase())
  expect(await response.json()).toEqual([
    {
      ...{ chainId: LOCAL_CHAIN.id, chain: LOCAL_CHAIN.slug, quorum: quorum.target },
      operator: operatorsByAddress[0]!.address,
      epochs: [{ epoch: 1, validFrom, validUntil, threshold: THRESHOLD, operators: accounts }],
    },
  ])
})

describe('an operator refuses', () => {
  const question = () => ({ operation: 'distance', from: place, to: POINT, ...terms() })
  const refusalOf = async (body: object, operator = operators[0]!) => {
    const { status, body: problem } = await sign(operator, body)
    expect(status).not.toBe(200)
    expect(problem.signature).toBeUndefined()
    return problem.refusal as string
  }

  test('a revoked and an unknown input', async () => {
    const revoked = await attest(world.chain, locationRequest(POINT as never))
    await revoke(world.chain, revoked)
    // The index may have read the attestation just before it was revoked.
    await world.caughtUp()
    expect(await refusalOf({ ...question(), from: revoked })).toBe('revoked')
    expect(await refusalOf({ ...question(), from: `0x${'1'.repeat(64)}` })).toBe('unknown-input')
  })
  test('an input that has expired, or expires before the timestamp of the answer', async () => {
    const expirationTime = Math.floor(Date.now() / 1000) + 3_600
    const expiring = await attest(world.chain, locationRequest(POINT as never, { expirationTime }))
    await world.caughtUp()
    let now = expirationTime - 50
    const operator = await operatorWith(KEYS[0]!, { clock: () => now * 1000 })
    const at = (timestamp: number) => ({
      ...question(),
      from: expiring,
      timestamp,
      deadline: timestamp + 600,
    })
    try {
      expect(await refusalOf(at(expirationTime), operator)).toBe('expired')
      expect(await sign(operator, at(expirationTime - 1))).toMatchObject({ status: 200 })
      now = expirationTime
      expect(await refusalOf(at(expirationTime - 1), operator)).toBe('expired')
    } finally {
      await operator.close()
    }
  })
  test.each([
    ['a timestamp that is too early', { timestamp: -61 }],
    ['a timestamp that is too late', { timestamp: 62 }],
    ['a deadline that has passed', { deadline: -1 }],
    ['a deadline that is too far away', { deadline: 3_600 + 62 }],
  ])('a request with %s', async (_, offsets) => {
    const now = Math.floor(Date.now() / 1000)
    const changed = Object.fromEntries(Object.entries(offsets).map(([key, offset]) => [key, now + offset]))
    expect(await refusalOf({ ...question(), ...changed })).toBe('skew')
  })
  test('a request for an unknown epoch, or for one to which it does not belong', async () => {
    expect(await refusalOf({ ...question(), epoch: 2 })).toBe('wrong-epoch')
    const outsider = await operatorWith(`0x${'9'.repeat(64)}`)
    try {
      expect(await refusalOf(question(), outsider)).toBe('wrong-epoch')
    } finally {
      await outsider.close()
    }
  })
  test('every request after its removal, which the client reports', async () => {
    const keys = operatorsByAddress.slice(0, 2)
    const address = await deployQuorum(world.chain, {
      ...{ operators: keys.map((each) => each.address), threshold: 2, owner: OTHER.address },
    })
    const start = () =>
      Promise.all(keys.map(({ privateKey }) => operatorWith(privateKey, { quorum: address })))
    const before = await start()
    const urls = before.map(({ url }) => url)
    let running = before
    const routed: typeof fetch = (input, init) => {
      const request = input as Request
      const { url } = running[urls.findIndex((each) => request.url.startsWith(each))]!
      return fetch(new Request(url + new URL(request.url).pathname, request), init)
    }
    const geo = createGeo({ url: world.url, chain: LOCAL_CHAIN.id, fetch: routed })
    const asked = await geo.quorum({ operators: urls, k: 2 })
    const answer = await asked.area(POLYGON)

    const owner = await world.chain.provider.getSigner(OTHER.address)
    const { hash } = await new Contract(address, QUORUM_ABI, owner).getFunction('remove').send(1, 1)
    await mined(world.chain, hash)
    // Restarted operators have no cached epochs.
    running = await start()
    try {
      expect(await refusalOf(question(), running[1])).toBe('wrong-epoch')
      expect((await sign(running[0]!, question())).status).toBe(200)
      // The client first uses the operator set that it has read before the removal.
      await expect(asked.area(POLYGON)).rejects.toMatchObject({
        ...{ name: 'QuorumError', retryable: false },
        dissent: [{ url: urls[1], reason: 'wrong-epoch' }],
      })
      const land = new Contract(address, QUORUM_ABI, owner).getFunction('land')
      await expect(land.staticCall(answer.answer, answer.signers, answer.signatures)).rejects.toMatchObject({
        revert: { name: 'WrongSignature' },
      })
    } finally {
      await Promise.all([...before, ...running].map((each) => each.close()))
    }
  })
  test.each([
    ['an unknown operation', { operation: 'volume' }],
    ['an unknown field', { nonce: 1 }],
    ['an expiration before the deadline', { expirationTime: 5 }],
    ['a chain without a quorum', { chainId: 1 }],
    ['an epoch that is not a number', { epoch: '1' }],
    ['an input that is not a geometry', { to: { type: 'Point', coordinates: [200, 0] } }],
  ])('a request that has %s', async (_, changed) => {
    expect(await refusalOf({ ...question(), ...changed })).toBe('invalid-input')
  })
  test('more requests than its limit allows', async () => {
    const limited = await operatorWith(KEYS[0]!, { rateLimitPerHour: 1 })
    try {
      expect((await sign(limited, question())).status).toBe(200)
      expect(await refusalOf(question(), limited)).toBe('busy')
    } finally {
      await limited.close()
    }
  })
  test('a request whose body arrives too slowly, and asks the client to send it again', async () => {
    const hasty = await operatorWith(KEYS[0]!, { timeouts: { request: 200, answer: 30_000 } })
    try {
      const head = 'POST /quorum/v0/sign HTTP/1.1\r\nhost: x\r\ncontent-type: application/json'
      const response = await exchange(hasty.url, `${head}\r\ncontent-length: 100\r\n\r\n{`)
      expect(JSON.parse(response.split('\r\n\r\n')[1]!)).toMatchObject({ refusal: 'busy' })
    } finally {
      await hasty.close()
    }
  })
  test('every request while its RPC endpoint does not respond', async () => {
    const cut = await operatorWith(KEYS[0]!, { rpcUrl: 'http://127.0.0.1:1' })
    try {
      expect(await refusalOf(question(), cut)).toBe('not-indexed-yet')
    } finally {
      await cut.close()
    }
  })
})

describe('the coordinator of a quorum', () => {
  let proxies: { url: string; lie: (lie: Lie | undefined) => void }[]
  beforeAll(async () => {
    proxies = await Promise.all(operators.map(({ url }, i) => liar(url, operatorsByAddress[i]!)))
  })
  afterEach(() => {
    for (const { lie } of proxies) lie(undefined)
  })
  const geoHere = () => createGeo({ url: world.url, chain: LOCAL_CHAIN.id })
  const quorumOf = (options: object = {}) =>
    geoHere().quorum({
      operators: proxies.map(({ url }) => url),
      k: 3,
      timeout: 5_000,
      ...options,
    })

  test('lands an answer of three of five', async () => {
    const asked = await quorumOf()
    const recipient = Wallet.createRandom().address
    const answer = await asked.within(place, [2.2945, 48.8584], 10, { recipient })
    expect(answer).toMatchObject({ result: true, operation: 'within:1000', quorum: quorum.target })
    const landed = await asked.land(answer, new Wallet(testAccount(9).privateKey, world.chain.provider))
    expect(landed).toMatchObject({
      says: { result: true },
      attestation: { attester: quorum.target, recipient },
    })
    const again = [
      await asked.land(answer, new Wallet(testAccount(9).privateKey, world.chain.provider)),
      await geoHere().land(answer, createWalletClient({ account: OTHER, transport: http(world.chain.url) })),
    ]
    for (const each of again)
      expect(each).toEqual({ ...landed, already: true, attestation: landed.attestation })
    await expect(
      asked.land(
        { ...answer, answer: { ...answer.answer, recipient: Wallet.createRandom().address } },
        new Wallet(testAccount(9).privateKey, world.chain.provider),
      ),
    ).rejects.toMatchObject({ name: 'AlteredAnswerError' })
  })

  test.each((Object.keys(LIES) as (keyof typeof LIES)[]).map((kind, n) => [kind, n] as const))(
    'answers although two of five %s, and omits the signatures of these two',
    async (kind, n) => {
      const pair = [n % 5, (n + 1 + (n % 3)) % 5]
      for (const i of pair) proxies[i]!.lie(LIES[kind])
      const asked = await quorumOf()
      const answer = await asked.distance(place, [2.3, 48.8584])
      expect(answer.result).toBeGreaterThan(0)
      for (const i of pair) expect(BigInt(answer.signers) & (1n << BigInt(i))).toBe(0n)
      const signers = await quorum
        .getFunction('land')
        .staticCall(answer.answer, answer.signers, answer.signatures)
      expect(signers).toMatch(/^0x[0-9a-f]{64}$/)
    },
  )

  test.each(['are killed', 'sign another result', 'return no signature', 'name another contract'] as const)(
    'returns no answer if three of five operators %s',
    async (kind) => {
      for (const i of [0, 2, 4]) proxies[i]!.lie(LIES[kind])
      const asked = await quorumOf()
      await expect(asked.distance(place, [2.3, 48.8584])).rejects.toMatchObject({ name: 'QuorumError' })
    },
  )

  test('answers and lands although the service of the client is unavailable', async () => {
    const away = createGeo({ url: 'http://127.0.0.1:1', chain: LOCAL_CHAIN.id, retries: 0 })
    const asked = await away.quorum({ operators: proxies.map(({ url }) => url), k: 3 })
    const answer = await asked.area(POLYGON)
    const landed = await asked.land(answer, new Wallet(testAccount(9).privateKey, world.chain.provider))
    expect(landed.attestation.attester).toBe(quorum.target)
  })

  test('repeats a request to an operator that cannot read the contract yet', async () => {
    for (const { lie } of proxies.slice(0, 3)) {
      let isFirst = true
      lie((body) => {
        if (!Array.isArray(body) || !isFirst) return body
        isFirst = false
        return body.map((each) => ({ ...each, epochs: [] }))
      })
    }
    const asked = await quorumOf()
    expect(await asked.area(POLYGON)).toMatchObject({ quorum: quorum.target })
  })

  test('reads the operator set once, and again after operators refuse it', async () => {
    let [reads, refusals] = [0, 0]
    const counting: typeof fetch = async (input, init) => {
      const { method, url } = input as Request
      if (url.endsWith('/quorum/v0')) reads++
      if (method !== 'POST' || refusals-- <= 0) return fetch(input, init)
      const problem = { type: 'invalid-input', title: 'x', status: 400, detail: 'x', refusal: 'wrong-epoch' }
      const headers = { 'content-type': 'application/problem+json' }
      return new Response(JSON.stringify(problem), { status: 400, headers })
    }
    const asked = await createGeo({ url: world.url, chain: LOCAL_CHAIN.id, fetch: counting }).quorum({
      ...{ operators: proxies.map(({ url }) => url), k: 3 },
    })
    refusals = 5
    await expect(asked.area(POLYGON)).rejects.toMatchObject({ name: 'QuorumError' })
    for (let i = 0; i < 3; i++) await asked.area(POLYGON)
    expect(reads).toBe(10)
    refusals = 5
    expect(await asked.area(POLYGON)).toMatchObject({ quorum: quorum.target })
    expect(reads).toBe(15)
  })

  test('counts an operator once, although two URLs lead to this operator', async () => {
    const [first, second] = proxies.map(({ url }) => url)
    const other = first!.replace('127.0.0.1', 'localhost')
    const asked = await quorumOf({ operators: [first, other, second], k: 3 })
    await expect(asked.area(POLYGON as never)).rejects.toMatchObject({ name: 'QuorumError' })
  })

  test('shows two payloads for one request as evidence', async () => {
    proxies[0]!.lie(LIES['sign another result'])
    const asked = await quorumOf({ k: 5 })
    const { dissent } = await asked.distance(place, [2.3, 48.8584]).then(
      () => expect.unreachable(),
      (error: QuorumError) => error,
    )
    const payloads = dissent.map(({ reason, signed }) => [reason, signed!.index, signed!.digest] as const)
    expect(payloads.map(([reason, index]) => [reason, index]).sort()).toEqual(
      [0, 1, 2, 3, 4].map((index) => ['other-payload', index]),
    )
    expect(new Set(payloads.map(([, , digest]) => digest)).size).toBe(2)
  })

  test('returns the claims of the signed payload, whatever an operator adds', async () => {
    for (const { lie } of proxies)
      lie((body) => (body.answer ? { ...body, units: 'square_meters', inputRefs: [], more: 1 } : body))
    const asked = await quorumOf()
    const answer = await asked.distance(place, [2.3, 48.8584])
    expect(answer).toMatchObject({ units: 'meters', inputRefs: [place, expect.any(String)] })
    expect(answer).not.toHaveProperty('more')
  })

  test('reports the reasons of the operators that refuse', async () => {
    const asked = await quorumOf()
    await expect(asked.distance(`0x${'1'.repeat(64)}`, [2.3, 48.8584])).rejects.toMatchObject({
      name: 'QuorumError',
      retryable: false,
      dissent: expect.arrayContaining([expect.objectContaining({ reason: 'unknown-input' })]) as unknown,
    })
  })

  test('is asked by geo --quorum, which lands its answer', async () => {
    const folder = temporaryFolder()
    writeFileSync(
      `${folder}/operators.json`,
      JSON.stringify({ operators: proxies.map(({ url }) => url), k: 3 }),
    )
    writeFileSync(`${folder}/key.txt`, testAccount(9).privateKey, { mode: 0o600 })
    proxies[0]!.lie(LIES['are killed'])
    const args = ['distance', place, '2.3,48.8584', '--quorum', 'operators.json', '--json']
    const land = ['--land', '--key-file', 'key.txt', '--rpc', world.chain.url]
    const { code, stdout, stderr } = await geo([...args, ...land, '--url', world.url], folder)
    expect([code, stderr]).toEqual([0, expect.stringContaining('Sent: transaction')])
    const answer = JSON.parse(stdout)
    expect(answer).toMatchObject({
      operation: 'distance',
      quorum: quorum.target,
      landed: { already: false },
    })
    writeFileSync(`${folder}/answer.json`, stdout)
    const again = await geo(['land', 'answer.json', '--json', ...land.slice(1), '--url', world.url], folder)
    expect(JSON.parse(again.stdout)).toEqual({ ...answer.landed, already: true })
    const verify = (url: string, ...more: string[]) =>
      geo(['verify', 'answer.json', '--url', url, ...more], folder)
    const attester = ['--attester', quorum.target as string]
    for (const [code, url, more] of [
      [0, operators[0]!.url, []],
      [0, world.url, [...attester, '--rpc', world.chain.url]],
      [2, world.url, attester],
      [1, world.url, []],
    ] as const) {
      const verified = await verify(url, ...more)
      expect([more, verified.code, verified.stdout]).toEqual([
        ...[more, code, expect.stringMatching(`^${RESULTS[code]}\n`)],
      ])
    }
    const { uid } = answer.landed as { uid: string }
    const landed = await geo(['verify', uid, '--url', operators[0]!.url, ...land.slice(-2)], folder)
    expect([landed.code, landed.stdout]).toEqual([0, expect.stringMatching(/^valid\n/)])
    const recomputed = await geo(
      ['recompute', 'answer.json', place, '2.3,48.8584', '--rpc', world.chain.url, '--url', world.url],
      folder,
    )
    expect([recomputed.code, recomputed.stdout]).toEqual([0, expect.stringContaining('equal')])
    const { code: other } = await geo([...args, '--submission', 'proxy', '--url', world.url], folder)
    expect(other).toBe(2)
    writeFileSync(`${folder}/operators.json`, '{"operators": "https://one.example"}')
    expect((await geo([...args, '--url', world.url], folder)).code).toBe(2)
  })

  test('determines the exit status of geo --quorum by the reasons of its operators', async () => {
    const folder = temporaryFolder()
    const list = { operators: proxies.map(({ url }) => url), k: 3 }
    const status = async (to: string, described: object = list) => {
      writeFileSync(`${folder}/operators.json`, JSON.stringify(described))
      const args = ['distance', place, to, '--quorum', 'operators.json', '--url', world.url]
      return (await geo(args, folder)).code
    }
    expect(await status(`0x${'1'.repeat(64)}`)).toBe(3)
    for (const wrong of [
      ...[
        { contract: '0x12' },
        { contract: (quorum.target as string).replace(/[a-f]/, (a) => a.toUpperCase()) },
      ],
      ...[{ deadlineSeconds: '600' }, { deadlineSeconds: 0 }, { timeout: -1 }, { timeout: NaN }],
    ])
      expect([wrong, await status('2.3,48.8584', { ...list, ...wrong })]).toEqual([wrong, 2])
    for (const { lie } of proxies.slice(2)) lie(LIES['are killed'])
    expect(await status('2.3,48.8584')).toBe(4)
  })

  test('answers the tools of an agent, which land its answer', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const server = createMcpServer({
      ...{ geo: geoHere(), quorum: await quorumOf() },
      land: new Wallet(testAccount(9).privateKey, world.chain.provider),
    })
    const client = new Client({ name: 'test', version: '1.0.0' })
    await Promise.all([server.connect(theirs), client.connect(ours)])
    try {
      const call = async (name: string, input: object) =>
        client.callTool({ name, arguments: input as Record<string, unknown> })
      proxies[0]!.lie(LIES['are killed'])
      const chain = LOCAL_CHAIN.slug
      const asked = { from: place, to: [2.3, 48.8584], chain, include_signature: true }
      const { structuredContent: answer } = (await call('distance', asked)) as any
      expect(answer).toMatchObject({ chain, attester: quorum.target, inputRefs: [place, expect.any(String)] })
      expect(BigInt(answer.signers).toString(2).replaceAll('0', '')).toBe('111')
      const verified = { ours: true, submittable: true, reasons: [], sentence: answer.sentence, landed: null }
      for (const named of [answer.answer_id, answer.signed_answer, JSON.stringify(answer.signed_answer)]) {
        expect(await call('verify_answer', { answer: named })).toMatchObject({ structuredContent: verified })
        const { structuredContent: landed } = (await call('land_answer', { answer: named })) as any
        expect(landed).toMatchObject({ chain, sentence: answer.sentence })
        const attestation = await (
          await world.chain.eas()
        )
          .getFunction('getAttestation')
          .staticCall(landed.uid)
        expect(attestation.attester).toBe(quorum.target)
      }
      const { answer: signed } = answer.signed_answer
      const altered = { ...answer.signed_answer, answer: { ...signed, deadline: signed.deadline - 1 } }
      expect(await call('verify_answer', { answer: altered })).toMatchObject({
        structuredContent: { ours: false, submittable: false, reasons: [expect.any(String)] },
      })
      for (const [name, input] of [
        ['verify_answer', { answer: { ...answer.signed_answer, signatures: undefined } }],
        ['land_answer', { answer: { ...answer.signed_answer, signatures: undefined } }],
        ['distance', { ...asked, from: `0x${'1'.repeat(64)}` }],
      ] as const)
        expect(await call(name, input)).toMatchObject({ isError: true })
    } finally {
      await client.close()
      await server.close()
    }
  })

  test('rejects a number of signatures that the quorum cannot reach', async () => {
    for (const k of [0, 6, 1.5, undefined])
      await expect(quorumOf({ k })).rejects.toMatchObject({ name: 'InvalidInputError' })
  })
})

/** First line of `geo verify`, by its exit status. */
const RESULTS = ['valid', 'not valid', 'not verified']

/** Runs the command line in this process. */
async function geo(argv: string[], cwd: string) {
  const outputs = { stdout: '', stderr: '' }
  const output = (name: keyof typeof outputs) =>
    new Writable({
      write: (chunk, _, done) => {
        outputs[name] += String(chunk)
        done()
      },
    })
  const code = await run(argv, {
    ...{ env: {}, cwd, stdin: Readable.from([]), signal: new AbortController().signal },
    stdout: output('stdout'),
    stderr: output('stderr'),
  })
  return { code, ...outputs }
}

/** Function that changes an operator's response, or ends it. */
type Lie = (body: Record<string, any>, key: Wallet) => Promise<object | undefined> | object | undefined

/** Signs another content with the operator's own key, as a dishonest operator could. */
async function resigned(body: Record<string, any>, key: Wallet, changed: object): Promise<object> {
  const answer = { ...body.answer, ...changed }
  const at = { chainId: LOCAL_CHAIN.id, quorum: body.quorum as string }
  const digest = quorumDigest(quorumDomain(at.chainId, at.quorum), answer)
  return { ...body, answer, digest, signature: await signContent(key, at, answer) }
}
/**
 * Returns the equivalent signature with the higher s value. It recovers to the same key, but the contract
 * refuses it.
 */
function otherForm(signature: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(dataSlice(signature, 32, 64))
  const v = signature.endsWith('1b') ? '0x1c' : '0x1b'
  return concat([dataSlice(signature, 0, 32), toBeHex(s, 32), v])
}

/**
 * Signs a false result that differs for each operator. If k operators agreed on it, they would be a quorum.
 */
function anotherResult(body: Record<string, any>, key: Wallet): Promise<object> {
  const centimeters = Number(dataSlice(body.answer.data, 0, 32)) + 1 + body.index
  const data = concat([toBeHex(centimeters, 32), dataSlice(body.answer.data, 32)])
  return resigned({ ...body, result: centimeters / 100 }, key, { data })
}

const LIES = {
  'are killed': () => undefined,
  'sign another result': (body, key) => (body.answer ? anotherResult(body, key) : body),
  'sign for another recipient': (body, key) =>
    body.answer ? resigned(body, key, { recipient: Wallet.createRandom().address }) : body,
  'sign a later deadline': (body, key) =>
    body.answer ? resigned(body, key, { deadline: body.answer.deadline + 60 }) : body,
  'claim another index': (body) => (body.answer ? { ...body, index: (body.index + 1) % 5 } : body),
  'return the signature of another key': async (body) =>
    body.answer ? resigned(body, Wallet.createRandom() as unknown as Wallet, {}) : body,
  'return no signature': (body) => (body.answer ? { ...body, signature: '0x' } : body),
  'return the other form of their signature': (body) =>
    body.answer ? { ...body, signature: otherForm(body.signature) } : body,
  'return a signature with v 0 or 1': (body) =>
    body.answer ? { ...body, signature: body.signature.replace(/1b$/, '00').replace(/1c$/, '01') } : body,
  'return an index as text': (body) => (body.answer ? { ...body, index: `${body.index}` } : body),
  'return an empty object': () => ({}),
  'return null': () => [null],
  'name an epoch without operators': (body) =>
    Array.isArray(body)
      ? body.map((each) => ({ ...each, epochs: [{ ...each.epochs[0], operators: null }] }))
      : {},
  'name another epoch': (body) =>
    Array.isArray(body)
      ? body.map((each) => ({ ...each, epochs: [{ ...each.epochs[0], epoch: 7 }] }))
      : body.answer
        ? undefined
        : body,
  'name another contract': (body) =>
    Array.isArray(body)
      ? body.map((each) => ({ ...each, quorum: Wallet.createRandom().address }))
      : body.answer
        ? undefined
        : body,
} satisfies Record<string, Lie>

/** Starts an HTTP proxy in front of an operator, which can change its responses. */
async function liar(target: string, key: Wallet) {
  let current: Lie | undefined
  const url = await serve((request, response) => {
    const relay = async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const answer = await fetch(`${target}${request.url}`, {
        method: request.method!,
        headers: { 'content-type': 'application/json' },
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      })
      const body = (await answer.json()) as Record<string, any>
      const sent = current ? await current(body, key) : body
      if (sent === undefined) return void response.destroy()
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! })
      response.end(JSON.stringify(sent))
    }
    relay().catch(() => response.destroy())
  })
  return { url, lie: (lie: Lie | undefined) => void (current = lie) }
}

test('an API without a quorum has no routes of a quorum', async () => {
  const { status } = await world.get('/quorum/v0')
  expect(status).toBe(404)
})
