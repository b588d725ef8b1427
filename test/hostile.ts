import { CHAINS } from '../src/chains'
import type { AttestationBody } from '../src/indexer/bodies'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import { EventKind } from '../src/model/generated/_eventKind'
import type { ChainEvent } from '../src/indexer/project'
import { encode, word } from './abi'
import { positions } from './positions'

/** Hostile attestations: anyone may attest anything (docs/spec/trust.md 5). */

export type Random = () => number
type Ring = number[][]

/** An invented attestation and its event. */
export interface Attested {
  event: ChainEvent
  body: AttestationBody
}

/** The nth attestation on celo, one per block, with this payload. */
function attested(n: number, schema: string, data: string, changes: Partial<AttestationBody> = {}): Attested {
  const uid = `0x${word(n + 1)}`
  const [attester, recipient] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
  const blockNumber = CHAINS[3]!.firstBlock + 1 + n
  const blockTimestamp = Date.UTC(2026, 0, 1) + n * 1_000
  const time = BigInt(blockTimestamp / 1_000)
  return {
    event: {
      kind: EventKind.ATTESTED,
      uid,
      schemaUid: schema,
      attester,
      recipient,
      blockNumber,
      blockHash: `0x${word(blockNumber)}`,
      blockTimestamp,
      transactionHash: uid,
      logIndex: 0,
    },
    body: {
      uid,
      schema,
      recipient,
      attester,
      time,
      expirationTime: 0n,
      revocable: true,
      refUID: `0x${word(0)}`,
      data: Buffer.from(data.slice(2), 'hex'),
      ...changes,
    },
  }
}

/** Attestation of a location by its text and type. */
export function attestedPlace(n: number, location: string, locationType = 'geojson', memo = ''): Attested {
  return attested(
    n,
    LOCATION_SCHEMA.uid,
    encode([0n, 'EPSG:4326', locationType, location, [], [], [], [], memo]),
  )
}

const ring = (count: number, at: (i: number) => number[]): Ring =>
  ((some) => [...some, some[0]!])(Array.from({ length: count }, (_, i) => at(i)))
const wrapped = (lng: number) => lng - 360 * Math.round(lng / 360)

/** Geometries with about this many positions that are slow for algorithms that search for crossings. */
export const FAMILIES: Readonly<Record<string, (positions: number) => object>> = {
  'a star whose edges all cross': (n) => ({
    type: 'Polygon',
    coordinates: [ring(n, (i) => [10 * Math.cos(i * 2.39), 10 * Math.sin(i * 2.39)])],
  }),
  'holes that cross each other': (n) => ({
    type: 'Polygon',
    coordinates: [
      ring(4, (i) => positions('-80 -80, 80 -80, 80 80, -80 80')[i]!),
      ...Array.from({ length: Math.floor(n / 4) }, (_, k) =>
        ring(3, (i) => [60 * Math.cos(i * 2.1 + k), 60 * Math.sin(i * 2.1 + k)]),
      ),
    ],
  }),
  'a zigzag over the antimeridian': (n) => ({
    type: 'LineString',
    coordinates: Array.from({ length: n }, (_, i) => [i % 2 ? 179 : -179, (i / n) * 100 - 50]),
  }),
  'a comb over the antimeridian': (n) => ({
    type: 'Polygon',
    coordinates: [
      [
        ...Array.from({ length: n }, (_, i) => [i % 2 ? 170 : -179, (i / n) * 100 - 50]),
        [160, 50],
        [160, -50],
        [-179, -50],
      ],
    ],
  }),
  'a zigzag of long edges': (n) => ({
    type: 'LineString',
    coordinates: Array.from({ length: n }, (_, i) => [i % 2 ? -85 : 85, (i / n) * 100 - 50]),
  }),
  points: (n) => ({
    type: 'MultiPoint',
    coordinates: Array.from({ length: n }, (_, i) => [wrapped(i * 137.5), (i * 61) % 89]),
  }),
  'one point many times': (n) => ({
    type: 'MultiPoint',
    coordinates: Array.from({ length: n }, () => [1, 2]),
  }),
  'a spiral around the pole': (n) => ({
    type: 'Polygon',
    coordinates: [ring(n, (i) => [wrapped(i * 40), 89 - (i / n) * 80])],
  }),
  'a line that circles the globe': (n) => ({
    type: 'LineString',
    coordinates: Array.from({ length: n }, (_, i) => [wrapped(i * 100), (i / n) * 160 - 80]),
  }),
  'polygons that overlap': (n) => ({
    type: 'MultiPolygon',
    coordinates: Array.from({ length: Math.floor(n / 4) }, (_, k) => [
      ring(3, (i) => [wrapped(170 + 15 * Math.cos(i * 2.1 + k)), 15 * Math.sin(i * 2.1 + k)]),
    ]),
  }),
  'lines in collections': (n) => ({
    type: 'GeometryCollection',
    geometries: Array.from({ length: Math.floor(n / 10) }, (_, k) => ({
      type: 'LineString',
      coordinates: Array.from({ length: 10 }, (_each, i) => [i % 2 ? 179 : -179, (k * (i + 1)) % 89]),
    })),
  }),
}

