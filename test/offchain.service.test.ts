import { AbiCoder, ContractFactory, Interface, Signature } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, mined, testAccount } from '../dev/chain'
import { chainNamed } from '../src/chains'
import { LOCATION_PROTOCOL_SCHEMA } from '../src/location'
import { BRANDENBURG_GATE, EIFFEL_TOWER, offchain, seconds } from './offchain'
import { compile } from './solidity'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'

/** Tests offchain attestations from the wallet to the signed answer on the chain, on each version of EAS. */
const SLUGS = ['base-sepolia', 'sepolia', 'celo']
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join(',') })
})

const distance = (from: unknown, slug = 'base-sepolia', to: unknown = EIFFEL_TOWER) =>
  world.post('/compute/v0/distance', { chainId: chainNamed(slug)!.id, from, to })
const revokeOffchain = async (uid: string, account: number, slug = 'base-sepolia') => {
  const chain = world.chains.get(slug)!
  await mined(chain, (await (await chain.eas(account)).getFunction('revokeOffchain').send(uid)).hash)
}

describe.each(SLUGS)('the service on %s', (slug) => {
  test.each([0, 1, 2] as const)(
    'accepts version %i until its signer revokes it, regardless of other accounts',
    async (version) => {
      const attestation = await offchain(BRANDENBURG_GATE, { slug, version, time: seconds() - version })
      const { uid } = attestation.sig
      // 881329.942 m by GeographicLib's GeodSolve.
      const answered = { status: 200, body: { result: 881329.94, inputRefs: [uid, expect.any(String)] } }
      expect(await distance({ attestation }, slug)).toMatchObject(answered)
      await revokeOffchain(uid, 3, slug)
      expect(await distance({ attestation }, slug)).toMatchObject(answered)
      await revokeOffchain(uid, 2, slug)
      expect(await distance({ attestation }, slug)).toMatchObject({
        status: 401,
        body: {
          type: `${world.url}/errors/verification-failed`,
          detail: sentence('from'),
        },
      })
    },
  )
})

test('the service signs an answer with the offchain UID, which the contract accepts', async () => {
  const attestation = await offchain(BRANDENBURG_GATE)
  const { body } = await distance({ attestation })
  const { schema, recipient, revocable, refUID, data } = body.attestation
  const { attester, deadline, signature } = body.delegatedAttestation
  const { r, s, v } = Signature.from(signature)
  const eas = await world.chain.eas(5)
  const sent = await eas.getFunction('attestByDelegation').send({
    schema,
    attester,
    deadline,
    signature: { v, r, s },
    data: { recipient, expirationTime: 0, revocable, refUID, data, value: 0 },
  })
  const receipt = await mined(world.chain, sent.hash)
  const landed = await eas
    .getFunction('getAttestation')
    .staticCall(eas.interface.parseLog(receipt.logs[0]!)!.args.uid)
  expect(landed.attester).toBe(attester)
  expect(landed.data).toContain(attestation.sig.uid.slice(2))
})

test('the service re-signs an answer until its offchain input is revoked or expires', async () => {
  const resign = (answer: object) => world.post('/compute/v0/resign', { chainId: 84532, ...answer })
  const kept = await offchain(BRANDENBURG_GATE)
  const { body: answer } = await distance({ attestation: kept }, 'base-sepolia', {
    attestation: await offchain(EIFFEL_TOWER, { signer: testAccount(4) }),
  })
  expect(await resign(answer)).toMatchObject({
    status: 200,
    body: { result: 881329.94, attestation: { data: answer.attestation.data } },
  })
  await revokeOffchain(kept.sig.uid, 4)
  expect((await resign(answer)).status).toBe(200)
  await revokeOffchain(kept.sig.uid, 2)
  expect(await resign(answer)).toMatchObject({
    status: 401,
    body: {
      detail: sentence(),
    },
  })

  const expirationTime = seconds() + 10
  const { body: brief } = await distance({
    attestation: await offchain(BRANDENBURG_GATE, { expirationTime }),
  })
  await new Promise((resolve) => setTimeout(resolve, expirationTime * 1000 + 10 - Date.now()))
  expect(await resign(brief)).toMatchObject({
    status: 401,
    body: { detail: sentence('', expirationTime) },
  })
})

test('the service accepts the signature of a contract until its owner leaves the contract', async () => {
  const { abi, bytecode } = compile('test/accounts.sol').Account!
  const owner = testAccount(2)
  const sender = await world.chain.provider.getSigner(2)
  const deployed = await new ContractFactory(new Interface(abi), bytecode, sender).deploy(owner.address)
  await mined(world.chain, deployed.deploymentTransaction()!.hash)
  const address = await deployed.getAddress()
  const sign = (digest: string) => owner.signingKey.sign(digest).serialized
  const attestation = await offchain(BRANDENBURG_GATE, { account: { address, sign } })
  expect(await distance({ attestation })).toMatchObject({ status: 200, body: { result: 881329.94 } })
  await mined(world.chain, (await deployed.getFunction('setOwner').send(testAccount(3).address)).hash)
  expect(await distance({ attestation })).toMatchObject({
    status: 401,
    body: { detail: sentence() },
  })
})

test('the service accepts offchain inputs in a batch', async () => {
  const attestation = await offchain(BRANDENBURG_GATE)
  const { status, body } = await world.post('/compute/v0/batch', {
    chainId: 84532,
    operations: [
      { operation: 'distance', from: { attestation }, to: EIFFEL_TOWER },
      { operation: 'within', geometry: EIFFEL_TOWER, target: { attestation }, radius: 1 },
    ],
  })
  expect([status, body.results.map((each: { result: unknown }) => each.result)]).toEqual([
    200,
    [881329.94, false],
  ])
})

