import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { AbiCoder, Contract, TypedDataEncoder, Wallet, ZeroAddress, concat, dataSlice, toBeHex } from 'ethers'
import { createGeo, type QuorumError } from '@geospatial-attestation/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { attest, LOCAL_CHAIN, locationRequest, mined, revoke, testAccount } from '../dev/chain'
import { QUORUM_ABI } from '../src/eas'
import { OPERATIONS, type OperationName } from '../src/operations'
import { run } from '../packages/cli/src/run'
import { startApi, type TestApi } from './api'
import { removeFolder, temporaryFolder } from './database'
import { startTestWorld, type TestWorld } from './world'

/**
 * Five operators with their own keys, which read one database and one chain: they sign the same bytes, and
 * the real GeoQuorum in front of the real EAS attests what three of them signed.
 */
const KEYS = [1, 2, 3, 4, 5].map((i) => `0x${`${i}`.repeat(64)}`)
const operatorsByAddress = KEYS.map((key) => new Wallet(key)).sort((a, b) =>
  a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
)
const THRESHOLD = 3
const POINT = { type: 'Point', coordinates: [2.2945, 48.8584] }
const POLYGON = {
  type: 'Polygon',
  coordinates: [
    [
      [2, 48],
      [3, 48],
      [3, 49],
      [2, 49],
      [2, 48],
    ],
  ],
}
const LINE = {
  type: 'LineString',
  coordinates: [
    [2, 48],
    [3, 49],
  ],
}
/** Arguments of each operation. The place is an attestation. */
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
  // Local chains start in the past; answers are of the present.
  await chain.provider.send('anvil_setTime', [Date.now()])
  await chain.provider.send('anvil_mine', ['0x1'])
  quorum = await deployQuorum()
  place = await attest(chain, locationRequest(POINT as never))
  await world.caughtUp()
  operators = await Promise.all(operatorsByAddress.map(({ privateKey }) => operatorWith(privateKey)))
})
afterAll(async () => {
  await Promise.all((operators ?? []).map((each) => each.close()))
  await world?.stop()
})

async function deployQuorum(): Promise<Contract> {
  const { provider } = world.chain
  const { creationCode } = JSON.parse(readFileSync('dev/contracts/geo-quorum.json', 'utf8')) as {
    creationCode: string
  }
  const now = (await provider.getBlock('latest'))!.timestamp
  const parameters = AbiCoder.defaultAbiCoder().encode(
    ['address', 'address', 'uint256', 'tuple(uint64,uint64,uint8,address[])'],
    [
      ...[LOCAL_CHAIN.eas, ZeroAddress, 0],
      [now, now + 30 * 86_400, THRESHOLD, operatorsByAddress.map(({ address }) => address)],
    ],
  )
  const account = await provider.getSigner(9)
  const sent = await account.sendTransaction({ data: concat([creationCode, parameters]) })
  const { contractAddress } = await mined(world.chain, sent.hash)
  return new Contract(contractAddress!, QUORUM_ABI, account)
}

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
  const response = await fetch(`${url}/quorum/v0/sign`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chainId: LOCAL_CHAIN.id, ...body }),
  })
  return { status: response.status, body: await response.json() }
}

