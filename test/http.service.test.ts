import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, mined, testAccount } from '../dev/chain'
import { AbiCoder, ZeroAddress, concat, keccak256 } from 'ethers'
import { toCentimeters } from '../src/geodesy'
import { BOOLEAN_RESULT_FIELDS, NUMERIC_RESULT_FIELDS, fieldTypes } from '../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import { mine, startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { positions } from './positions'

/** Schemas of docs/spec/facts.md 2. */
const NUMERIC_SCHEMA = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'
const BOOLEAN_SCHEMA = '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5'

/** Tests both APIs over HTTP: results of filters, and errors for malformed input. */
let world: TestWorld
const uids: Record<string, string> = {}
const times: Record<string, string> = {}
beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  const places: [string, number[], number][] = [
    ['greenwich', [0, 51.4779], 1],
    ['quito', [-78.5, 0], 2],
    ['nullIsland', [0, 0], 1],
    ['taveuni', [180, -16.9], 3],
    ['southPole', [12, -90], 2],
  ]
  for (const [name, coordinates, account] of places) {
    uids[name] = await attest(
      chain,
      locationRequest({ type: 'Point', coordinates }, { recipient: testAccount(account + 3).address }),
      account,
    )
    times[name] = new Date((await chain.provider.getBlock('latest'))!.timestamp * 1000).toISOString()
    await mine(chain, 1)
    await chain.provider.send('evm_increaseTime', [3600])
  }
  await world.caughtUp()
})

const list = async (query: string) => {
  const { status, body } = await world.get(`/api/v0/location-records?${query}`)
  expect(status).toBe(200)
  const names = Object.fromEntries(Object.entries(uids).map(([name, uid]) => [uid, name]))
  return body.data.map((record: { uid: string }) => names[record.uid]) as string[]
}

