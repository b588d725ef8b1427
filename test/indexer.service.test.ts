import { AbiCoder } from 'ethers'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, request, revoke } from '../dev/chain'
import { fieldTypes } from '../src/eas'
import { LOCATION_SCHEMA } from '../src/location'
import { command } from './behind'
import { rows } from './database'
import { expectInvariants } from './invariants'
import { LOCAL_CHAIN, inOneBlock, mine, startTestWorld, type TestWorld } from './world'

/** Tests blocks with many events, and rows that the database refuses. The invariants hold after each test. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})
afterEach(async () => {
  await world.caughtUp()
  await expectInvariants(world)
})

const place = (longitude: number, latitude = 10) =>
  locationRequest({ type: 'Point', coordinates: [longitude, latitude] })
const status = async (uid: string) => (await world.get(`/api/v0/location-records/${uid}`)).status
const isRevoked = async (uid: string) => (await world.get(`/api/v0/location-records/${uid}`)).body.revoked

test('the indexer indexes several attestations and their revocations in one block', async () => {
  const { chain, caughtUp } = world
  const eas = await chain.eas()
  const twin = place(10)
  const attestTwin = () => eas.getFunction('attest').send(twin, { gasLimit: 1_000_000 })
  const receipts = await inOneBlock(chain, [
    attestTwin,
    attestTwin,
    () =>
      eas
        .getFunction('multiAttest')
        .send([{ schema: twin.schema, data: [place(11).data, place(12).data] }], { gasLimit: 2_000_000 }),
  ])
  const uids = receipts.flatMap((receipt) => receipt.logs.map((entry) => entry.data))
  expect(new Set(uids).size).toBe(4)
  await caughtUp()
  expect(await Promise.all(uids.map(status))).toEqual([200, 200, 200, 200])

  // Revokes an attestation in its own block. Its content and time, and therefore its UID, are known in
  // advance.
  const snapshot = await chain.provider.send('evm_snapshot', [])
  const time = (await chain.provider.getBlock('latest'))!.timestamp + 100
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  const uid = await attest(chain, place(13))
  await chain.provider.send('evm_revert', [snapshot])
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  await inOneBlock(chain, [
    () => eas.getFunction('attest').send(place(13), { gasLimit: 1_000_000 }),
    () =>
      eas
        .getFunction('revoke')
        .send({ schema: twin.schema, data: { uid, value: 0 } }, { gasLimit: 1_000_000 }),
  ])
  // If the new head has a height that was already read, the indexer notices it only with the next block.
  await mine(chain, 1)
  await caughtUp()
  expect(await isRevoked(uid)).toBe(true)
})

test('the indexer orders the changes of one block by the log index of their events', async () => {
  const { chain, caughtUp, databaseUrl } = world
  const eas = await chain.eas()
  const receipts = await inOneBlock(
    chain,
    Array.from(
      { length: 12 },
      (_, i) => () => eas.getFunction('attest').send(place(20 + i, 20), { gasLimit: 1_000_000 }),
    ),
  )
  const uids = receipts.map(({ logs }) => logs[0]!.data)
  await caughtUp()
  const changes = await rows<{ uid: string }>(
    databaseUrl,
    'SELECT uid FROM record_change WHERE uid = ANY($1) ORDER BY id',
    [uids],
  )
  expect(changes.map(({ uid }) => uid)).toEqual(uids)
})

test('the indexer stores all of 300 attestations in one block, some of them malformed', async () => {
  const { chain, caughtUp, databaseUrl } = world
  const encode = (type: string, location: string, memo = '') =>
    AbiCoder.defaultAbiCoder().encode(fieldTypes(LOCATION_SCHEMA.fields), [
      0,
      'EPSG:4326',
      type,
      location,
      [],
      [],
      [],
      [],
      memo,
    ])
  const ring = Array.from({ length: 1_500 }, (_, i) => [10 * Math.cos(i * 2.39), 10 * Math.sin(i * 2.39)])
  const absurd = [
    encode('geojson-polygon', JSON.stringify({ type: 'Polygon', coordinates: [[...ring, ring[0]]] })),
    encode('geojson', '['.repeat(20_000)),
    encode('wkt', `GEOMETRYCOLLECTION(${'GEOMETRYCOLLECTION('.repeat(2_000)}`),
    // This string contains invalid UTF-8.
    encode('geohash', 'x'.repeat(20_000)).replaceAll('7878', 'fffe'),
    // All ABI offsets point to the same empty position.
    `0x${'120'.padStart(64, '0').repeat(9)}${'0'.repeat(64)}`,
    encode('h3', '89283082837ffff'.repeat(1_000)),
    encode('scaledCoordinates', '{"x":1e400,"y":"1","scale":0}'),
    encode('\ud83d\ude00'.repeat(200), 'x', '\u0001\u001f\u2028'),
    // The text exceeds the maximum size of an index entry, even compressed.
    encode(
      Array.from({ length: 4_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * i * 7_919) % 20_000))).join(
        '',
      ),
      'x',
    ),
  ]
  const data = Array.from({ length: 300 }, (_, i) => ({
    ...request(LOCATION_SCHEMA.uid, absurd[i] ?? encode('geohash', 'u33dc0', String(i % 100))).data,
    ...(i % 3 === 1 && { expirationTime: 2n ** 64n - 1n }),
  }))
  const multiAttest = (await chain.eas()).getFunction('multiAttest')
  const slices = [0, 50, 100, 150, 200, 250]
  const receipts = await inOneBlock(
    chain,
    slices.map(
      (i) => () =>
        multiAttest.send([{ schema: LOCATION_SCHEMA.uid, data: data.slice(i, i + 50) }], {
          gasLimit: i ? 60_000_000 : 600_000_000,
        }),
    ),
  )
  expect(receipts.flatMap(({ logs }) => logs)).toHaveLength(300)
  const { blockNumber } = receipts[0]!
  await caughtUp()
  const found = await rows<{ problems: number; records: number }>(
    databaseUrl,
    `SELECT (SELECT count(*) FROM attestation_event WHERE block_number = $1 AND problem IS NOT NULL)::int AS problems, (SELECT count(*) FROM location_record WHERE block_number = $1)::int AS records`,
    [blockNumber],
  )
  // The index accepts a ring that crosses itself; only compute rejects it. Only the payload with invalid
  // UTF-8, which cannot be decoded, has no record.
  expect(found).toEqual([{ problems: 8, records: 299 }])
})

const SLOW = { tags: ['slow'] }
test('the indexer withholds an attestation that the database refuses until a replay', SLOW, async () => {
  const { chain, caughtUp, databaseUrl } = world
  const sql = <Row extends object>(text: string, values?: unknown[]) => rows<Row>(databaseUrl, text, values)
  const withheld = async () =>
    (await world.get('/ready')).body.chains['base-sepolia'].withheld_attestations as number
  const attestMemo = (memo: string) =>
    attest(chain, locationRequest({ type: 'Point', coordinates: [60, 10] }, { memo }))
  await caughtUp()
  await sql(`ALTER TABLE location_record ADD CONSTRAINT refused CHECK (memo <> 'poison')`)
  const snapshot = await chain.provider.send('evm_snapshot', [])
  const taken = await attestMemo('poison')
  await caughtUp()
  expect(await withheld()).toBe(1)
  await chain.provider.send('evm_revert', [snapshot])
  await mine(chain, 2)
  await caughtUp()
  expect(await withheld()).toBe(0)

  const [guilty, healthy] = [await attestMemo('poison'), await attestMemo('healthy')]
  await revoke(chain, guilty)
  await caughtUp()
  expect([await status(taken), await status(guilty), await status(healthy), await withheld()]).toEqual([
    404, 404, 200, 1,
  ])
  expect(await (await fetch(`${world.url}/metrics`)).text()).toContain(
    'geospatial_withheld_attestations{chain="base-sepolia"} 1',
  )
  await mine(chain, LOCAL_CHAIN.finality + 1)
  await caughtUp()
  const environment = { DATABASE_URL: databaseUrl }
  const audit = await command(
    { ...environment, RPC_URL_BASE_SEPOLIA: chain.url },
    'audit',
    '--chain',
    'base-sepolia',
    '--quick',
  )
  expect([audit.code, audit.output]).toEqual([
    1,
    expect.stringContaining(`${guilty}: withheld, it could not be stored:`),
  ])
  await sql('ALTER TABLE location_record DROP CONSTRAINT refused')
  // A replay needs no endpoint.
  expect((await command(environment, 'replay')).output).toContain(
    '1 records differed from the log and were repaired',
  )
  // Adds a record of a chain whose event log is empty.
  await sql(`INSERT INTO location_record SELECT (jsonb_populate_record(record,
    jsonb_build_object('id', 'celo-' || uid, 'chain', 'celo'))).* FROM location_record AS record LIMIT 1`)
  expect((await command(environment, 'replay')).output).toMatch(
    /celo: 1 attestations replayed, 1 records differed from the log and were repaired/,
  )
  expect(await sql(`SELECT FROM location_record WHERE chain = 'celo'`)).toEqual([])
  expect([await isRevoked(guilty), await withheld()]).toEqual([true, 0])
})
