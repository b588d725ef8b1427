import { AbiCoder } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, request, revoke } from '../dev/chain'
import { LOCATION_PROTOCOL_SCHEMA } from '../src/location'
import { rows, TEST_DATABASE_URL } from './database'
import { inOneBlock, startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { positions } from './positions'

/**
 * Tests records from the chain to HTTP. Each known defect of an earlier public records service
 * (docs/spec/facts.md 4) has a test with its name, which fails if this service has the defect.
 */
const LIST = '/api/v0/location-records'
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({}, { processes: true })
})

const list = async (query = '') => {
  const { status, body } = await world.get(`${LIST}${query}`)
  expect([status, body.message]).toEqual([200, undefined])
  return body
}
const uidsOf = async (query: string) =>
  (await list(query)).data.map(({ uid }: { uid: string }) => uid) as string[]
/**
 * The lists are compared as sets, because blocks that are mined at once have the same timestamp, and then the
 * UIDs decide the order.
 */
const found = async (query: string) => new Set(await uidsOf(query))
const point = (lng: number, lat: number) => ({ type: 'Point' as const, coordinates: [lng, lat] })
/** Attests these geometries one after the other. Returns their UIDs when they are in the database. */
async function attested(...geometries: Parameters<typeof locationRequest>[0][]): Promise<string[]> {
  const uids: string[] = []
  for (const geometry of geometries) uids.push(await attest(world.chain, locationRequest(geometry), 1))
  await world.caughtUp()
  return uids
}
/** An attestation of the four-string schema, with a location of any type. */
const ofType = (type: string, location: string) =>
  request(
    LOCATION_PROTOCOL_SCHEMA.uid,
    AbiCoder.defaultAbiCoder().encode(
      ['string', 'string', 'string', 'string'],
      ['0.2.0', 'EPSG:4326', type, location],
    ),
  )

