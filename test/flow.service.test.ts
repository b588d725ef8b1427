import { AbiCoder, type Contract } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { LOCAL_SIGNER_KEY, attest, locationRequest, mined, request, revoke } from '../dev/chain'
import { BOOLEAN_RESULT_FIELDS, NUMERIC_RESULT_FIELDS, fieldTypes } from '../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import { Wallet } from 'ethers'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { positions } from './positions'

/** Tests the whole path with real parts: chain -> indexer -> database -> HTTP -> signature -> chain. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ INDEX_MAX_AGE_SECONDS: '2' }, { processes: true })
})

const OURS = new Wallet(LOCAL_SIGNER_KEY).address
const EIFFEL_TOWER = { type: 'Point' as const, coordinates: [2.2945, 48.8584] }
const BRANDENBURG_GATE = { type: 'Point' as const, coordinates: [13.3777, 52.5163] }

test('the service measures an attested place, and signs an answer that the contract accepts', async () => {
  const { chain } = world
  const uid = await attest(
    chain,
    locationRequest(EIFFEL_TOWER, { memo: 'Eiffel Tower', eventTimestamp: 1_700_000_000 }),
    3,
  )
  await world.caughtUp()
  const record = await world.get(`/api/v0/location-records/${uid}`)
  expect(record).toMatchObject({
    status: 200,
    body: {
      uid,
      chain: 'base-sepolia',
      longitude: 2.2945,
      latitude: 48.8584,
      memo: 'Eiffel Tower',
      event_timestamp: '2023-11-14T22:13:20.000Z',
      revoked: false,
    },
  })

  const recipient = '0x00000000219ab540356cBB839Cbe05303d7705Fa'
  const answer = await world.post('/compute/v0/distance', {
    chainId: 84532,
    from: uid,
    to: BRANDENBURG_GATE,
    recipient,
  })
  // 881329.942 m by GeographicLib's GeodSolve.
  expect(answer).toMatchObject({
    status: 200,
    body: { result: 881329.94, units: 'meters', operation: 'distance' },
  })
  const { attestation, delegatedAttestation, timestamp, inputRefs } = answer.body
  expect(inputRefs[0]).toBe(uid)
  expect(attestation).toMatchObject({ attester: OURS, recipient, signature: delegatedAttestation.signature })

  const landed = await submit(await chain.eas(5), answer.body)
  expect(landed.attester).toBe(OURS)
  expect(landed.recipient).toBe(recipient)
  const decoded = AbiCoder.defaultAbiCoder().decode(fieldTypes(NUMERIC_RESULT_FIELDS), landed.data)
  expect(decoded.toArray(true)).toEqual([88132994n, 'centimeters', inputRefs, BigInt(timestamp), 'distance'])

  // The nonce has been used, so the next answer has the following nonce and also lands.
  const next = (
    await world.post('/compute/v0/distance', { chainId: 84532, from: EIFFEL_TOWER, to: BRANDENBURG_GATE })
  ).body
  expect(next.delegatedAttestation.nonce).toBe(delegatedAttestation.nonce + 1)
  expect((await submit(await chain.eas(6), next)).attester).toBe(OURS)
})

/** Submits an answer like an agent that has only the answer, and reads the attestation. */
async function submit(eas: Contract, answer: Awaited<ReturnType<TestWorld['post']>>['body']) {
  const { attestation, delegatedAttestation } = answer
  const { schema, recipient, revocable, refUID, data } = attestation
  const { signature, attester, deadline } = delegatedAttestation
  const [r, s, v] = [
    signature.slice(0, 66),
    `0x${signature.slice(66, 130)}`,
    Number(`0x${signature.slice(130)}`),
  ]
  const sent = await eas.getFunction('attestByDelegation').send({
    ...{ schema, attester, deadline, signature: { v, r, s } },
    data: { recipient, expirationTime: 0, revocable, refUID, data, value: 0 },
  })
  const receipt = await mined(world.chain, sent.hash)
  const uid = eas.interface.parseLog(receipt.logs[0]!)!.args.uid
  return eas.getFunction('getAttestation').staticCall(uid)
}

test('the service signs a boolean answer about an attested polygon, which lands', async () => {
  const { chain } = world
  const paris = await attest(
    chain,
    locationRequest({
      type: 'Polygon',
      coordinates: [positions('2.22 48.81, 2.42 48.81, 2.42 48.91, 2.22 48.91, 2.22 48.81')],
    }),
    2,
  )
  await world.caughtUp()
  const answer = (
    await world.post('/compute/v0/contains', { chainId: 84532, container: paris, geometry: EIFFEL_TOWER })
  ).body
  expect(answer).toMatchObject({
    result: true,
    operation: 'contains',
    inputRefs: [paris, expect.any(String)],
  })
  const landed = await submit(await chain.eas(5), answer)
  expect(
    AbiCoder.defaultAbiCoder().decode(fieldTypes(BOOLEAN_RESULT_FIELDS), landed.data).toArray(true),
  ).toEqual([true, answer.inputRefs, BigInt(answer.timestamp), 'contains'])
})

