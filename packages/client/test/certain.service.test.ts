// SPDX-License-Identifier: MIT
import { createGeo, type Answer, type Geo } from '@geospatial-attestation/client'
import { beforeAll, expect, test } from 'vitest'
import { mined, testAccount } from '../../../dev/chain'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { sentence, testSentences } from '../../../test/sentences'
import { GATE, TOWER } from '../../../test/positions'

/**
 * Tests uncertain states: services, RPC endpoints and wallets that lag, fail or lie. The client must neither
 * send nor claim anything.
 */
let world: TestWorld
let geo: Geo
beforeAll(async () => {
  world = await startTestWorld()
  geo = createGeo({ url: world.url, chain: 'base-sepolia', providers: { 84532: world.chain.url } })
})

const GET_ATTESTATION = '0xa3112a64'
type Call = { method: string; params?: any[] }
/** Creates a wallet at the RPC endpoint, with a function that can change its responses. */
function wallet(
  change: (call: Call, real: (call: Call) => Promise<unknown>) => Promise<unknown>,
  account = 3,
) {
  const real = async ({ method, params = [] }: Call) =>
    method === 'eth_requestAccounts'
      ? [testAccount(account).address]
      : (world.chain.provider.send(method, params) as Promise<unknown>)
  return { request: (call: Call) => change(call, real) }
}
const honest = wallet((call, real) => real(call))
const sent = (account = 3) => world.chain.provider.getTransactionCount(testAccount(account).address)
/** Creates a client of a service whose /verify returns this for every answer. */
const saying = (landed: object) =>
  createGeo({
    url: world.url,
    chain: 'base-sepolia',
    fetch: async (request, init) => {
      const response = await fetch(request, init)
      if (!(request as Request).url.endsWith('/verify')) return response
      return Response.json({ ...((await response.json()) as object), landed })
    },
  })
const NOWHERE = { uid: null, transactionHash: null, blockNumber: null, revoked: null }
let radius = 1000
const asked = (submission: 'direct' | 'proxy') => geo.within(TOWER, GATE, radius++, { submission })

test.each(['direct', 'proxy'] as const)(
  'the client does not resend a %s answer if the service cannot confirm its landing',
  async (submission) => {
    const answer = await asked(submission)
    await geo.land(answer, honest)
    const before = await sent()
    const unsure = saying({ status: 'unknown', ...NOWHERE })
    await expect(unsure.land(answer, honest)).rejects.toThrow(sentence())
    expect(await sent()).toBe(before)
  },
)

test("the client rejects an attestation by another attester with the answer's data", async () => {
  const answer = await asked('proxy')
  const { schema, data, recipient, revocable, refUID, expirationTime } = answer.attestation
  const eas = await world.chain.eas(5)
  const request = { schema, data: { ...{ data, recipient, revocable, refUID, expirationTime }, value: 0 } }
  const { logs, blockNumber, hash } = await mined(world.chain, (await eas.attest!(request)).hash)
  await geo.land(answer, honest)
  const fooled = saying({
    status: 'landed',
    uid: logs[0]!.data,
    transactionHash: hash,
    blockNumber,
    revoked: false,
  })
  await expect(fooled.land(answer, honest)).rejects.toThrow(sentence())
})

test.each(['direct', 'proxy'] as const)(
  'the client names the %s answers of a batch that have landed before',
  { tags: ['slow'] },
  async (submission) => {
    const question = () => ({ operation: 'within' as const, geometry: TOWER, target: GATE, radius: radius++ })
    const batch = await geo.batch([question(), question()], { submission })
    const first = await geo.land({ chainId: 84532, ...batch.results[0]! } as Answer, honest)
    const before = await sent()
    await expect(geo.land(batch, honest)).rejects.toThrow(
      new RegExp(`^1 of the 2 answers has already landed, as ${first.uid}\\..*Nothing was sent`),
    )
    expect(await sent()).toBe(before)
    const second = await geo.land({ chainId: 84532, ...batch.results[1]! } as Answer, honest)
    expect(second.already).toBe(false)
    const again = await geo.land(batch, honest)
    expect(again.map(({ uid, already }) => [uid, already])).toEqual([
      [first.uid, true],
      [second.uid, true],
    ])
    await expect(geo.land({ ...batch, results: [] }, honest)).rejects.toThrow(sentence())
  },
)