test('the service accepts inputs of two different forms in one request', async () => {
  const v1 = await offchain(BRANDENBURG_GATE, { version: 1 })
  const lp = await offchain(EIFFEL_TOWER, { schema: LOCATION_PROTOCOL_SCHEMA.uid, signer: testAccount(4) })
  expect(await distance({ attestation: v1 }, 'base-sepolia', { attestation: lp })).toMatchObject({
    status: 200,
    body: { result: 881329.94, inputRefs: [v1.sig.uid, lp.sig.uid] },
  })
  const uid = await attest(world.chain, locationRequest(EIFFEL_TOWER), 1)
  expect(await distance({ attestation: v1 }, 'base-sepolia', uid)).toMatchObject({
    status: 200,
    body: { result: 881329.94, inputRefs: [v1.sig.uid, uid] },
  })
})

test('the service measures a long offchain line in a worker', async () => {
  const line = JSON.stringify({
    type: 'LineString',
    coordinates: Array.from({ length: 5_000 }, (_, i) => [0, i / 100]),
  })
  const data = AbiCoder.defaultAbiCoder().encode(
    ['string', 'string', 'string', 'string'],
    ['0.2', 'EPSG:4326', 'geojson-line', line],
  )
  const attestation = await offchain(EIFFEL_TOWER, { schema: LOCATION_PROTOCOL_SCHEMA.uid, data })
  // Meridian from the equator to 49.99 N: 5539734.752 m by geographiclib-geodesic.
  const answered = { status: 200, body: { result: 5539734.75, inputRefs: [attestation.sig.uid] } }
  expect(await world.post('/compute/v0/length', { chainId: 84532, geometry: { attestation } })).toMatchObject(
    answered,
  )
  // The body is so large that a worker parses it.
  const padding = 'x'.repeat(1_000_000)
  expect(
    await world.post('/compute/v0/length', {
      chainId: 84532,
      geometry: { attestation: { ...attestation, padding } },
    }),
  ).toMatchObject(answered)
  expect(
    (
      await world.post('/compute/v0/length', {
        chainId: 84532,
        geometry: { ...JSON.parse(line), attestation, padding },
      })
    ).body,
  ).toMatchObject({ status: 400, detail: sentence() })
})

test('the service rejects attestations of another chain, expired, or dated in the future', async () => {
  const now = seconds()
  const refused = async (geometry: Promise<unknown>, detail: unknown) =>
    expect(await distance({ attestation: await geometry })).toMatchObject({
      status: 401,
      body: { type: `${world.url}/errors/verification-failed`, detail },
    })
  await refused(offchain(EIFFEL_TOWER, { slug: 'celo' }), sentence())
  await refused(offchain(EIFFEL_TOWER, { time: now - 100, expirationTime: now - 1 }), sentence('', now - 1))
  await refused(offchain(EIFFEL_TOWER, { time: now + 3600 }), sentence())
  expect(
    (
      await distance({
        attestation: await offchain(EIFFEL_TOWER, { expirationTime: now + 3600, revocable: false }),
      })
    ).status,
  ).toBe(200)
})

test('the service rejects a location_type that names another geometry type than the location', async () => {
  const status = async (locationType: string, location: string) => {
    const data = AbiCoder.defaultAbiCoder().encode(
      ['string', 'string', 'string', 'string'],
      ['0.2', 'EPSG:4326', locationType, location],
    )
    return (
      await distance({
        attestation: await offchain(EIFFEL_TOWER, { schema: LOCATION_PROTOCOL_SCHEMA.uid, data }),
      })
    ).status
  }
  const line = '{"type":"LineString","coordinates":[[1,2],[3,4]]}'
  expect(
    await Promise.all([
      status('geojson-line', line),
      status('GeoJSON-LineString', line),
      status('geojson', line),
      status('wkt', 'LINESTRING(1 2,3 4)'),
      status('wkt-linestring', 'LINESTRING(1 2,3 4)'),
    ]),
  ).toEqual(Array(5).fill(200))
  expect(
    await Promise.all([
      status('geojson-point', line),
      status('GEOJSON-MultiLineString', line),
      status('wkt-point', 'LINESTRING(1 2,3 4)'),
      status('address', 'Paris'),
    ]),
  ).toEqual(Array(4).fill(400))
})

test('the service rejects an input of two forms, and a URI if it must not fetch', async () => {
  const attestation = await offchain(EIFFEL_TOWER)
  const { uid } = attestation.sig
  expect(await distance({ attestation, uid })).toMatchObject({
    status: 400,
    body: {
      detail: sentence('from'),
    },
  })
  expect(await distance({ attestation, ...EIFFEL_TOWER })).toMatchObject({
    status: 400,
    body: {
      detail: sentence('from'),
    },
  })
  expect(await distance({ uid, uri: 'https://x.example/a' })).toMatchObject({
    status: 400,
    body: {
      detail: sentence('from.uri'),
    },
  })
  // No onchain attestation has this UID.
  expect((await distance(uid)).status).toBe(404)
})

test('the service rejects a document with __proto__ or very deep nesting, and continues', async () => {
  const attestation = JSON.stringify(await offchain(BRANDENBURG_GATE))
  const send = async (document: string) =>
    (
      await fetch(`${world.url}/compute/v0/distance`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"chainId":84532,"to":${JSON.stringify(EIFFEL_TOWER)},"from":{"attestation":${document}}}`,
      })
    ).status
  expect(await send(attestation.replace('{', '{"__proto__":{"signer":"0x0"},'))).toBe(400)
  expect(await send('['.repeat(100_000) + ']'.repeat(100_000))).toBe(400)
  expect(await send(attestation.replace('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`))).toBe(400)
  expect(await send(attestation)).toBe(200)
})

testSentences()