test('the service records both location schemas, and logs an unreadable payload', async () => {
  const { chain } = world
  const undecodable = await attest(chain, request(LOCATION_SCHEMA.uid, '0x1234'))
  const bowTie = positions('0 0, 1 1, 1 0, 0 1, 0 0')
  const crossed = await attest(chain, locationRequest({ type: 'Polygon', coordinates: [bowTie] }))
  const line = await attest(
    chain,
    locationRequest(
      { type: 'LineString', coordinates: positions('179 -17, -179 -16') },
      { schema: LOCATION_PROTOCOL_SCHEMA.uid },
    ),
    1,
  )
  const address = await attest(
    chain,
    request(
      LOCATION_PROTOCOL_SCHEMA.uid,
      AbiCoder.defaultAbiCoder().encode(
        ['string', 'string', 'string', 'string'],
        ['1', 'EPSG:4326', 'address', '10 Downing Street'],
      ),
    ),
  )
  await world.caughtUp()

  expect((await world.get(`/api/v0/location-records/${line}`)).body).toMatchObject({
    location_type: 'geojson-linestring',
    longitude: null,
    recipe_types: [],
  })
  expect((await world.get(`/api/v0/location-records/${address}`)).body).toMatchObject({
    location: '10 Downing Street',
    longitude: null,
    latitude: null,
    problem: expect.stringMatching(/^location_type 'address' /),
  })
  const unreadable = sentence('', undecodable)
  expect(await world.get(`/api/v0/location-records/${undecodable}`)).toMatchObject({
    status: 404,
    body: { message: 'Location record not found', detail: unreadable },
  })
  expect(
    await world.get(`/ogc/collections/location-records/items/base-sepolia-${undecodable}`),
  ).toMatchObject({ status: 404, body: { detail: unreadable } })
  // The line crosses the antimeridian, and so does this box.
  expect(
    (await world.get('/api/v0/location-records?bbox=179.5,-20,-179.5,-10')).body.data.map(
      (r: { uid: string }) => r.uid,
    ),
  ).toEqual([line])

  const distanceFrom = async (from: unknown) =>
    (await world.post('/compute/v0/distance', { chainId: 84532, from, to: EIFFEL_TOWER })).body
  expect(await distanceFrom(undecodable)).toMatchObject({
    status: 400,
    detail: sentence(),
  })
  const { problem } = (await world.get(`/api/v0/location-records/${address}`)).body
  expect(await distanceFrom(address)).toMatchObject({
    status: 400,
    detail: sentence('from', address, problem),
  })
  expect(await distanceFrom(crossed)).toMatchObject({
    status: 400,
    detail: sentence('', crossed),
  })
})

test('the service rejects revoked, expired and unknown attestations, and reads new ones', async () => {
  const { chain } = world
  const distanceFrom = async (from: unknown) =>
    (await world.post('/compute/v0/distance', { chainId: 84532, from, to: EIFFEL_TOWER })).body
  const now = (await chain.provider.getBlock('latest'))!.timestamp
  const revoked = await attest(chain, locationRequest(BRANDENBURG_GATE), 2)
  await revoke(chain, revoked, 2)
  // The chain's clock is 40 days behind. The attestation is valid for the contract, but expired by the
  // service's clock.
  const expired = await attest(chain, locationRequest(BRANDENBURG_GATE, { expirationTime: now + 3600 }), 2)
  await world.caughtUp()
  expect((await world.get(`/api/v0/location-records/${revoked}`)).body.revoked).toBe(true)
  expect(await distanceFrom(revoked)).toMatchObject({
    status: 400,
    detail: sentence('from', revoked),
  })
  expect(await distanceFrom(expired)).toMatchObject({
    status: 400,
    detail: expect.stringContaining('expired'),
  })
  expect(await distanceFrom(`0x${'ab'.repeat(32)}`)).toMatchObject({
    type: `${world.url}/errors/attestation-not-found`,
    status: 404,
    detail: sentence('from', 'ab'.repeat(32)),
  })

  await world.services.get('indexer-base-sepolia')!.kill()
  const fresh = await attest(chain, locationRequest(BRANDENBURG_GATE), 2)
  expect(await distanceFrom({ uid: fresh })).toMatchObject({
    result: 881329.94,
    inputRefs: [fresh, expect.any(String)],
  })
  await world.caughtUp()
  expect((await world.get(`/api/v0/location-records/${fresh}`)).status).toBe(200)
})

test('the service does not sign after a revocation or reorg that the index has not read', async () => {
  const { chain } = world
  const distanceFrom = async (from: string) =>
    (await world.post('/compute/v0/distance', { chainId: 84532, from, to: EIFFEL_TOWER })).body
  const kept = await attest(chain, locationRequest(BRANDENBURG_GATE), 2)
  const before = await chain.provider.send('evm_snapshot', [])
  const dropped = await attest(chain, locationRequest(BRANDENBURG_GATE), 2)
  await world.caughtUp()
  const indexer = world.services.get('indexer-base-sepolia')!
  // An indexer that stops during a transaction would hold the one session of an embedded database.
  const stopped = async () => {
    process.kill(indexer.pid, 'SIGSTOP')
    const { status } = await world.get(`/api/v0/location-records/${kept}`)
    if (status !== 200) process.kill(indexer.pid, 'SIGCONT')
    return status
  }
  await expect.poll(stopped, { timeout: 30_000 }).toBe(200)
  try {
    await chain.provider.send('evm_revert', [before])
    await revoke(chain, kept, 2)
    expect((await world.get(`/api/v0/location-records/${kept}`)).body.revoked).toBe(false)
    // After two seconds the index counts as outdated, and the chain itself is read.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(await distanceFrom(kept)).toMatchObject({
      status: 400,
      detail: sentence('from', kept),
    })
    expect(await distanceFrom(dropped)).toMatchObject({ status: 404 })
  } finally {
    process.kill(indexer.pid, 'SIGCONT')
  }
})

testSentences()
