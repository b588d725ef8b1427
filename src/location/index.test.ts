import { AbiCoder, ParamType } from 'ethers'
import { describe, expect, test } from 'vitest'
import { PayloadError, fieldTypes } from '../eas'
import {
  LOCATION_PROTOCOL_SCHEMA,
  LOCATION_SCHEMA,
  LOCATION_SCHEMAS,
  addLocationSchemas,
  decodeLocation,
  isLocationSchema,
  joinProblems,
  lacksGeometry,
  locationSchemaUids,
  locationSchema,
} from '.'
import { encode as encodeAbi } from '../../test/abi'
import { sentence, testSentences } from '../../test/sentences'

const encode = (schema: { fields: string }, values: unknown[]) =>
  AbiCoder.defaultAbiCoder().encode(fieldTypes(schema.fields), values)
const v01 = (
  changes: { time?: bigint; srs?: string; type?: string; location?: string; memo?: string } = {},
) =>
  encode(LOCATION_SCHEMA, [
    ...[
      changes.time ?? 1_700_000_000n,
      changes.srs ?? 'EPSG:4326',
      changes.type ?? 'geojson-point',
      changes.location ?? '{"type":"Point","coordinates":[0,51.5]}',
    ],
    ...[['recipe'], ['0x0102ff'], ['image/png'], ['data:,x'], changes.memo ?? 'memo'],
  ])

describe('decodeLocation', () => {
  test('decodes a payload of v0.1', () => {
    expect(decodeLocation(LOCATION_SCHEMA.uid, v01())).toEqual({
      ...{ eventTimestamp: 1_700_000_000, timeProblem: null },
      srs: 'EPSG:4326',
      locationType: 'geojson-point',
      location: '{"type":"Point","coordinates":[0,51.5]}',
      recipeTypes: ['recipe'],
      recipePayloads: ['AQL/'],
      mediaTypes: ['image/png'],
      mediaData: ['data:,x'],
      memo: 'memo',
      geometry: {
        json: '{"coordinates":[0,51.5],"type":"Point"}',
        point: [0, 51.5],
        plane: expect.stringMatching(/^0101000020e6100000/),
      },
      geometryProblem: null,
      attributes: null,
    })
  })
  test.each(LOCATION_SCHEMAS.slice(1))('decodes a payload of $fields', (schema) => {
    const values: Record<string, unknown> = {
      lp_version: schema.fields.includes('uint8') ? 1 : '0.2.0',
      srs: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
      location_type: 'geojson',
      location: '{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}',
    }
    const names = schema.fields.split(',').map((field) => field.trim().split(' ')[1]!)
    expect(
      decodeLocation(
        schema.uid,
        encode(
          schema,
          names.map((name) => values[name]),
        ),
      ),
    ).toMatchObject({
      ...{ eventTimestamp: undefined, timeProblem: null },
      recipeTypes: [],
      memo: '',
      locationType: 'geojson',
      geometry: { json: '{"coordinates":[1,2],"type":"Point"}', point: [1, 2] },
    })
  })
  test.each([
    [{ srs: 'EPSG:3857' }],
    [{ srs: 'x'.repeat(79) + '\u{1f30d}' }],
    [{ location: 'not JSON' }],
    [{ location: '{"type":"Point","coordinates":[13.4,152.5]}' }],
  ])('returns no geometry, but a reason, for %j', (changes) => {
    const location = decodeLocation(LOCATION_SCHEMA.uid, v01(changes))
    expect(location).toMatchObject({ geometry: null, geometryProblem: sentence() })
  })
  test.each([
    ['NUL, which Postgres cannot store', v01({ memo: 'a\0b' })],
    ['an empty payload', '0x'],
    ['a payload of another schema', encode(LOCATION_PROTOCOL_SCHEMA, ['1', '2', '3', '4'])],
    ['more than a megabyte', v01({ memo: 'x'.repeat(1_000_001) })],
  ])('rejects %s', (_, data) => {
    expect(() => decodeLocation(LOCATION_SCHEMA.uid, data)).toThrow(PayloadError)
  })
  test.each<[bigint, string?]>([
    [253_402_300_800n],
    [1_700_000_000_000n, 'like milliseconds'],
    [1_700_000_000_000_000n, 'like microseconds'],
    [1_700_000_000_000_000_000n, 'like nanoseconds'],
    [2n ** 256n - 1n],
  ])('returns a geometry and a problem for an event time of %s', (time, ...units) => {
    const location = decodeLocation(LOCATION_SCHEMA.uid, v01({ time }))
    expect(location).toMatchObject({
      eventTimestamp: undefined,
      timeProblem: sentence('', time.toString(), ...(units as string[])),
      geometry: { point: [0, 51.5] },
      geometryProblem: null,
    })
    expect(lacksGeometry(joinProblems(null, location.timeProblem))).toBe(false)
    expect(lacksGeometry(joinProblems('location: x', location.timeProblem))).toBe(true)
    expect(joinProblems('location: x', location.timeProblem)).toBe(`location: x; ${location.timeProblem}`)
    expect(lacksGeometry(joinProblems(null, null))).toBe(false)
  })
  test('accepts the last second of the year 9999 as an event time', () => {
    expect(decodeLocation(LOCATION_SCHEMA.uid, v01({ time: 253_402_300_799n }))).toMatchObject({
      ...{ eventTimestamp: 253_402_300_799, timeProblem: null },
    })
  })
  test('rejects other schemas', () => {
    expect(isLocationSchema(LOCATION_SCHEMA.uid)).toBe(true)
    expect(isLocationSchema(`0x${'0'.repeat(64)}`)).toBe(false)
    expect(() => decodeLocation(`0x${'0'.repeat(64)}`, '0x')).toThrow(sentence())
  })
})