describe('GET /api/v0/location-records', () => {
  test('returns the newest records first, with the count and the applied limit', async () => {
    expect(await list('')).toEqual(['southPole', 'taveuni', 'nullIsland', 'quito', 'greenwich'])
    const pageOf = async (query: string) => (await world.get(`/api/v0/location-records?${query}`)).body
    expect(await pageOf('limit=2&offset=1')).toMatchObject({ count: 2, limit: 2, offset: 1 })
    expect(await pageOf('limit=5000')).toMatchObject({ count: 5, limit: 1000, offset: 0 })
    const none = { data: [], count: 0, limit: 100, offset: 9, next_cursor: null }
    expect(await pageOf('offset=9')).toEqual(none)
    expect(
      [await list('limit=2'), await list('limit=2&offset=2'), await list('limit=2&offset=4')].flat(),
    ).toEqual(await list(''))
  })
  test('applies every filter, alone and together', async () => {
    const prover = testAccount(1).address
    expect(await list(`prover=${prover}`)).toEqual(['nullIsland', 'greenwich'])
    expect(await list(`prover=${prover.toLowerCase()}`)).toEqual(['nullIsland', 'greenwich'])
    expect(await list(`prover=0x${prover.slice(2).toUpperCase()}`)).toEqual(['nullIsland', 'greenwich'])
    expect(await list(`subject=${testAccount(5).address}`)).toEqual(['southPole', 'quito'])
    expect(await list('chain=base-sepolia')).toHaveLength(5)
    expect(await list('chain=ethereum-sepolia')).toEqual([])
    // Both bounds are exclusive.
    expect(await list(`fromTimestamp=${times.nullIsland}`)).toEqual(['southPole', 'taveuni'])
    expect(await list(`toTimestamp=${times.nullIsland}`)).toEqual(['quito', 'greenwich'])
    expect(
      await list(
        `fromTimestamp=${times.greenwich}&toTimestamp=${times.taveuni}&chain=base-sepolia&prover=${prover}&bbox=-1,-1,1,1`,
      ),
    ).toEqual(['nullIsland'])
    expect(await list(`fromTimestamp=${times.nullIsland!.replace('Z', '+00:00')}`)).toEqual([
      'southPole',
      'taveuni',
    ])
    expect(await list('fromTimestamp=2020-01-01')).toHaveLength(5)
  })
  test.each([
    ['-1,-1,1,52', ['nullIsland', 'greenwich']],
    ['0,0,0,0', ['nullIsland']],
    ['-180,-90,180,90', ['southPole', 'taveuni', 'nullIsland', 'quito', 'greenwich']],
    ['170,-20,-170,-10', ['taveuni']],
    // 180 and -180 are one meridian, and a pole has every longitude.
    ['-180,-20,-170,-10', ['taveuni']],
    ['100,-90,110,-80', ['southPole']],
    ['100,-89.9,110,-80', []],
    [' -79.0 , -1e0, -78 ,+1', ['quito']],
    ['-30,-90,30,-89', ['southPole']],
  ])('applies bbox %s', async (bbox, found) => {
    expect(await list(`bbox=${encodeURIComponent(bbox)}`)).toEqual(found)
  })
  test('applies bbox before paging', async () => {
    expect(await list('bbox=-1,51,1,52&limit=1')).toEqual(['greenwich'])
  })
  test('returns one record by its UID in any letter case, with a longitude of 0', async () => {
    const { body } = await world.get(`/api/v0/location-records/0x${uids.greenwich!.slice(2).toUpperCase()}`)
    expect(body).toEqual({
      ...{ uid: uids.greenwich, chain: 'base-sepolia', timestamp: times.greenwich },
      ...{ prover: testAccount(1).address, subject: testAccount(4).address },
      ...{ event_timestamp: '1970-01-01T00:00:00.000Z', srs: 'EPSG:4326', location_type: 'geojson-point' },
      ...{ location: '{"type":"Point","coordinates":[0,51.4779]}', longitude: 0, latitude: 51.4779 },
      ...{ recipe_types: [], recipe_payloads: [], media_types: [], media_data: [], memo: '' },
      ...{ revoked: false, created_at: expect.any(String), updated_at: expect.any(String), problem: null },
    })
    expect((await world.get(`/api/v0/location-records/${uids.greenwich}?chain=base-sepolia`)).status).toBe(
      200,
    )
    expect((await world.get(`/api/v0/location-records/${uids.greenwich}?chain=celo`)).body.detail).toEqual(
      sentence('', uids.greenwich!, 'celo', 'base-sepolia'),
    )
  })
  test('has related routes for statistics, configuration, health and information', async () => {
    const bodyOf = async (path: string) => (await world.get(path)).body
    expect(await bodyOf('/api/v0/location-records/stats')).toEqual({
      ...{ total: 5, revoked: 0 },
      by_chain: { 'base-sepolia': 5, sepolia: 0, arbitrum: 0, celo: 0 },
      by_time: { last_24_hours: 0, last_7_days: 0, last_30_days: 0 },
      chains: {
        'base-sepolia': expect.objectContaining({
          ...{ status: expect.any(String), lag_blocks: expect.any(Number), head_time: expect.any(String) },
        }),
      },
    })
    expect(await bodyOf('/api/v0/config')).toMatchObject({
      chains: { 'base-sepolia': true, sepolia: true, arbitrum: true, celo: true, base: false },
      ...{ schema: LOCATION_SCHEMA.uid, schema_fields: LOCATION_SCHEMA.fields, version: 'v0' },
    })
    expect(await world.get('/health')).toMatchObject({
      ...{ status: 200, body: { status: 'healthy', database: 'connected' } },
    })
    expect(await bodyOf('/')).toMatchObject({
      ...{ name: expect.any(String), version: expect.any(String), description: expect.any(String) },
      ...{ endpoints: expect.any(Object), chains: [{ id: 84532, ready: true }] },
    })
  })
})