describe('the API does not have this defect of an earlier records service:', () => {
  test('geometry is never written, so bbox finds nothing', async () => {
    const [place, line, area] = await attested(
      point(13.3777, 52.5163),
      { type: 'LineString', coordinates: positions('13.35 52.5145, 13.4 52.5186') },
      {
        type: 'Polygon',
        coordinates: [positions('13.3 52.5, 13.45 52.5, 13.45 52.53, 13.3 52.53, 13.3 52.5')],
      },
    )
    expect(await found('?bbox=13.37,52.51,13.38,52.52')).toEqual(new Set([area, line, place]))
    expect(await uidsOf('?bbox=13.31,52.505,13.32,52.51')).toEqual([area])
    expect(await found('?near=13.3777,52.5163&radius=0.01')).toEqual(new Set([place, area]))
  })
  test('a longitude or latitude of 0 is dropped', async () => {
    const [greenwich, quito, island] = await attested(point(0, 51.4779), point(-78.5, 0), point(0, 0))
    const placeOf = async (uid: string) => {
      const { longitude, latitude } = (await world.get(`${LIST}/${uid}`)).body
      return [longitude, latitude]
    }
    expect([await placeOf(greenwich!), await placeOf(quito!), await placeOf(island!)]).toEqual(
      positions('0 51.4779, -78.5 0, 0 0'),
    )
    expect(await uidsOf('?bbox=0,0,0,0')).toEqual([island])
    const csv = await (await fetch(`${world.url}${LIST}?bbox=0,0,0,0&format=csv`)).text()
    expect(csv).toContain(',0,0,[],')
  })
  test('latitude and longitude are guessed and swapped', async () => {
    const { chain } = world
    const written: [string, string, unknown][] = [
      ['coordinate-decimal+lon-lat', '[30.5, 60.25]', [30.5, 60.25]],
      ['coordinate-decimal+lat-lon', '[60.25, 30.5]', [30.5, 60.25]],
      // The type does not state which number comes first, and both can be a latitude.
      ['coordinate-decimal', '[30.5, 60.25]', [null, null]],
      ['DecimalDegrees', '30.5, 60.25', [null, null]],
      // All public writers have the longitude first (docs/spec/facts.md 2).
      ['DecimalDegrees<string>', '30.5, 60.25', [30.5, 60.25]],
      // An impossible latitude must not swap the two numbers.
      ['geojson-point', '{"type":"Point","coordinates":[30.5,120.25]}', [null, null]],
    ]
    const uids: string[] = []
    for (const [type, location] of written) uids.push(await attest(chain, ofType(type, location), 2))
    await world.caughtUp()
    for (const [i, [type, location, [longitude, latitude]]] of (
      written as [string, string, [unknown, unknown]][]
    ).entries())
      expect((await world.get(`${LIST}/${uids[i]}`)).body).toMatchObject({
        location_type: type,
        location,
        longitude,
        latitude,
      })
    expect(await found('?bbox=30,60,31,61')).toEqual(new Set([uids[0], uids[1], uids[4]]))
  })
  test('an event time in milliseconds prevents a record, and an answer about an unambiguous location', async () => {
    const { chain } = world
    const uid = await attest(chain, locationRequest(point(-33, 44), { eventTimestamp: 1_700_000_000_000 }), 1)
    await world.caughtUp()
    const { body } = await world.get(`${LIST}/${uid}`)
    expect(body).toMatchObject({
      ...{ longitude: -33, latitude: 44, event_timestamp: body.timestamp },
      problem: sentence('', 1_700_000_000_000),
    })
    expect(await uidsOf('?bbox=-34,43,-32,45')).toEqual([uid])
    const page = await (await fetch(`${world.url}${LIST}?format=html&bbox=-34,43,-32,45`)).text()
    expect(page).not.toContain('no geometry')
    const asked = { chainId: 84532, from: uid, to: { type: 'Point', coordinates: [-33, 44] } }
    expect((await world.post('/compute/v0/distance', asked)).body).toMatchObject({ result: 0 })
  })
  test('revocations are never applied', async () => {
    const [uid] = await attested(point(100, 1))
    const tag = (await fetch(`${world.url}${LIST}/${uid}`)).headers.get('etag')!
    expect(await uidsOf('?bbox=99,0,101,2&revoked=false')).toEqual([uid])
    await revoke(world.chain, uid!, 1)
    await world.caughtUp()
    await new Promise((resolve) => setTimeout(resolve, 300))
    const again = await fetch(`${world.url}${LIST}/${uid}`, { headers: { 'if-none-match': tag } })
    expect([again.status, ((await again.json()) as { revoked: boolean }).revoked]).toEqual([200, true])
    expect([
      await uidsOf('?bbox=99,0,101,2&revoked=false'),
      await uidsOf('?bbox=99,0,101,2&revoked=true'),
    ]).toEqual([[], [uid]])
    expect((await list('?bbox=99,0,101,2')).data).toMatchObject([{ uid, revoked: true }])
    expect((await world.get(`${LIST}/stats`)).body.revoked).toBe(1)
  })
  test('paging claims a limit that it does not apply', async () => {
    for (const limit of [1, 2, 5]) {
      const { data, count, limit: applied } = await list(`?limit=${limit}`)
      expect([data.length, count, applied]).toEqual([limit, limit, limit])
    }
    expect((await list('?limit=4000')).limit).toBe(1000)
    const all = await uidsOf('')
    const pages: string[] = []
    for (let n = 1; pages.length < all.length; n++)
      pages.push(...(await uidsOf(`?limit=2&offset=${(n - 1) * 2}`)))
    expect(pages).toEqual(all)
    expect(new Set(all).size).toBe(all.length)
  })
  test('bbox is applied after paging', async () => {
    const [west] = await attested(point(-150, -40))
    await attested(point(10, 10), point(11, 11), point(12, 12))
    expect(await list('?bbox=-151,-41,-149,-39&limit=1')).toMatchObject({
      data: [{ uid: west }],
      count: 1,
      next_cursor: null,
    })
    expect(await list('?bbox=-151,-41,-149,-39&limit=1&offset=1')).toMatchObject({ data: [], count: 0 })
  })
  test('a malformed date returns an empty 200', async () => {
    for (const name of ['fromTimestamp', 'toTimestamp'])
      for (const text of [
        ...['yesterday', '2026-02-30', '2026-13-01', '2026-01-01T25:00:00Z', '1700000000', '', '0'],
        ...['P1D', '2026-01-01/2026-02-01'],
      ])
        expect(await world.get(`${LIST}?${name}=${text}`)).toMatchObject({
          status: 400,
          body: {
            status: 'error',
            message: `Invalid ${name} parameter`,
            detail: sentence(),
          },
        })
  })
  test('rows at the watermark are skipped permanently', async () => {
    const { chain } = world
    const before = await uidsOf('?limit=1000')
    // Several records of one block, with the same timestamp, which continue on the next page. Some records of
    // the next block have that timestamp, too.
    const eas = await chain.eas(3)
    const send = (i: number) => () =>
      eas.getFunction('attest').send(locationRequest(point(50 + i / 10, 5)), { gasLimit: 3_000_000 })
    await chain.provider.send('anvil_setBlockTimestampInterval', [0])
    try {
      await inOneBlock(chain, [0, 1, 2, 3, 4].map(send))
      await world.caughtUp()
      await inOneBlock(chain, [5, 6].map(send))
      await world.caughtUp()
    } finally {
      await chain.provider.send('anvil_removeBlockTimestampInterval', [])
    }
    const { data } = await list('?bbox=49,4,51,6')
    expect(new Set(data.map(({ timestamp }: { timestamp: string }) => timestamp)).size).toBe(1)
    expect(new Set(data.map(({ longitude }: { longitude: number }) => longitude))).toEqual(
      new Set([50, 50.1, 50.2, 50.3, 50.4, 50.5, 50.6]),
    )
    const paged: string[] = []
    for (let cursor = ''; ;) {
      const { data: page, next_cursor } = await list(`?limit=3${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.map(({ uid }: { uid: string }) => uid))
      if (next_cursor === null) break
      cursor = next_cursor
    }
    expect(new Set(paged)).toEqual(new Set([...before, ...data.map(({ uid }: { uid: string }) => uid)]))
    expect(paged).toHaveLength(before.length + 7)
  })
  test('one database error ends the process', async () => {
    const pid = world.services.get('api')!.pid
    await rows(world.databaseUrl, 'ALTER TABLE location_record RENAME COLUMN line TO lines')
    try {
      expect(await world.get(LIST)).toEqual({
        status: 500,
        body: { status: 'error', message: 'Internal error', detail: sentence() },
      })
      expect((await world.get('/health')).status).toBe(200)
    } finally {
      await rows(world.databaseUrl, 'ALTER TABLE location_record RENAME COLUMN lines TO line')
    }
    expect((await list()).count).toBeGreaterThan(5)
    // Cuts all connections of the API.
    if (TEST_DATABASE_URL) {
      await rows(
        world.databaseUrl,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'api'`,
      )
      const answers = await Promise.all(Array.from({ length: 5 }, () => world.get(LIST)))
      for (const { status } of answers) expect([200, 503]).toContain(status)
      await expect.poll(async () => (await world.get(LIST)).status).toBe(200)
      expect((await list()).count).toBeGreaterThan(5)
    }
    // The indexer continues, too.
    const [uid] = await attested(point(1, 1))
    expect((await world.get(`${LIST}/${uid}`)).status).toBe(200)
    expect(world.services.get('api')!.pid).toBe(pid)
  })
})

testSentences()