describe('locationSchema', () => {
  test('returns the UID under which a text is registered', () => {
    for (const { uid, fields } of LOCATION_SCHEMAS) expect(locationSchema(fields)).toEqual({ uid, fields })
    expect(
      locationSchema('string srs,string location_type,string location,uint64 floor,bytes extra').fields,
    ).toContain('floor')
  })
  test.each<[string]>([
    ['string srs,string location'],
    ['string srs,string location_type,bytes location'],
    ['string srs,string location_type,string location,fixed128x18 alt'],
    ['string srs,string location_type,string location,uint7 alt'],
    ['string srs,string location_type,string location,bytes33 alt'],
    ['string srs,string location_type,string location,string srs'],
    ['string srs,string locationType,string location,string location_type'],
    ['string srs,string location_type,string location,(uint8 a b'],
    ['string srs,string location_type,string location,uint8 a) b'],
    ['string srs,string location_type,string location,uint8 "a"'],
    ['string srs,string location_type,string location,() a'],
    ['string srs,string location_type,string location,uint8[0] a'],
    ['string srs,string location_type,string location,uint8[999999] a'],
    [`string srs,string location_type,string location,${'('.repeat(9)}uint8${')'.repeat(9)} a`],
    [`string srs,string location_type,string location${',uint8'.repeat(200)}`],
    [`string srs,string location_type,string location,uint8 ${'a'.repeat(100_000)}`],
  ])('rejects %s', (fields) => {
    expect(() => locationSchema(fields)).toThrow(sentence())
  })
})

test('a location schema is valid on the chain of its registry, or on every chain if built in', () => {
  const found = locationSchema('string srs,string location_type,string location,string ofOneChain')
  addLocationSchemas([found], 'celo')
  const counts = ['celo', 'base', undefined].map((chain) => isLocationSchema(found.uid, chain))
  expect(counts).toEqual([true, false, true])
  expect(['celo', 'base'].map((chain) => locationSchemaUids(chain).includes(found.uid))).toEqual([
    true,
    false,
  ])
  expect(locationSchemaUids('base')).toContain(LOCATION_SCHEMA.uid)
})