const UID_FORMAT = 'UID must be a 66-character hex string starting with 0x'
const BBOX_FORMAT = 'Expected format: minLng,minLat,maxLng,maxLat'
/** The specified texts (docs/spec/interface.md 10) are asserted here, and only here. */
describe('the API, for malformed queries,', () => {
  const CHAIN_NAMES = 'Supported chains: base-sepolia, sepolia, arbitrum, celo'
  const rows = (name: string, values: string[], message: string, detail: unknown = sentence()) =>
    values.map((value) => [`location-records?${name}=${value}`, 400, message, detail] as const)
  test.each<readonly [path: string, status: number, message: string, detail: unknown]>([
    ...rows('chain', ['solana', 'base', ''], 'Invalid chain parameter', CHAIN_NAMES),
    ...rows('chain', ['celo&chain=sepolia'], 'Invalid chain parameter'),
    ...rows(
      'bbox',
      [
        ...['1,2,3', '1,2,3,4,5', '', '1,,2,3', 'a,b,c,d', 'NaN,0,1,1', '1e999,0,1,1', '0x1,0,1,1'],
        ...['0,10,1,5', '0,-91,1,5', '-181,0,1,5'],
      ],
      ...(['Invalid bbox format', BBOX_FORMAT] as const),
    ),
    ...rows('limit', ['0', '-1', '1.5', 'x', '', '1e3'], 'Invalid limit parameter'),
    ...rows('offset', ['-1'], 'Invalid offset parameter'),
    ...rows(
      'fromTimestamp',
      ['yesterday', '2026-13-01', '2026-02-30', '2026-01-01T25:00:00Z', '1700000000', ''],
      'Invalid fromTimestamp parameter',
    ),
    ...rows('toTimestamp', ['x'], 'Invalid toTimestamp parameter'),
    ...rows('prover', ['0x12'], 'Invalid prover parameter'),
    ...rows('subject', ["' OR 1=1 --"], 'Invalid subject parameter'),
    ...rows('fromTimstamp', ['2026-01-01'], 'Invalid query parameter'),
    ...['0x1234', '1'.repeat(66), `0x${'g'.repeat(64)}`, `0x${'1'.repeat(900)}`].map(
      (uid) => [`location-records/${uid}`, 400, 'Invalid UID format', UID_FORMAT] as const,
    ),
    [
      `location-records/0x${'1'.repeat(64)}`,
      404,
      'Location record not found',
      `No attestation with UID 0x${'1'.repeat(64)} found`,
    ],
    ['location-records/stats?chain=celo', 400, 'Invalid by parameter', sentence()],
    ['nowhere', 404, 'Not found', sentence()],
    ['location-records/%zz', 400, 'Invalid request', sentence()],
  ])('returns the error of GET %s', async (path, status, message, detail) => {
    const answer = await world.get(`/api/v0/${path}`)
    expect(answer).toEqual({
      status,
      body: {
        status: 'error',
        message,
        detail: typeof detail === 'string' ? expect.stringContaining(detail) : detail,
      },
    })
  })
  test('rejects a long run of digits at once', async () => {
    // Takes the best of several measurements, because a busy machine may delay some of them.
    const times: number[] = []
    for (let i = 0; i < 8; i++) {
      const started = performance.now()
      expect((await world.get(`/api/v0/location-records?bbox=${'1'.repeat(14_000)}x`)).status).toBe(400)
      times.push(performance.now() - started)
    }
    expect(Math.min(...times)).toBeLessThan(400)
  })
  test('rejects other methods and unknown paths', async () => {
    expect(await world.post('/api/v0/location-records', {})).toEqual({
      status: 405,
      body: { status: 'error', message: 'Method not allowed', detail: sentence() },
    })
    expect(await world.get('/elsewhere')).toMatchObject({ status: 404, body: { message: 'Not found' } })
  })
})

