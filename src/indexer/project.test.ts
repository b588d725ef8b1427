import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { encode } from '../../test/abi'
import { attestedPlace } from '../../test/hostile'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../location'
import { LOCATION_TYPES, SRS_SPELLINGS, type LocationType } from '../location/names'
import { EventKind } from '../model/generated/_eventKind'
import { FalseBodyError } from './bodies'
import { project, READING, requireBodies } from './project'

test.each([
  ['schema', { schemaUid: `0x${'9'.repeat(64)}` }],
  ['attester', { attester: `0x${'9'.repeat(40)}` }],
  // Another block announces the attestation too.
  ['time', { blockTimestamp: 0 }],
])('the projection rejects a log whose attestation has another %s', (_, change) => {
  const { event, body } = attestedPlace(1, '1,2', 'coordinate-decimal+lon-lat', '')
  const bodies = new Map([[event.uid, body]])
  expect(() => requireBodies([event], bodies)).not.toThrow()
  expect(() => requireBodies([{ ...event, ...change }, event], bodies)).toThrow(FalseBodyError)
})

/** Projects one attestation and returns the columns that depend on its payload. */
function projected(schema: string, values: Parameters<typeof encode>[0]) {
  const uid = `0x${'1'.repeat(64)}`
  const zero = `0x${'0'.repeat(40)}`
  const event = {
    ...{ kind: EventKind.ATTESTED, uid, schemaUid: schema, attester: zero, recipient: zero },
    ...{ blockNumber: 1, blockHash: uid, blockTimestamp: 0, transactionHash: uid, logIndex: 0 },
  }
  const body = {
    ...{ uid, schema, refUID: uid, time: 1n, expirationTime: 0n, revocationTime: 0n, recipient: zero },
    ...{ attester: zero, revocable: true },
    data: Buffer.from(encode(values).slice(2), 'hex'),
  }
  const { events, rows } = project('celo', [event], new Map([[uid, body]]), new Date(0))
  const [record] = rows.location_record
  return [
    Boolean(events[0]!.problem),
    Boolean(record?.problem),
    record?.geometry,
    record?.geom,
    record?.event_timestamp,
    record?.area_square_centimeters,
    record?.length_centimeters,
  ]
}
const read = (srs: string, type: string, location: string) =>
  projected(LOCATION_PROTOCOL_SCHEMA.uid, ['1', srs, type, location])
const readTime = (time: bigint) =>
  projected(LOCATION_SCHEMA.uid, [time, 'EPSG:4326', 'wkt', 'POINT(1 2)', [], [], [], [], ''])

const GEOJSON = [
  '{"type":"Point","coordinates":[13.4,52.5]}',
  '{"type":"Feature","properties":null,"geometry":{"type":"Point","coordinates":[13.4,52.5,7]}}',
  '{"type":"Polygon","coordinates":[[[170,0],[-170,0],[-170,10],[170,0]]]}',
  '{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}',
  '{"type":"Polygon","coordinates":[[[170,70],[180,70],[-180,70],[-170,70],[0,90],[170,70]]]}',
]
/** Polygon of five sectors at a pole, in the order of a pentagram. */
const sectors = (pole: number) => {
  const edges = [0, 144, -72, 72, -144].flatMap((west) => [
    [0, pole],
    [west, (pole * 8) / 9],
    [west === 144 ? -144 : west + 72, (pole * 8) / 9],
  ])
  return JSON.stringify({ type: 'Polygon', coordinates: [[...edges, edges[0]]] })
}
/**
 * Shapes whose measures or drawings depend on checks: a spike through a wall, several turns at a pole, a ring
 * thinner than half a centimetre, and a hole that begins a nanodegree west of its shell.
 */
