import { AbiCoder } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, mined, testAccount } from '../dev/chain'
import { chainNamed } from '../src/chains'
import { timeOf } from '../src/eas'
import { LOCATION_PROTOCOL_SCHEMA } from '../src/location'
import { offchain, seconds } from './offchain'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER } from './positions'

/** Tests offchain attestations from the wallet to the signed answer on the chain, on each version of EAS. */
const SLUGS = ['base-sepolia', 'sepolia', 'celo']
let world: TestWorld
/** Milliseconds that the API's clock is ahead. */
let ahead = 0
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join(',') }, { clock: () => Date.now() + ahead })
})

const distance = (from: unknown, slug = 'base-sepolia', to: unknown = TOWER) =>
  world.post('/compute/v0/distance', { chainId: chainNamed(slug)!.id, from, to })
const revokeOffchain = async (uid: string, account: number, slug = 'base-sepolia') => {
  const chain = world.chains.get(slug)!
  await mined(chain, (await (await chain.eas(account)).getFunction('revokeOffchain').send(uid)).hash)
}

const resign = (answer: object) => world.post('/compute/v0/resign', { chainId: 84532, ...answer })

describe.each(SLUGS)('the service on %s', (slug) => {
  test.each([0, 1, 2] as const)(
    'accepts version %i until its signer revokes it, regardless of other accounts',
    async (version) => {
      const attestation = await offchain(GATE, { slug, version, time: seconds() - version })
      const { uid } = attestation.sig
      // 881329.942 m by GeographicLib's GeodSolve.
      const answered = { status: 200, body: { result: 881329.94, inputRefs: [uid, expect.any(String)] } }
      expect(await distance({ attestation }, slug)).toMatchObject(answered)
      await revokeOffchain(uid, 3, slug)
      expect(await distance({ attestation }, slug)).toMatchObject(answered)
      await revokeOffchain(uid, 2, slug)
      const type = `${world.url}/errors/verification-failed`
      const refused = { status: 401, body: { type, detail: sentence('from') } }
      expect(await distance({ attestation }, slug)).toMatchObject(refused)
    },
  )
})

test('the service re-signs an answer until its offchain input is revoked', async () => {
  const kept = await offchain(GATE)
  const other = { attestation: await offchain(TOWER, { signer: testAccount(4) }) }
  const { body: answer } = await distance({ attestation: kept }, 'base-sepolia', other)
  const { data } = answer.attestation
  expect(await resign(answer)).toMatchObject({
    ...{ status: 200, body: { result: 881329.94, attestation: { data } } },
  })
  await revokeOffchain(kept.sig.uid, 4)
  expect((await resign(answer)).status).toBe(200)
  await revokeOffchain(kept.sig.uid, 2)
  expect(await resign(answer)).toMatchObject({ status: 401, body: { detail: sentence() } })
})

test('the service does not re-sign an answer after its offchain input expires', async () => {
  const expirationTime = seconds() + 60
  const { body: brief } = await distance({ attestation: await offchain(GATE, { expirationTime }) })
  expect((await resign(brief)).status).toBe(200)
  ahead = 60_000
  const late = await resign(brief).finally(() => (ahead = 0))
  expect(late).toMatchObject({ status: 401, body: { detail: sentence('', timeOf(BigInt(expirationTime))) } })
})

test('the service accepts inputs of two different forms in one request', async () => {
  const v1 = await offchain(GATE, { version: 1 })
  const lp = await offchain(TOWER, { schema: LOCATION_PROTOCOL_SCHEMA.uid, signer: testAccount(4) })
  const uid = await attest(world.chain, locationRequest(TOWER), 1)
  for (const [to, ref] of [
    [{ attestation: lp }, lp.sig.uid],
    [uid, uid],
  ])
    expect(await distance({ attestation: v1 }, 'base-sepolia', to)).toMatchObject({
      ...{ status: 200, body: { result: 881329.94, inputRefs: [v1.sig.uid, ref] } },
    })
})

test('the service measures a long offchain line in a worker', { tags: ['slow'] }, async () => {
  const line = { type: 'LineString', coordinates: Array.from({ length: 5_000 }, (_, i) => [0, i / 100]) }
  const values = ['0.2', 'EPSG:4326', 'geojson-line', JSON.stringify(line)]
  const data = AbiCoder.defaultAbiCoder().encode(Array<string>(4).fill('string'), values)
  const attestation = await offchain(TOWER, { schema: LOCATION_PROTOCOL_SCHEMA.uid, data })
  // Meridian from the equator to 49.99 N: 5539734.752 m by geographiclib-geodesic.
  const answered = { status: 200, body: { result: 5539734.75, inputRefs: [attestation.sig.uid] } }
  const length = (geometry: object) => world.post('/compute/v0/length', { chainId: 84532, geometry })
  expect(await length({ attestation })).toMatchObject(answered)
  // The body is so large that a worker parses it.
  const padding = 'x'.repeat(1_000_000)
  expect(await length({ attestation: { ...attestation, padding } })).toMatchObject(answered)
  const both = await length({ ...line, attestation, padding })
  expect(both.body).toMatchObject({ status: 400, detail: sentence() })
})

test('the service rejects attestations of another chain, expired, or dated in the future', async () => {
  const now = seconds()
  const refused = async (geometry: Promise<unknown>, detail: unknown) =>
    expect(await distance({ attestation: await geometry })).toMatchObject({
      status: 401,
      body: { type: `${world.url}/errors/verification-failed`, detail },
    })
  await refused(offchain(TOWER, { slug: 'celo' }), sentence())
  await refused(
    offchain(TOWER, { time: now - 100, expirationTime: now - 1 }),
    sentence('', timeOf(BigInt(now - 1))),
  )
  await refused(offchain(TOWER, { time: now + 3600 }), sentence())
  const valid = await offchain(TOWER, { expirationTime: now + 3600, revocable: false })
  expect((await distance({ attestation: valid })).status).toBe(200)
})

test('the service rejects a document with __proto__ or very deep nesting, and continues', async () => {
  const attestation = JSON.stringify(await offchain(GATE))
  const send = async (document: string) => {
    const body = `{"chainId":84532,"to":${JSON.stringify(TOWER)},"from":{"attestation":${document}}}`
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${world.url}/compute/v0/distance`, { method: 'POST', headers, body })).status
  }
  expect(await send(attestation.replace('{', '{"__proto__":{"signer":"0x0"},'))).toBe(400)
  expect(await send('['.repeat(100_000) + ']'.repeat(100_000))).toBe(400)
  expect(await send(attestation.replace('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`))).toBe(400)
  expect(await send(attestation)).toBe(200)
})

testSentences()
