import { AbiCoder } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, request, revoke } from '../dev/chain'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import { rows } from './database'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER, positions } from './positions'

/** Tests the whole path with real parts: chain -> indexer -> database -> HTTP -> signature -> chain. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
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
    (await world.post('/compute/v0/distance', { chainId: 84532, from, to: TOWER })).body
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

test('the service does not sign after a revocation or reorg that the index has not read', async () => {
  const { chain } = world
  const distanceFrom = async (from: string) =>
    (await world.post('/compute/v0/distance', { chainId: 84532, from, to: TOWER })).body
  const kept = await attest(chain, locationRequest(GATE), 2)
  const before = await chain.provider.send('evm_snapshot', [])
  const dropped = await attest(chain, locationRequest(GATE), 2)
  await world.caughtUp()
  // The indexer ends, because another one has its lease.
  await rows(world.databaseUrl, `UPDATE chain_writer SET writer = 'elsewhere/1/x'`)
  await expect(world.indexing).rejects.toMatchObject({ name: 'LeaseLostError' })
  await chain.provider.send('evm_revert', [before])
  await revoke(chain, kept, 2)
  expect((await world.get(`/api/v0/location-records/${kept}`)).body.revoked).toBe(false)
  // The index counts as outdated after 15 seconds, and the chain itself is read.
  await rows(world.databaseUrl, `UPDATE chain_status SET agreed_at = agreed_at - interval '16 s'`)
  expect(await distanceFrom(kept)).toMatchObject({
    status: 400,
    detail: sentence('from', kept),
  })
  expect(await distanceFrom(dropped)).toMatchObject({ status: 404 })
})

testSentences()
