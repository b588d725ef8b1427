import { Client } from 'pg'
import { seededRandom } from '../dev/random'
import { GeometryError, prepareGeometry, readGeometry, type PreparedGeometry } from '../src/geodesy'
import { measuresOf, type RecordRow } from '../src/indexer/project'
import {
  LINE_VERSION,
  LOCATION_PROTOCOL_SCHEMA,
  LOCATION_SCHEMA,
  recordFields,
  recordLine,
  type Attributes,
} from '../src/location'
import { planeShape } from '../src/location/plane'

/** Writes records without a chain for all tests, like the indexer. */

export interface Geometry {
  type: string
  coordinates?: unknown
  geometries?: unknown
}

/** Settings of a test's record. All other values follow from its number, and are the same each time. */
export interface GivenRecord {
  chain?: string
  uid?: string
  prover?: string
  subject?: string
  /** Unix milliseconds */
  timestamp?: number
  eventTimestamp?: number
  locationType?: string
  schema?: string
  revoked?: boolean
  memo?: string
  /** null for a location that could not be read */
  geometry?: Geometry | null
  location?: string
  recipeTypes?: string[]
  /** data of one media item, an image/png */
  media?: string
  problem?: string | null
  /** further fields of the payload */
  attributes?: Attributes | null
  /** columns that override all other values */
  columns?: Partial<RecordRow>
}
export interface StoredRecord extends Required<Omit<GivenRecord, 'media' | 'columns'>> {
  id: string
}

export const ADDRESSES = [1, 2, 3, 4, 5].map((i) => `0x${String(i).repeat(39)}a`)
/** Noon of 1 January 2026. */
const START = Date.UTC(2026, 0, 1, 12)
const WRITTEN = new Date('2026-07-01T00:00:00Z')
/** Records per statement. */
const CHUNK = 2_000

export const uidOf = (i: number) => `0x${i.toString(16).padStart(64, '0')}`
export const addressOf = (i: number) => `0x${i.toString(16).padStart(40, '0')}`

/** Prepared geometry; undefined if the kernel rejects it, or a polygon has an ambiguous inside. */
export function preparedOf(geometry: Geometry): PreparedGeometry | undefined {
  try {
    return prepareGeometry(readGeometry(geometry, 'geometry'))
  } catch (error) {
    if (error instanceof GeometryError) return undefined
    throw error
  }
}

/** Values that the indexer computes from a geometry. Tests write several records with one large geometry. */
function shapeOf(geometry: Geometry) {
  const known = shapes.get(geometry) ?? indexedShape(geometry)
  shapes.set(geometry, known)
  return known
}
/** shapes of each geometry */
const shapes = new WeakMap<Geometry, ReturnType<typeof indexedShape>>()
function indexedShape(geometry: Geometry) {
  const json = JSON.stringify(geometry)
  const plane = planeShape(readGeometry(JSON.parse(json), 'geometry'))
  const point = geometry.type === 'Point' ? (geometry.coordinates as [number, number]) : null
  return { json, plane, point, measures: measuresOf({ json, plane, point }) }
}

/**
 * Writes records, thousands at once, and returns them.
 * @param to a database, or a connection to it (for use within its transaction)
 * @param first number of the first record
 */
export async function insertRecords(
  to: string | Pick<Client, 'query'>,
  given: readonly GivenRecord[],
  first = 1,
): Promise<StoredRecord[]> {
  const records = given.map((record, n) => completed(record, n + first))
  const client = typeof to === 'string' ? new Client({ connectionString: to }) : undefined
  await client?.connect()
  try {
    for (let at = 0; at < records.length; at += CHUNK) {
      const rows = records
        .slice(at, at + CHUNK)
        .map((record, i) => rowOf(record, given[at + i]!, i % 2 === 0))
      await (client ?? (to as Client)).query(
        'INSERT INTO location_record SELECT * FROM json_populate_recordset(NULL::location_record, $1)',
        [JSON.stringify(rows)],
      )
    }
  } finally {
    await client?.end()
  }
  return records
}

function completed({ media: _, columns: __, ...record }: GivenRecord, i: number): StoredRecord {
  const { chain = 'celo', timestamp = START + i * 60_000, geometry = null } = record
  const uid = record.uid ?? `0x${i.toString(16).padStart(8, '0').padEnd(64, 'c0ffee')}`
  return {
    ...{
      prover: ADDRESSES[i % 5]!,
      subject: ADDRESSES[(i >> 1) % 5]!,
      eventTimestamp: timestamp,
      schema: i % 3 ? LOCATION_SCHEMA.uid : LOCATION_PROTOCOL_SCHEMA.uid,
      locationType: geometry === null ? 'address' : 'geojson',
    },
    ...{
      revoked: false,
      memo: '',
      location: geometry === null ? 'nowhere' : JSON.stringify(geometry),
      recipeTypes: [],
      attributes: null,
      problem: geometry === null ? "location_type 'address' is not known" : null,
    },
    ...record,
    ...{ chain, uid, timestamp, geometry, id: `${chain}-${uid}` },
  }
}