test(
  'the client does not land a direct answer again after it was re-signed outside its batch',
  { tags: ['slow'] },
  async () => {
    const question = () => ({ operation: 'within' as const, geometry: TOWER, target: GATE, radius: radius++ })
    const batch = await geo.batch([question(), question()], { submission: 'direct' })
    const [, answer] = batch.results.map((each) => ({ chainId: 84532, ...each }) as Answer)
    const reasons: string[] = []
    const landed = await geo.land(answer!, honest, {
      onStep: (step) => step.step === 'signed anew' && reasons.push(step.reason),
    })
    expect(reasons).toEqual(['answers with lower nonces have not landed'])
    // The original nonce is the next one now, so EAS would accept the signature.
    const before = await sent()
    expect(await geo.land(answer!, honest)).toEqual({ ...landed, already: true })
    await expect(geo.land(batch, honest)).rejects.toThrow(sentence('', landed.uid))
    // A service whose RPC endpoint lags does not know the attestation yet.
    const behind = createGeo({
      url: world.url,
      chain: 'base-sepolia',
      fetch: async (request, init) => {
        const response = await fetch(request, init)
        if (!(request as Request).url.endsWith('/verify')) return response
        const said = (await response.json()) as Awaited<ReturnType<Geo['verify']>>
        const nonce = { ...said.nonce!, current: said.nonce!.signed - 1 }
        return Response.json({ ...said, nonce, landed: { status: 'not landed', ...NOWHERE } })
      },
    })
    await expect(behind.land(answer!, honest)).rejects.toThrow(sentence())
    // A field that the user added does not affect verification.
    expect((await geo.land({ ...answer!, ...{ note: 'order 42' } }, honest)).already).toBe(true)
    expect(await sent()).toBe(before)
    // An unavailable service does not prevent landing.
    const other = await asked('direct')
    const away = createGeo({
      url: world.url,
      chain: 'base-sepolia',
      retries: 0,
      fetch: (request, init) =>
        (request as Request).url.endsWith('/verify')
          ? Promise.reject(new Error('away'))
          : fetch(request, init),
    })
    expect((await away.land(other, honest)).already).toBe(false)
  },
)

test(
  'the client does not land an answer again before the nonce that it had in its batch',
  { tags: ['slow'] },
  async () => {
    const question = () => ({ operation: 'within' as const, geometry: TOWER, target: GATE, radius: radius++ })
    const batch = await geo.batch([question(), question(), question(), question()], { submission: 'direct' })
    const [, , third, fourth] = batch.results.map((each) => ({ chainId: 84532, ...each }) as Answer)
    const landed = await geo.land(third!, honest)
    const before = await sent()
    // Its original nonce is two above the next one.
    expect(await geo.land(third!, honest)).toEqual({ ...landed, already: true })
    const half = { chainId: 84532, results: [third!, fourth!] } as unknown as typeof batch
    await expect(geo.land(half, honest)).rejects.toThrow(landed.uid)
    expect(await sent()).toBe(before)
    // The next nonce is the original one of the third answer, so EAS would accept both signatures.
    const last = await geo.land(fourth!, honest)
    await expect(geo.land(half, honest)).resolves.toMatchObject(
      [landed, last].map(({ uid }) => ({ uid, already: true })),
    )
    expect(await sent()).toBe(before + 1)
  },
)

test(
  'the client waits for RPC nodes that lag behind the node that reported the block',
  { tags: ['slow'] },
  async () => {
    let behind = 0
    const lagging = wallet(async (call, real) => {
      const [{ data = '' } = {}] = (call.params ?? []) as { data?: string }[]
      if (call.method !== 'eth_call' || !data.startsWith(GET_ATTESTATION) || ++behind > 2) return real(call)
      if (behind === 1) throw new Error('the node is briefly unavailable')
      return real({
        ...call,
        params: [{ ...(call.params![0] as object), data: GET_ATTESTATION + '0'.repeat(64) }, 'latest'],
      })
    })
    const landed = await geo.land(await asked('proxy'), lagging)
    expect(behind).toBeGreaterThan(2)
    expect(landed.attestation.uid).toBe(landed.uid)
    behind = 0
    const place = await geo.attest(TOWER, lagging)
    expect(place.attestation.uid).toBe(place.uid)
  },
)

test('the client does not claim that a failed wallet sent nothing, and finds the answer later', async () => {
  const failing = wallet(async (call, real) => {
    const result = await real(call)
    if (call.method === 'eth_sendTransaction') throw new Error('already known')
    return result
  })
  const unsure = /unknown if the wallet sent the transaction: already known\. Check the account 0x/
  await expect(geo.attest(TOWER, failing)).rejects.toThrow(unsure)
  for (const submission of ['direct', 'proxy'] as const) {
    const answer = await asked(submission)
    const outcome = await geo.land(answer, failing).catch((error: Error) => error)
    if (outcome instanceof Error) expect(outcome.message).toMatch(unsure)
    expect((await geo.land(answer, honest)).already).toBe(true)
  }
})