test.each(Object.keys(OPERATIONS) as OperationName[])('lands %s with three signatures', async (operation) => {
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

test('costs at most 25,000 gas more than an answer of a signer without earlier ones, calldata included', async () => {
  const recipient = Wallet.createRandom().address
  const question = { from: place, to: POINT, recipient }
  const direct = await world.post('/compute/v0/distance', {
    ...{ chainId: LOCAL_CHAIN.id, ...question, include: ['transaction'] },
  })
  const account = await world.chain.provider.getSigner(9)
  const alone = await mined(world.chain, (await account.sendTransaction(direct.body.transaction)).hash)
  const request = { operation: 'distance', ...question, ...terms() }
  const signed = await Promise.all(operators.slice(0, THRESHOLD).map((each) => sign(each, request)))
  const signatures = concat(signed.map(({ body }) => body.signature))
  const sent = await quorum.getFunction('land').send(signed[0]!.body.answer, 7, signatures)
  const together = await mined(world.chain, sent.hash)
  expect(Number(together.gasUsed - alone.gasUsed)).toBeLessThanOrEqual(25_000)
})

test('lists its quorums and their epochs', async () => {
  const response = await fetch(`${operators[0]!.url}/quorum/v0`)
  expect(await response.json()).toEqual([
    {
      chainId: LOCAL_CHAIN.id,
      chain: LOCAL_CHAIN.slug,
      quorum: quorum.target,
      operator: operatorsByAddress[0]!.address,
      epochs: [
        {
          epoch: 1,
          validFrom: expect.any(Number) as number,
          validUntil: expect.any(Number) as number,
          threshold: THRESHOLD,
          operators: operatorsByAddress.map(({ address }) => address.toLowerCase()),
        },
      ],
    },
  ])
})

describe('refuses', () => {
  const question = () => ({ operation: 'distance', from: place, to: POINT, ...terms() })
  const refusalOf = async (body: object, operator = operators[0]!) => {
    const { status, body: problem } = await sign(operator, body)
    expect(status).not.toBe(200)
    expect(problem.signature).toBeUndefined()
    return problem.refusal as string
  }

  test('a revoked, an expired and an unknown input', async () => {
    const revoked = await attest(world.chain, locationRequest(POINT as never))
    await revoke(world.chain, revoked)
    const now = (await world.chain.provider.getBlock('latest'))!.timestamp
    const expiring = await attest(world.chain, locationRequest(POINT as never, { expirationTime: now + 2 }))
    await world.caughtUp()
    while (Date.now() / 1000 < now + 3) await pause(100)
    expect(await refusalOf({ ...question(), from: revoked })).toBe('revoked')
    expect(await refusalOf({ ...question(), from: expiring })).toBe('expired')
    expect(await refusalOf({ ...question(), from: `0x${'1'.repeat(64)}` })).toBe('unknown-input')
  })
  test.each([
    ['a timestamp that is too early', { timestamp: -61 }],
    ['a timestamp that is too late', { timestamp: 62 }],
    ['a deadline that has passed', { deadline: -1 }],
    ['a deadline that is too far away', { deadline: 3_600 + 62 }],
  ])('%s', async (_, offsets) => {
    const now = Math.floor(Date.now() / 1000)
    const changed = Object.fromEntries(Object.entries(offsets).map(([key, offset]) => [key, now + offset]))
    expect(await refusalOf({ ...question(), ...changed })).toBe('skew')
  })
  test('an epoch that is unknown, and an operator that was removed', async () => {
    expect(await refusalOf({ ...question(), epoch: 2 })).toBe('wrong-epoch')
    const outsider = await operatorWith(`0x${'9'.repeat(64)}`)
    try {
      expect(await refusalOf(question(), outsider)).toBe('wrong-epoch')
    } finally {
      await outsider.close()
    }
  })
  test.each([
    ['an unknown operation', { operation: 'volume' }],
    ['an unknown field', { nonce: 1 }],
    ['an expiration before the deadline', { expirationTime: 5 }],
    ['a chain without a quorum', { chainId: 1 }],
    ['an epoch that is not a number', { epoch: '1' }],
    ['an input that is not a geometry', { to: { type: 'Point', coordinates: [200, 0] } }],
  ])('%s', async (_, changed) => {
    expect(await refusalOf({ ...question(), ...changed })).toBe('invalid-input')
  })
  test('more requests than the limit allows', async () => {
    const limited = await operatorWith(KEYS[0]!, { rateLimitPerHour: 1 })
    try {
      expect((await sign(limited, question())).status).toBe(200)
      expect(await refusalOf(question(), limited)).toBe('busy')
    } finally {
      await limited.close()
    }
  })
  test('everything while its RPC endpoint does not answer', async () => {
    const cut = await operatorWith(KEYS[0]!, { rpcUrl: 'http://127.0.0.1:1' })
    try {
      expect(await refusalOf(question(), cut)).toBe('not-indexed-yet')
    } finally {
      await cut.close()
    }
  })
})

describe('a coordinator', () => {
  let proxies: { url: string; lie: (lie: Lie | undefined) => void; close: () => Promise<void> }[]
  beforeAll(async () => {
    proxies = await Promise.all(operators.map(({ url }, i) => liar(url, operatorsByAddress[i]!)))
  })
  afterAll(() => Promise.all((proxies ?? []).map((each) => each.close())))
  afterEach(() => {
    for (const { lie } of proxies) lie(undefined)
  })
  const quorumOf = (options: object = {}) =>
    createGeo({ url: world.url, chain: LOCAL_CHAIN.id }).quorum({
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
    await expect(
      asked.land(answer, new Wallet(testAccount(9).privateKey, world.chain.provider)),
    ).rejects.toMatchObject({ name: 'LandingError', contractError: 'AlreadyUsed' })
  })

  test.each(Object.keys(LIES) as (keyof typeof LIES)[])(
    'answers although two of five %s, and no answer has their signatures',
    async (kind) => {
      for (const liars of [
        [0, 1],
        [1, 4],
        [2, 3],
      ]) {
        for (const i of liars) proxies[i]!.lie(LIES[kind])
        const asked = await quorumOf()
        const answer = await asked.distance(place, [2.3, 48.8584])
        expect(answer.result).toBeGreaterThan(0)
        for (const i of liars) expect(BigInt(answer.signers) & (1n << BigInt(i))).toBe(0n)
        const signers = await quorum
          .getFunction('land')
          .staticCall(answer.answer, answer.signers, answer.signatures)
        expect(signers).toMatch(/^0x[0-9a-f]{64}$/)
        for (const i of liars) proxies[i]!.lie(undefined)
      }
    },
  )

  test.each(Object.keys(LIES) as (keyof typeof LIES)[])(
    'returns nothing if three of five %s',
    async (kind) => {
      for (const i of [0, 2, 4]) proxies[i]!.lie(LIES[kind])
      const asked = await quorumOf()
      await expect(asked.distance(place, [2.3, 48.8584])).rejects.toMatchObject({ name: 'QuorumError' })
    },
    60_000,
  )

  test('counts one operator once, although two URLs lead to it', async () => {
    const [first, second] = proxies.map(({ url }) => url)
    const asked = await quorumOf({ operators: [first, first, first, second], k: 3 })
    await expect(asked.area(POLYGON as never)).rejects.toMatchObject({ name: 'QuorumError' })
  })

  test('shows two payloads for one request as evidence', async () => {
    proxies[0]!.lie(LIES['sign another result'])
    const asked = await quorumOf({ k: 5 })
    const { dissent } = await asked.distance(place, [2.3, 48.8584]).then(
      () => expect.unreachable(),
      (error: QuorumError) => error,
    )
    expect(dissent).toMatchObject([{ signed: { operator: operatorsByAddress[0]!.address } }])
    expect(dissent).toHaveLength(1)
  })

  test('returns the claims of the signed payload, whatever an operator adds', async () => {
    for (const { lie } of proxies)
      lie((body) => (body.answer ? { ...body, units: 'square_meters', inputRefs: [], more: 1 } : body))
    const asked = await quorumOf()
    const answer = await asked.distance(place, [2.3, 48.8584])
    expect(answer).toMatchObject({ units: 'meters', inputRefs: [place, expect.any(String)] })
    expect(answer).not.toHaveProperty('more')
  })

  test('passes on why the operators refuse', async () => {
    const asked = await quorumOf()
    await expect(asked.distance(`0x${'1'.repeat(64)}`, [2.3, 48.8584])).rejects.toMatchObject({
      name: 'QuorumError',
      retryable: false,
      dissent: expect.arrayContaining([expect.objectContaining({ reason: 'unknown-input' })]) as unknown,
    })
  })

  test('is asked by geo --quorum, which lands its answer', async () => {
    const folder = temporaryFolder()
    try {
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
      const { code: other } = await geo([...args, '--submission', 'proxy', '--url', world.url], folder)
      expect(other).toBe(2)
      writeFileSync(`${folder}/operators.json`, '{"operators": "https://one.example"}')
      expect((await geo([...args, '--url', world.url], folder)).code).toBe(2)
    } finally {
      removeFolder(folder)
    }
  })

  test('rejects a k that is not possible', async () => {
    for (const k of [0, 6, 1.5, undefined])
      await expect(quorumOf({ k })).rejects.toMatchObject({ name: 'InvalidInputError' })
  })
})

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

/** Changes an operator's response, or ends it. */
type Lie = (body: Record<string, any>, key: Wallet) => Promise<object | undefined> | object | undefined

/** Signs another content with the operator's own key, as a dishonest operator can. */
async function resigned(body: Record<string, any>, key: Wallet, changed: object): Promise<object> {
  const answer = { ...body.answer, ...changed }
  const domain = { name: 'GeoQuorum', version: '1', chainId: LOCAL_CHAIN.id, verifyingContract: body.quorum }
  const types = { Answer: ANSWER_FIELDS }
  const digest = TypedDataEncoder.hash(domain, types, answer)
  return { ...body, answer, digest, signature: await key.signTypedData(domain, types, answer) }
}
const ANSWER_FIELDS = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
  { name: 'deadline', type: 'uint64' },
  { name: 'epoch', type: 'uint32' },
]
/** Returns the signature with the higher s, which recovers to the same key and which the contract refuses. */
function otherForm(signature: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(dataSlice(signature, 32, 64))
  const v = signature.endsWith('1b') ? '0x1c' : '0x1b'
  return concat([dataSlice(signature, 0, 32), toBeHex(s, 32), v])
}

/** Signs another result, by its own number of centimetres for each operator: k that agree are a quorum. */
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

/** Starts an HTTP proxy before an operator that can change its responses. */
async function liar(target: string, key: Wallet) {
  let current: Lie | undefined
  const server = createServer((request, response) => {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: (lie: Lie | undefined) => void (current = lie),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

test('does not exist without a quorum', async () => {
  const { status } = await world.get('/quorum/v0')
  expect(status).toBe(404)
})