describe('the compute API, for malformed computations,', () => {
  const point = { type: 'Point', coordinates: [1, 2] }
  const CROSSED = positions('0 0, 1 1, 1 0, 0 1, 0 0')
  const good = { chainId: 84532, from: point, to: point }
  test.each([
    [{ ...good, chainId: undefined }, 'chainId'],
    [{ ...good, chainId: '84532' }, 'chainId'],
    [{ ...good, chainId: 1 }, 'chainId'],
    [{ ...good, from: undefined }, 'from'],
    [{ ...good, form: point }, 'form'],
    [{ ...good, from: 'Paris' }, 'from'],
    [{ ...good, from: { uid: 5 } }, 'from.uid'],
    [{ ...good, from: { uid: '0x12' } }, 'from.uid'],
    [{ ...good, from: '2.2945, 48.8584' }, 'from'],
    [{ ...good, from: { geometry: point } }, 'from'],
    [{ ...good, from: null }, 'from'],
    [{ ...good, from: 5 }, 'from'],
    [{ ...good, from: [1, 2] }, 'from'],
    [{ ...good, to: { type: 'Point', coordinates: [1, 100] } }, 'to.coordinates'],
    [{ ...good, to: { type: 'Polygon', coordinates: [CROSSED] } }, 'to.coordinates[0][0]'],
    [{ ...good, to: { uid: `0x${'1'.repeat(64)}`, uri: 'https://x.example' } }, 'to.uri'],
    [{ ...good, schema: '0x12' }, 'schema'],
    [{ ...good, schema: `0x${'1'.repeat(64)}` }, 'schema'],
    [{ ...good, schema: LOCATION_PROTOCOL_SCHEMA.uid }, 'schema'],
    [{ ...good, recipient: '0x12' }, 'recipient'],
    [{ ...good, recipient: '0x00000000219ab540356cBB839Cbe05303d7705fA' }, 'recipient'],
    [[], 'body'],
  ])('names the field of %j', async (body, field) => {
    expect(await world.post('/compute/v0/distance', body)).toEqual({
      status: 400,
      body: {
        ...{ type: `${world.url}/errors/invalid-input`, title: 'Invalid Input', status: 400 },
        ...{ detail: sentence(field), instance: '/compute/v0/distance' },
      },
    })
  })
})

interface Case {
  id: string
  op: string
  inputs: Record<string, { type: string }>
  params: { radius?: number }
  expect?: 'refused'
  expected: number | boolean | null
  tolerance: number | null
  family: string
}
const cases = (name: string) => JSON.parse(readFileSync(`test/vectors/${name}.json`, 'utf8')) as Case[]
/**
 * Every fifth of the kernel's cases, and some cases of each hard family. The API rejects a radius of 0
 * (docs/spec/facts.md 3).
 */
const CASES = [
  ...cases('geodesy-cases').filter((_, i) => i % 5 === 0),
  ...[...cases('geodesy-cases-2'), ...cases('geodesy-cases-3')].filter(
    ({ family }, i, all) => all.slice(0, i).filter((other) => other.family === family).length % 9 === 4,
  ),
].filter(({ params }) => params.radius !== 0)