const MEASURED = [
  '{"type":"Polygon","coordinates":[[[10.001953125,30],[10.00390625,30],[10,30.00390625],[10.001953125,30.001953125],[10.005859375,30.005859375],[10,30.005859375],[10.001953125,30]]]}',
  ...[sectors(90), sectors(-90)],
  '{"type":"LineString","coordinates":[[0,0],[90,0.5],[180,0]]}',
  '{"type":"Polygon","coordinates":[[[0,-90],[179.90000000291846,-45],[-178.56214089213273,-44.9999999999895],[179.89999999999904,-45],[0,-90]]]}',
  '{"type":"Polygon","coordinates":[[[0,0],[20,0],[20,20],[0,20],[0,0]],[[-1e-9,9],[9,8],[9,12],[-1e-9,9]]]}',
]
const PAIRS = ['13.4, 52.5', '[13.4,52.5]', '[13.4, 52.5, 7]', '113.4 52.5', '52.5, 113.4', '13,4 52,5']
const LOCATIONS: Record<LocationType, string[]> = {
  geojson: GEOJSON,
  wkt: [
    'POINT(13.4 52.5)',
    'SRID=4326;POINT Z(1 2 3)',
    'LINESTRING(170 0,-170 10)',
    'MULTIPOINT((1 2),(3 4))',
  ],
  'coordinate-decimal+lon-lat': PAIRS,
  'coordinate-decimal+lat-lon': PAIRS,
  'DecimalDegrees<string>': PAIRS,
  scaledCoordinates: [
    '{"x":13400000,"y":52500000,"scale":1000000}',
    '{"x":"134","y":"525","scale":"10"}',
    '[1]',
  ],
  h3: ['8928308280fffff', '617700169958293503', '0x8928308280fffff', '8001fffffffffff'],
  geohash: ['u33', 'U33DC', 'ezs42', 'b', '9'.repeat(12), 'u33a'],
  address: ['Berlin'],
  DecimalDegrees: PAIRS,
}
const SUFFIXES = [
  ...['', 'point', 'polygon', 'string', 'lon-lat', 'lat-lon', 'yx', 'xy', 'y x', 'northing-easting'],
  ...['v2'],
]
const SRS_WORDS = [
  ...['EPSG', 'SRID', 'OGC', 'CRS', 'CRS84', 'CRS84h', 'WGS', 'WGS84', '84', '1984', '4326', '3857'],
  ...['1.3', '0'],
  ...['GPS', 'GCS', 'World Geodetic System', 'urn:ogc:def:crs', 'http://www.opengis.net/def/crs'],
]

const hashOf = (rows: unknown) => createHash('sha256').update(JSON.stringify(rows)).digest('hex').slice(0, 16)

/** A change of these hashes requires a new READING. Otherwise existing databases keep their old records. */
test('a change of the output of the projection requires a new version', () => {
  const rows = [
    ...Object.entries(LOCATION_TYPES).flatMap(([type, { spellings }]) =>
      spellings.flatMap((spelling) =>
        SUFFIXES.flatMap((suffix) =>
          LOCATIONS[type as LocationType]
            .slice(0, 3)
            .map((location) => read('EPSG:4326', [spelling, suffix].join('-'), location)),
        ).concat(
          LOCATIONS[type as LocationType].flatMap((location) => [
            read('', spelling, location),
            ...['text/', 'application/x-'].map((prefix) => read('EPSG:4326', prefix + spelling, location)),
            read('EPSG:4326', spelling.replace(/lon\b/, 'long'), location),
          ]),
        ),
      ),
    ),
    ...[
      ...[...SRS_SPELLINGS.longitudeFirst, ...SRS_SPELLINGS.latitudeFirst, ...SRS_WORDS],
      ...SRS_WORDS.flatMap((first) => SRS_WORDS.map((second) => `${first}:${second}`)),
    ].flatMap((srs) => [read(srs, 'geojson', GEOJSON[0]!), read(srs, 'wkt', 'POINT(13.4 52.5)')]),
    read('EPSG:4326', `wkt${' '.repeat(1_000)}`, 'POINT(13.4 52.5)'),
    read('EPSG:4326', 'wkt', 'GEOMETRYCOLLECTION M (POINT (1 2 3))'),
    ...MEASURED.map((location) => read('EPSG:4326', 'geojson', location)),
    ...[0n, 1n, 1_700_000_000n, 253_402_300_799n, 253_402_300_800n, 1_700_000_000_000n, 2n ** 255n].map(
      readTime,
    ),
  ]
  expect({ READING, hash: hashOf(rows) }).toEqual({ READING: 10, hash: '7e647187001a24b7' })
})

test('a change of the reading of an SRS of three words requires a new version', { tags: ['slow'] }, () => {
  const rows = SRS_WORDS.flatMap((first) =>
    SRS_WORDS.flatMap((second) =>
      SRS_WORDS.map((third) => read(`${first}:${second}:${third}`, 'wkt', 'POINT(13.4 52.5)')),
    ),
  )
  expect({ READING, hash: hashOf(rows) }).toEqual({ READING: 10, hash: '911d1615a0a9189b' })
})

test('the projection revokes a record of the same batch in its row, and an earlier record by its ID', () => {
  const { event, body } = attestedPlace(1, 'POINT(1 2)', 'wkt')
  const revocation = { ...event, kind: EventKind.REVOKED, blockTimestamp: event.blockTimestamp + 5_000 }
  const at = new Date(revocation.blockTimestamp)
  const now = new Date(0)
  const both = project('celo', [event, revocation], new Map([[event.uid, body]]), now)
  expect(both.rows.location_record).toMatchObject([{ revoked: true, revocation_time: at }])
  expect(both.revocations.location_record).toEqual([])
  const later = project('celo', [revocation], new Map(), now)
  expect(later.rows.location_record).toEqual([])
  expect(later.revocations.location_record).toEqual([
    { id: `celo-${event.uid}`, revocation_time: at, updated_at: now },
  ])
})
