import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { AbiCoder, Contract, Wallet, ZeroAddress, concat } from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attest, LOCAL_CHAIN, locationRequest, mined, revoke } from '../dev/chain'
import { QUORUM_ABI } from '../src/eas'
import { OPERATIONS, type OperationName } from '../src/operations'
import { startApi, type TestApi } from './api'
import { startTestWorld, type TestWorld } from './world'

/**
 * Five operators with their own keys, which read one database and one chain: they sign the same bytes, and the
 * real GeoQuorum in front of the real EAS attests what three of them signed.
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

test('does not exist without a quorum', async () => {
  const { status } = await world.get('/quorum/v0')
  expect(status).toBe(404)
})