describe('the six operations', () => {
  test('are all covered by the cases', () => expect(new Set(CASES.map(({ op }) => op)).size).toBe(6))
  test.each(CASES)('solve case $id', async ({ op, inputs, params, expect: wanted, expected, tolerance }) => {
    const { status, body } = await world.post(`/compute/v0/${op}`, { chainId: 84532, ...inputs, ...params })
    if (wanted === 'refused') {
      expect(body).toMatchObject({
        status: 400,
        type: expect.stringMatching(/\/errors\/invalid-input$/),
        detail: expect.stringMatching(/^\w+\.coordinates/),
      })
      return
    }
    expect(status).toBe(200)
    const numeric = tolerance !== null
    if (numeric) expect(Math.abs(body.result - (expected as number))).toBeLessThanOrEqual(tolerance)
    else expect(body.result).toBe(expected)
    expect(body.units).toBe(numeric ? (op === 'area' ? 'square_meters' : 'meters') : undefined)
    expect(body.operation).toBe(op === 'within' ? `within:${toCentimeters(params.radius!)}` : op)
    expect(body.inputRefs).toHaveLength(Object.keys(inputs).length)
    const fields = fieldTypes(numeric ? NUMERIC_RESULT_FIELDS : BOOLEAN_RESULT_FIELDS)
    const [result, ...rest] = AbiCoder.defaultAbiCoder()
      .decode(fields, body.attestation.data)
      .toArray(true) as [bigint | boolean, ...unknown[]]
    expect(typeof result === 'bigint' ? Number(result) / (op === 'area' ? 10_000 : 100) : result).toBe(
      body.result,
    )
    expect(rest).toEqual([
      ...(numeric ? [op === 'area' ? 'square_centimeters' : 'centimeters'] : []),
      body.inputRefs,
      BigInt(body.timestamp),
      body.operation,
    ])
    expect(body.attestation.schema).toBe(numeric ? NUMERIC_SCHEMA : BOOLEAN_SCHEMA)
  })
  const ask = async (path: string, body: object) =>
    (await world.post(`/compute/v0/${path}`, { chainId: 84532, ...body })).body
  const square = { type: 'Polygon', coordinates: [positions('0 51, 1 51, 1 52, 0 52, 0 51')] }
  const point = { type: 'Point', coordinates: [0.5, 51.5] }
  test('accept containee as an alias of geometry, but not both names', async () => {
    const aliased = { container: square, containee: point }
    expect(await ask('contains', aliased)).toMatchObject({ result: true, operation: 'contains' })
    expect(await ask('contains', { ...aliased, geometry: point })).toMatchObject({
      ...{ status: 400, detail: sentence('geometry, containee') },
    })
  })
  test('accept UIDs and GeoJSON in any combination', async () => {
    const near = await ask('within', { geometry: uids.greenwich, target: square, radius: 1 })
    const inputRefs = [uids.greenwich, expect.any(String)]
    expect(near).toMatchObject({ result: true, operation: 'within:100', inputRefs })
    const both = await ask('intersects', { geometry1: square, geometry2: { uid: uids.quito } })
    expect(both).toMatchObject({ result: false, operation: 'intersects' })
  })
  test.each([[undefined], ['5'], [0], [-1], [100_000_001]])('reject radius %j', async (radius) => {
    const refused = await ask('within', { geometry: point, target: point, radius })
    expect(refused).toMatchObject({ status: 400, detail: sentence() })
  })
  test('return the same reference with and without a chain ID, which must be valid', async () => {
    const refer = async (body: object) =>
      (await world.post('/compute/v0/reference', { geometry: point, ...body })).body
    const reference = await refer({})
    expect(reference.inputRef).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await refer({ chainId: 84532 })).toEqual(reference)
    for (const chainId of ['84532', 1.5, null])
      expect(await refer({ chainId }), String(chainId)).toMatchObject({ status: 400, detail: sentence() })
  })
  test('return the reference of GeoJSON with its salt, in small and large bodies and in batches', async () => {
    const salt = `0x${'5a'.repeat(32)}`
    const plainOf = async (geometry: unknown) =>
      (await world.post('/compute/v0/reference', { geometry })).body.inputRef as string
    const salted = (plain: string) => keccak256(concat([salt, plain]))
    const ref = salted(await plainOf(point))
    expect(await plainOf({ geometry: point, salt })).toBe(ref)
    const from = (input: unknown) => ask('distance', { from: input, to: point })
    const inputRefs = [ref, await plainOf(point)]
    expect(await from({ geometry: point, salt })).toMatchObject({ result: 0, inputRefs })
    // The body is so large that a worker parses it.
    const line = {
      type: 'LineString',
      coordinates: Array.from({ length: 9_000 }, (_, i) => [i / 1_000, 48.123456789]),
    }
    const lineRef = salted(await plainOf(line))
    for (const geometry of [line, { type: 'Feature', properties: {}, geometry: line }])
      expect((await from({ geometry, salt })).inputRefs[0]).toBe(lineRef)
    const operations = [{ operation: 'length', geometry: { geometry: line, salt } }]
    expect(await ask('batch', { operations })).toMatchObject({ results: [{ inputRefs: [lineRef] }] })

    const refusals: [unknown, unknown][] = [
      [{ ...point, salt }, sentence('from')],
      [{ ...line, salt }, sentence('from')],
      [{ type: 'Feature', properties: { salt }, geometry: point }, sentence('from.properties')],
      [{ type: 'Feature', properties: {}, geometry: { ...line, salt } }, sentence('from.geometry')],
      [{ geometry: { ...line, salt }, salt }, sentence('from.geometry')],
      [{ geometry: point, salt: '0x5a' }, sentence('from.salt')],
      [{ geometry: point, salt: `0x${'0'.repeat(64)}` }, sentence('from.salt')],
      [{ geometry: point, salt, uid: uids.quito }, sentence('from')],
      [{ salt }, sentence('from.geometry')],
      [{ geometry: { ...line, type: 'Line' }, salt }, sentence('from.geometry.type')],
    ]
    for (const [input, detail] of refusals) expect(await from(input)).toMatchObject({ status: 400, detail })
    expect(
      (await world.post('/compute/v0/reference', { geometry: { type: 'Feature', salt, geometry: point } }))
        .body,
    ).toMatchObject({ status: 400, detail: sentence('geometry') })
  })
  test('reject area and length of other geometry types', async () => {
    const areaOfPoint = await ask('area', { geometry: uids.quito })
    expect(areaOfPoint).toMatchObject({ status: 400, detail: sentence('geometry', uids.quito!) })
    const lengthOfSquare = await ask('length', { geometry: square })
    expect(lengthOfSquare).toMatchObject({ status: 400, detail: sentence('geometry') })
  })
  test('do not block small computations while a large one runs', async () => {
    const ring = Array.from({ length: 60_000 }, (_, i) => [
      10 + Math.cos((2 * Math.PI * i) / 60_000),
      50 + Math.sin((2 * Math.PI * i) / 60_000),
    ])
    const large = { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
    let ended = false
    const contains = { chainId: 84532, container: large, geometry: large }
    const slow = world.post('/compute/v0/contains', contains).finally(() => (ended = true))
    let answeredMeanwhile = 0
    while (!ended) {
      expect((await ask('distance', { from: point, to: point })).result).toBe(0)
      if (!ended) answeredMeanwhile++
    }
    // On a very busy machine, the large request may exceed the service's own time limit.
    const { status, body } = await slow
    expect(status === 200 ? body.result : body.type).toEqual(
      status === 200 ? true : expect.stringContaining('computation-error'),
    )
    expect(answeredMeanwhile).toBeGreaterThan(2)
  })
})