test('the client sends no transaction if the wallet switched to another chain after the check', async () => {
  let compared = 0
  const switched = wallet(async (call, real) =>
    call.method === 'eth_chainId' && ++compared > 1 ? '0x1' : real(call),
  )
  const before = await sent()
  await expect(geo.land(await asked('proxy'), switched)).rejects.toThrow(sentence())
  compared = 0
  await expect(geo.attest(TOWER, switched)).rejects.toThrow(sentence())
  expect(await sent()).toBe(before)
})

test('the client rejects an RPC endpoint that returns the content of another attestation', async () => {
  const answer = await asked('proxy')
  const { uid } = await geo.land(answer, honest)
  const lying = wallet(async (call, real) => {
    const [{ data = '' } = {}] = (call.params ?? []) as { data?: string }[]
    return data.startsWith(GET_ATTESTATION)
      ? real({
          ...call,
          params: [{ ...(call.params![0] as object), data: GET_ATTESTATION + uid.slice(2) }, 'latest'],
        })
      : real(call)
  })
  expect(await geo.recompute(uid, [TOWER, GATE], { provider: lying })).toMatchObject({
    ...{ verdict: 'equal', attester: world.chain.proxy },
  })
  await expect(geo.recompute(`0x${'ab'.repeat(32)}`, [TOWER, GATE], { provider: lying })).rejects.toThrow(
    sentence(),
  )
})

test('the client rejects a service that names other contracts than the pinned contracts', async () => {
  const { eas, proxy } = await geo.chain()
  const pinned = (contracts: object) =>
    createGeo({ url: world.url, chain: 84532, contracts: { 84532: contracts as never } })
  expect((await pinned({ eas, proxy: proxy!.address }).chain()).eas).toBe(eas)
  for (const wrong of [{ eas: testAccount(1).address }, { eas }, { eas, proxy: testAccount(1).address }])
    await expect(pinned(wrong).chain()).rejects.toThrow(sentence())
})

test('the client uses the credentials of an RPC URL, and never shows the credentials', async () => {
  const { uid } = await geo.land(await asked('proxy'), honest)
  const secret = (url: string) => url.replace('http://', 'http://user:hush@')
  expect((await geo.check(uid, { provider: secret(world.chain.url) })).valid).toBe(true)
  const error = await geo
    .check(uid, { provider: secret('http://127.0.0.1:1') })
    .catch((reason: Error) => reason)
  expect((error as Error).message).toEqual(sentence())
  expect(String((error as Error).stack) + String((error as Error).cause)).not.toContain('hush')
})

test('the client compares fields of attestByDelegation with those in its data', async () => {
  const answer = await asked('proxy')
  const { attestByDelegation: call } = answer
  const altered = { ...call, schema: `0x${'12'.repeat(32)}`, data: { ...call.data, schema: call.schema } }
  await expect(geo.land({ ...answer, attestByDelegation: altered } as Answer, honest)).rejects.toThrow(
    sentence(),
  )
})

test('the client reports a damaged answer, and a value that is not an answer', async () => {
  const answer = await asked('direct')
  const { delegatedAttestation: delegation } = answer
  const damaged = (change: object) =>
    geo.land({ ...answer, delegatedAttestation: { ...delegation, ...change } } as Answer, honest)
  const before = await sent()
  await expect(damaged({ nonce: 1e99 })).rejects.toThrow(sentence())
  await expect(damaged({ attester: testAccount(1).address })).rejects.toThrow(sentence())
  await expect(damaged({ signature: `0x${'12'.repeat(65)}` })).rejects.toThrow(sentence())
  await expect(geo.land({ result: 1, chainId: 84532 } as never, honest)).rejects.toThrow(sentence())
  await expect(geo.recompute({} as never)).rejects.toThrow(sentence())
  expect(() => createGeo(undefined as never)).toThrow(sentence())
  expect(await sent()).toBe(before)
})

test('the client compares each new answer with a pinned attester', async () => {
  const pinned = createGeo({ url: world.url, chain: 84532, attester: testAccount(1).address })
  await expect(pinned.distance(TOWER, GATE)).rejects.toThrow(sentence())
  expect(() => createGeo({ url: world.url, attester: 'foo' })).toThrow(sentence('attester'))
  await expect(geo.check(`0x${'ab'.repeat(32)}`, { maxAge: NaN })).rejects.toThrow(sentence('maxAge'))
})

testSentences()