describe('the attributes of a location', () => {
  const decode = (fields: string, values: unknown[]) => {
    const schema = locationSchema(fields)
    addLocationSchemas([schema])
    const types = ParamType.from(`tuple(${fields})`).components!
    return decodeLocation(schema.uid, AbiCoder.defaultAbiCoder().encode(types, values))
  }
  const place = ['EPSG:4326', 'lp.geojson-point.v1', '{"type":"Point","coordinates":[7,8]}']

  test('contain further fields of the schema of the public SDK', () => {
    const fields =
      'string lp_version,string srs,string location_type,string location,string assetId,address owner,uint256 timestamp'
    const owner = '0xD8DA6BF26964aF9D7eEd9e03E53415D37aA96045'.toLowerCase()
    expect(decode(fields, ['1.0.0', ...place, 'pump-7', owner, 1_700_000_000n])).toMatchObject({
      attributes: { assetId: 'pump-7', owner, timestamp: '1700000000' },
      geometry: { json: '{"coordinates":[7,8],"type":"Point"}' },
    })
  })
  test('contain every kind of type, in lists and tuples', () => {
    const fields =
      'string srs,string location_type,string location,int24 depth,int256 big,bool ok,bytes4 id,bytes raw,(uint8 x,string[] names,(bool[2] b)[] inner)[] parts,uint16[3] three,bytes24 f,string __proto__'
    const { attributes } = decode(fields, [
      ...place,
      ...[-5, -(2n ** 200n), true, '0x01020304', '0xff'],
      [[7, ['a', 'ü'], [[[true, false]], [[false, true]]]]],
      [1, 2, 3],
      `0x${'ab'.repeat(24)}`,
      'a name like any other',
    ])
    expect(Object.entries(attributes!)).toEqual([
      ['depth', -5],
      ['big', String(-(2n ** 200n))],
      ['ok', true],
      ['id', '0x01020304'],
      ['raw', '0xff'],
      ['parts', [{ x: 7, names: ['a', 'ü'], inner: [{ b: [true, false] }, { b: [false, true] }] }]],
      ['three', [1, 2, 3]],
      ['f', `0x${'ab'.repeat(24)}`],
      ['__proto__', 'a name like any other'],
    ])
  })
  test('contain the attributes of the Location Protocol as JSON, but not its scalar media', () => {
    const fields =
      'string lp_version,string srs,string location_type,string location,string media_type,string media_data,string attributes,string attributes_schema,string proof,uint40 event_timestamp'
    const read = (json: string) =>
      decode(fields, ['1.0.0', ...place, 'image/png', 'ipfs://x', json, '', 'none', 1_700_000_000])
    expect(read('{"species":"oak","height":{"m":12.5}}')).toMatchObject({
      mediaTypes: ['image/png'],
      mediaData: ['ipfs://x'],
      eventTimestamp: 1_700_000_000,
      attributes: {
        attributes: { species: 'oak', height: { m: 12.5 } },
        attributes_schema: '',
        proof: 'none',
      },
    })
    // Values that JSON.parse would change, or that Postgres refuses, stay texts.
    for (const text of [
      '{"n":12345678901234567890}',
      '{"n":1e999}',
      '{"a":1,"a":2}',
      '{"z":"\\u0000"}',
      '[1',
    ])
      expect(read(text).attributes).toMatchObject({ attributes: text })
  })
  test('are read within linear time from a text that is nearly JSON', () => {
    const schema = locationSchema('string srs,string location_type,string location,string proof')
    addLocationSchemas([schema])
    for (const text of [`["${'\\"'.repeat(450_000)}`, `{"a":1${'.0'.repeat(450_000)}1}`]) {
      const payload = encodeAbi([...place, text])
      const started = performance.now()
      expect(decodeLocation(schema.uid, payload).geometry).not.toBeNull()
      // A quadratic reader takes minutes. The limit allows for a busy machine.
      expect(performance.now() - started).toBeLessThan(30_000)
    }
  })
  test('contain a field of a known name with another type', () => {
    const fields = 'string srs,string location_type,string location,uint256 memo,string eventTimestamp'
    expect(decode(fields, [...place, 5n, 'noon'])).toMatchObject({
      memo: '',
      eventTimestamp: undefined,
      attributes: { memo: '5', eventTimestamp: 'noon' },
    })
  })
  test('are empty if they are too large, and do not affect the location', () => {
    const fields = 'string srs,string location_type,string location,string note'
    const location = decode(fields, [...place, 'x'.repeat(200_000)])
    expect([location.attributes, location.geometry !== null]).toEqual([null, true])
    // Four lists of one short payload: their data is shared, and names are repeated.
    const name = (letter: string) => letter.repeat(64)
    const nested = `((((bool ${name('a')}) ${name('b')}) ${name('c')}) ${name('d')})[]`
    const lists = ['p', 'q', 'r', 's'].map((field) => `${nested} ${field}`)
    const schema = locationSchema(`string srs,string location_type,string location,${lists.join()}`)
    addLocationSchemas([schema])
    const offsets = [7, 7, 7, 8, 8, 8, 8].map((word) => word * 32)
    const words = [...offsets, 0, 280, ...Array<number>(280).fill(1)]
    const payload = `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}`
    expect(decodeLocation(schema.uid, payload).attributes).toBeNull()
  })
})

testSentences()
