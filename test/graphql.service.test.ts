import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, revoke, testAccount } from '../dev/chain'
import { startTestWorld, type TestWorld } from './world'
import { positions } from './positions'

/** Tests raw GraphQL on the whole service of `npm start` (chain, indexer, database, API). */

type Json = any
let world: TestWorld
const uids: string[] = []
const FIJI = {
  type: 'Polygon' as const,
  coordinates: [positions('177 -19, -178 -19, -178 -16, 177 -16, 177 -19')],
}
beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  uids.push(
    await attest(
      chain,
      locationRequest(
        { type: 'Point', coordinates: [2.2945, 48.8584] },
        { memo: 'Eiffel Tower', recipient: testAccount(2).address },
      ),
      1,
    ),
  )
  uids.push(await attest(chain, locationRequest(FIJI, { memo: 'Fiji' }), 3))
  uids.push(
    await attest(chain, locationRequest({ type: 'Point', coordinates: [1e9, 0] }, { memo: 'nowhere' }), 1),
  )
  await revoke(chain, uids[0]!, 1)
  await world.caughtUp()
})

/** Repeats the query while the status is 503. world.post checks responses against the OpenAPI document. */
async function ask(query: string, variables: object = {}): Promise<Json> {
  for (;;) {
    const { status, body } = await world.post('/graphql', { query, variables })
    if (status === 503) continue
    expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined })
    return body.data
  }
}

test('GraphQL records equal those of the Records API', async () => {
  const { locationRecords } =
    await ask(`{ locationRecords { totalCount nodes { uid chain prover subject timestamp eventTimestamp srs locationType location longitude latitude
    recipeTypes recipePayloads mediaTypes mediaData memo revoked createdAt updatedAt problem } } }`)
  const { body } = await world.get('/api/v0/location-records')
  const snake = (record: Json) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    )
  expect(locationRecords.totalCount).toBe(body.count)
  for (const [i, record] of body.data.entries()) expect(record).toMatchObject(snake(locationRecords.nodes[i]))
})

test('GraphQL links a revocation in the event log and its record to each other', async () => {
  const { attestationEvents } = await ask(
    '{ attestationEvents(filter: { kind: { equalTo: "REVOKED" } }) { nodes { uid attester blockTimestamp locationRecord { memo revoked revocationTime geometry events { nodes { kind } } } } } }',
  )
  const [revocation] = attestationEvents.nodes
  expect(attestationEvents.nodes).toHaveLength(1)
  expect(revocation).toEqual({
    uid: uids[0],
    attester: testAccount(1).address,
    blockTimestamp: revocation.locationRecord.revocationTime,
    locationRecord: {
      memo: 'Eiffel Tower',
      revoked: true,
      revocationTime: expect.stringMatching(/Z$/),
      geometry: { type: 'Point', coordinates: [2.2945, 48.8584] },
      events: { nodes: [{ kind: 'REVOKED' }, { kind: 'ATTESTED' }] },
    },
  })
})

test('GraphQL finds a geometry across the antimeridian on both sides, as attested', async () => {
  const found = await ask(
    '{ a: locationRecords(filter: { bbox: [179, -18, 180, -17] }) { nodes { memo geometry } } b: locationRecords(filter: { bbox: [-179.5, -18, -179, -17] }) { totalCount } c: locationRecords(filter: { bbox: [-1, -18, 1, -17] }) { totalCount } }',
  )
  expect(found).toEqual({
    a: { nodes: [{ memo: 'Fiji', geometry: FIJI }] },
    b: { totalCount: 1 },
    c: { totalCount: 0 },
  })
})

test('GraphQL returns the event of an attestation without a record, with its problem', async () => {
  const { attestationEvents } = await ask(
    `{ attestationEvents(filter: { uid: { equalTo: "${uids[2]}" } }) { nodes { problem locationRecord { geometry } } } }`,
  )
  expect(attestationEvents.nodes).toEqual([
    {
      problem: expect.any(String),
      locationRecord: expect.toSatisfy((record: Json) => record === null || record.geometry === null),
    },
  ])
})

test('GraphQL errors have the documented status and form, and GET / names the endpoint', async () => {
  for (const payload of [
    { query: '{ x }' },
    { query: 'mutation { x }' },
    [],
    { query: '{ locationRecords(first: 5000) { totalCount } }' },
  ])
    expect((await world.post('/graphql', payload)).status).toBe(400)
  expect((await world.get('/graphql')).status).toBe(405)
  expect((await world.get('/')).body.endpoints.graphql).toEqual([
    `GET ${world.url}/graphql`,
    `POST ${world.url}/graphql`,
  ])
})