/** Columns of a record. Every other record has no stored JSON line, like records after an upgrade. */
function rowOf(record: StoredRecord, given: GivenRecord, isWritten: boolean): Partial<RecordRow> {
  const row = columnsOf(record, given)
  return { ...row, ...(isWritten && { line: recordLine(row), line_version: LINE_VERSION }) }
}

function columnsOf(
  record: StoredRecord,
  { media, columns }: GivenRecord,
): Omit<RecordRow, 'line' | 'line_version'> {
  const { chain, uid, geometry } = record
  const shape = geometry && shapeOf(geometry)
  return {
    ...recordFields({
      ...{ chain, uid, attester: record.prover, recipient: record.subject },
      blockTime: new Date(record.timestamp),
      now: WRITTEN,
      location: {
        ...{ eventTimestamp: undefined, timeProblem: null },
        srs: 'EPSG:4326',
        locationType: record.locationType,
        location: record.location,
        recipeTypes: record.recipeTypes,
        recipePayloads: [],
        mediaTypes: media === undefined ? [] : ['image/png'],
        mediaData: media === undefined ? [] : [media],
        memo: record.memo,
        geometry: shape,
        geometryProblem: record.problem,
        attributes: record.attributes,
      },
    }),
    ...{
      id: record.id,
      event_timestamp: new Date(record.eventTimestamp),
      revoked: record.revoked,
      revocation_time: null,
      geometry: shape?.json ?? null,
      geom: shape?.plane ?? null,
      ...(shape?.measures ?? measuresOf(null)),
    },
    ...{
      schema_uid: record.schema,
      ref_uid: uidOf(0),
      revocable: true,
      expiration_time: '0',
      block_number: 1,
      block_hash: uidOf(1),
      transaction_hash: uidOf(1),
      log_index: 0,
    },
    ...columns,
  }
}

export const SCHEMA_A = uidOf(0xa)
export const SCHEMA_B = uidOf(0xb)

/** A place from somePlaces, with all values that tests need. */
export type Place = GivenRecord & { uid: string; timestamp: number; geometry: Geometry | null }

/**
 * Returns `count` places all over the world, the same ones for the same seed: points, lines, polygons and
 * collections, one in eight without a geometry, on four chains, one a minute.
 */
export function somePlaces(count: number, seed: number): Place[] {
  const random = seededRandom(seed)
  const round = (value: number) => Math.round(value * 1e4) / 1e4
  return Array.from({ length: count }, (_, i) => {
    const [lng, lat] = [round(random() * 350 - 175), round(random() * 160 - 80)]
    const near = (dx: number, dy: number) => [round(lng + dx), round(lat + dy)]
    const geometries = [
      { type: 'Point', coordinates: [lng, lat] },
      { type: 'Point', coordinates: [lng, lat] },
      { type: 'LineString', coordinates: [near(0, 0), near(1, 0.5), near(2, -0.5)] },
      { type: 'Polygon', coordinates: [[near(0, 0), near(1, 0), near(1, 1), near(0, 1), near(0, 0)]] },
      { type: 'MultiPoint', coordinates: [near(0, 0), near(0.5, 0.5)] },
      {
        type: 'MultiPolygon',
        coordinates: [
          [[near(0, 0), near(1, 0), near(1, 1), near(0, 0)]],
          [[near(2, 0), near(3, 0), near(3, 1), near(2, 0)]],
        ],
      },
      {
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: [lng, lat] },
          { type: 'LineString', coordinates: [near(0, 0), near(1, 1)] },
        ],
      },
      null,
    ]
    const geometry = geometries[Math.floor(random() * geometries.length)]!
    const timestamp = Date.UTC(2026, 0, 1) + i * 60_000
    return {
      ...{
        chain: ['base-sepolia', 'sepolia', 'arbitrum', 'celo'][i % 4]!,
        uid: uidOf(i + 1),
        timestamp,
        eventTimestamp: timestamp - 60_000,
        geometry,
        locationType: geometry ? `geojson-${geometry.type.toLowerCase()}` : 'address',
      },
      ...{
        prover: addressOf(100 + (i % 7)),
        subject: addressOf(200 + (i % 11)),
        revoked: i % 10 === 0,
        schema: i % 3 ? SCHEMA_A : SCHEMA_B,
        memo: `Place ${i}`,
      },
    }
  })
}