describe('valid computations', () => {
  const from = { type: 'Point', coordinates: [2.2945, 48.8584] }
  test('must not name a schema whose text is not UTF-8', async () => {
    const registry = await world.chain.registry()
    const data = registry.interface
      .encodeFunctionData('register', ['x', ZeroAddress, true])
      .replace(/78(0{62})$/, 'ff$1')
    const receipt = await mined(
      world.chain,
      await world.chain.provider.send('eth_sendTransaction', [
        { from: testAccount(1).address, to: await registry.getAddress(), data },
      ]),
    )
    const { body } = await world.post('/compute/v0/distance', {
      chainId: 84532,
      schema: receipt.logs[0]!.topics[1],
      from,
      to: from,
    })
    expect(body).toMatchObject({ status: 400, detail: sentence() })
  })
  test('have the same reference, and distance 0, for a Feature of the same geometry', async () => {
    const feature = {
      type: 'Feature',
      properties: { name: 'x' },
      geometry: { coordinates: [2.2945, 48.8584], type: 'Point', bbox: [0, 0, 1, 1] },
      uri: 'https://x.example',
      uid: '0x',
    }
    const { body } = await world.post('/compute/v0/distance', { chainId: 84532, from, to: feature })
    expect(body).toMatchObject({ result: 0, operation: 'distance' })
    // keccak256 of {"coordinates":[2.2945,48.8584],"type":"Point"}
    expect(body.inputRefs).toEqual(
      Array(2).fill('0xc8dd0bd4b2c4a35929df653cbc53104c4b4d3979f615031027fe9ccf382a4197'),
    )
  })
})

testSentences()
