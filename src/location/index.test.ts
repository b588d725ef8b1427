import { AbiCoder } from 'ethers'
import { describe, expect, test } from 'vitest'
import { PayloadError, fieldTypes } from '../eas'
import {
  LOCATION_PROTOCOL_SCHEMA,
  LOCATION_SCHEMA,
  LOCATION_SCHEMAS,
  decodeLocation,
  isLocationSchema,
  locationSchema,
} from '.'

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

describe('payloads of location schemas', () => {
  test('v0.1', () => {
    expect(decodeLocation(LOCATION_SCHEMA.uid, v01())).toEqual({
      eventTimestamp: 1_700_000_000,
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
    })
  })
  test.each(LOCATION_SCHEMAS.slice(1))('$fields', (schema) => {
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
      eventTimestamp: undefined,
      recipeTypes: [],
      memo: '',
      locationType: 'geojson',
      geometry: { json: '{"coordinates":[1,2],"type":"Point"}', point: [1, 2] },
    })
  })
  test.each([
    [{ srs: 'EPSG:3857' }, /^srs 'EPSG:3857' is not a known name of WGS84/],
    [{ srs: 'x'.repeat(79) + '\u{1f30d}' }, /^srs 'x{79}\ufffd' is not/],
    [{ location: 'not JSON' }, /^location: expected JSON: /],
    [{ location: '{"type":"Point","coordinates":[13.4,152.5]}' }, /^location\.coordinates: latitude must be/],
  ])('%j has no geometry, and a reason', (changes, problem) => {
    const location = decodeLocation(LOCATION_SCHEMA.uid, v01(changes))
    expect(location).toMatchObject({ geometry: null, geometryProblem: expect.stringMatching(problem) })
  })
  test.each([
    ['an event time beyond all dates', v01({ time: 10n ** 15n })],
    ['NUL, which Postgres cannot hold', v01({ memo: 'a\0b' })],
    ['nothing', '0x'],
    ["another schema's payload", encode(LOCATION_PROTOCOL_SCHEMA, ['1', '2', '3', '4'])],
    ['more than a megabyte', v01({ memo: 'x'.repeat(1_000_001) })],
  ])('%s is refused', (_, data) => {
    expect(() => decodeLocation(LOCATION_SCHEMA.uid, data)).toThrow(PayloadError)
  })
  test('only location schemas are read', () => {
    expect(isLocationSchema(LOCATION_SCHEMA.uid)).toBe(true)
    expect(isLocationSchema(`0x${'0'.repeat(64)}`)).toBe(false)
    expect(() => decodeLocation(`0x${'0'.repeat(64)}`, '0x')).toThrow('is not a location schema')
  })
})

describe('schemas by setting', () => {
  test('the text of a schema gives the UID under which it is registered', () => {
    for (const { uid, fields } of LOCATION_SCHEMAS) expect(locationSchema(fields)).toEqual({ uid, fields })
    expect(
      locationSchema('string srs,string location_type,string location,uint64 floor,bytes extra').fields,
    ).toContain('floor')
  })
  test.each<[string, string]>([
    ['string srs,string location', 'it needs string srs, string location_type and string location'],
    [
      'string srs,string location_type,string location,int256 alt',
      'the field alt must be uint, string, bytes, string[] or bytes[], not int256',
    ],
    ['string srs,string location_type,string location,address who', 'not address'],
    [
      'string srs,string location_type,string location,uint256 memo',
      'the field memo must be string, not uint256',
    ],
    [
      'string srs,string location_type,string location,string eventTimestamp',
      'the field eventTimestamp must be uint256, not string',
    ],
    [
      'string srs,string location_type,string location,string recipeType',
      'the field recipeType must be string[], not string',
    ],
    ['string srs,string location_type,string location,string srs', 'has two fields srs'],
  ])('%s is refused, as its first attestation would stop the indexer', (fields, message) => {
    expect(() => locationSchema(fields)).toThrow(message)
  })
})