/**
 * Geometry of a family as GeoJSON with at most about this many characters, in hundredths of a degree. An
 * attestation in one transaction has at most about 128,000.
 */
export function hostileShape(family: string, characters: number): { type: string; coordinates?: unknown } {
  const shape = FAMILIES[family]!
  const texts = (positions: number) =>
    JSON.stringify(shape(positions), (_key, value: unknown) =>
      typeof value === 'number' ? Math.round(value * 100) / 100 : value,
    )
  const each = texts(1_000).length / 1_000
  return JSON.parse(texts(Math.floor((0.95 * characters) / each))) as { type: string }
}

const CHARACTERS = [
  ...['a', ' ', '\0', '\n', '\t', '\\', '"', "'", '\\u0000', '{', '}', '[', ']', ',', '%', '$1'],
  ...['\u0001', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u0130', '\u0131', '\u0301', '\u200b', '\u200f'],
  ...['\u2028', '\u202e', '\ufeff', '\ufffd', '\ufffe', '\uffff', '\ud83d\ude00', '\ud800\udc00'],
  ...['\udbff\udfff', '\u1e9e', '\ufb03', '=1+1', '<b>', '\uff1d'],
]
const NUMBERS = [
  ...['0', '-0', '1e999', '-1e999', '1e-999', '5e-324', '1.7976931348623157e308', '180', '-180'],
  ...['180.00000000000003', '90', '1e2', '0x1', '01', '.5', '9'.repeat(400), '1'.repeat(20), 'NaN'],
  ...['Infinity', 'null', 'true', '""', '[]', '{}'],
]
const TYPES = [
  ...['geojson', 'GeoJSON-Point', 'geojson-polygon', 'wkt', 'wkt-point', 'coordinate-decimal+lon-lat'],
  ...['coordinate-decimal+lat-lon', 'scaledCoordinates', 'h3', 'geohash', 'address', 'DecimalDegrees'],
  '',
]

/** Attestation number n with hostile sizes, characters, numbers, nesting depths and geometries. */
export function hostile(n: number, random: Random): Attested {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  /** Most sizes are small. One in several thousand is very large. */
  const size = () =>
    random() < 0.9 ? upTo(40) : random() < 0.95 ? upTo(5_000) : random() < 0.97 ? upTo(50_000) : upTo(300_000)
  const noise = () => Buffer.from(Array.from({ length: Math.min(size(), 20_000) }, () => upTo(255)))
  const text = (): string => {
    const length = size()
    if (random() < 0.3) return one(CHARACTERS).repeat(length)
    // This text does not compress, so Postgres stores it out of line, and it is too long for an index.
    if (random() < 0.3)
      return Array.from({ length: Math.min(length, 9_000) }, () =>
        String.fromCodePoint(0x21 + upTo(0xd000)),
      ).join('')
    return Array.from({ length: Math.min(length, 2_000) }, () => one(CHARACTERS)).join('')
  }
  const number = () => (random() < 0.6 ? one(NUMBERS) : String((random() - 0.5) * 400))
  const position = () => `[${Array.from({ length: random() < 0.9 ? 2 : upTo(5) }, number).join()}]`
  const positions = () => `[${Array.from({ length: upTo(6) }, position).join()}]`
  const nested = () =>
    one(
      [
        ...['[', '{"type":"GeometryCollection","geometries":[', '{"a":', 'GEOMETRYCOLLECTION(', '(('],
        ...['[[[[[1,2]'],
      ].map((part) => part.repeat(upTo(random() < 0.9 ? 12 : 20_000))),
    )
  const json = (): string => {
    const type = one([
      ...['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon', 'Feature'],
      ...['FeatureCollection', '__proto__', 'Curve'],
    ])
    return random() < 0.5
      ? `{"type":"${type}","coordinates":${one([position, positions, () => `[${positions()}]`, nested])()}}`
      : `{"coordinates":${position()},"type":"Point","type":"${type}","__proto__":{}}`
  }
  const family = () =>
    JSON.stringify(one(Object.values(FAMILIES))(random() < 0.995 ? 4 + upTo(40) : upTo(3_000)))
  const wkt = () =>
    `${one(['SRID=4326;', '', 'SRID=9;'])}${one(['POINT', 'LINESTRING', 'POLYGON', 'MULTIPOINT', 'CURVE'])}${one([' Z', '', ' EMPTY'])}(${one(['', '('])}${number()} ${number()},${number()} ${number()})`
  const location = () =>
    one([
      text,
      json,
      json,
      family,
      family,
      nested,
      wkt,
      () => position(),
      () => `{"x":${number()},"y":"${number()}","scale":${number()}}`,
      () => one(['89283082837ffff', '0x8f', 'u33dc0', 'zzzzzzzzzzzzzzzzzzz']),
    ])()
  const locationType = () => (random() < 0.8 ? one(TYPES) : text())
  const list = () =>
    Array.from({ length: random() < 0.98 ? upTo(3) : upTo(2_000) }, () =>
      random() < 0.9 ? one(CHARACTERS) : text(),
    )
  const payload = (): [string, string] => {
    const srs =
      random() < 0.85 ? 'EPSG:4326' : random() < 0.5 ? 'http://www.opengis.net/def/crs/EPSG/0/4326' : text()
    const eventTime = one([
      ...[0n, 1_700_000_000n, 253_402_300_799n, 253_402_300_800n, 2n ** 63n, 2n ** 256n - 1n],
    ])
    if (random() < 0.3)
      return [LOCATION_PROTOCOL_SCHEMA.uid, encode([text(), srs, locationType(), location()])]
    return [
      LOCATION_SCHEMA.uid,
      encode([
        ...[random() < 0.7 ? 0n : eventTime, srs, locationType(), location(), list()],
        ...[Array.from({ length: upTo(3) }, noise), list(), list(), text()],
      ]),
    ]
  }
  const [schema, data] = payload()
  const broken = (): string => {
    if (random() < 0.2) return `0x${noise().toString('hex')}`
    if (random() < 0.3) return data.slice(0, 2 + 2 * upTo(data.length / 2 - 1))
    // Replaces one ABI word.
    const at = 2 + 64 * upTo(Math.floor((data.length - 66) / 64))
    return (
      data.slice(0, at) +
      one([word(0), word(2n ** 256n - 1n), word(upTo(data.length)), word(288)]) +
      data.slice(at + 64)
    )
  }
  return attested(n, schema, random() < 0.9 ? data : broken(), {
    ...{ expirationTime: one([0n, 1n, 2n ** 64n - 1n]), revocable: random() < 0.5 },
    ...(random() < 0.1 && { refUID: `0x${'f'.repeat(64)}` }),
  })
}
