import { Client } from 'pg'
import { seededRandom } from '../dev/random'
import { planeOf } from './records'

/** Records of places for tests of the read side, written as the indexer writes them: triggers and indexes do their part. */

export interface Place {
  chain?: string
  uid: string
  /** Unix milliseconds */
  at: number
  /** GeoJSON geometry; null: a record whose geometry could not be read */
  geometry: { type: string; coordinates?: unknown; geometries?: unknown } | null
  prover?: string
  subject?: string
  type?: string
  location?: string
  memo?: string
  revoked?: boolean
  schema?: string
  media?: string
  /** Of one without a geometry */
  problem?: string
}

export const uidOf = (i: number) => `0x${i.toString(16).padStart(64, '0')}`
export const addressOf = (i: number) => `0x${i.toString(16).padStart(40, '0')}`
export const SCHEMA_A = uidOf(0xa)
export const SCHEMA_B = uidOf(0xb)

/** Writes them, 500 a statement. */
export async function insertPlaces(databaseUrl: string, places: readonly Place[]): Promise<void> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  for (let i = 0; i < places.length; i += 500) {
    const rows = places.slice(i, i + 500).map((place, n) => {
      const {
        chain = 'base-sepolia',
        uid,
        at,
        geometry,
        prover = addressOf(1),
        subject = addressOf(2),
        revoked = false,
        memo = '',
        media,
      } = place
      const [lng, lat] =
        geometry?.type === 'Point' ? (geometry.coordinates as [number, number]) : [null, null]
      const text = geometry && JSON.stringify(geometry)
      return {
        ...{
          id: `${chain}-${uid}`,
          uid,
          chain,
          prover,
          subject,
          timestamp: new Date(at),
          event_timestamp: new Date(at - 60_000),
          srs: 'EPSG:4326',
          location_type: place.type ?? (geometry ? `geojson-${geometry.type.toLowerCase()}` : 'address'),
        },
        ...{
          location: place.location ?? text ?? 'Pariser Platz, Berlin',
          longitude: lng,
          latitude: lat,
          recipe_types: [],
          recipe_payloads: [],
          media_types: media ? ['image/png'] : [],
          media_data: media ? [media] : [],
        },
        ...{
          memo,
          revoked,
          geometry: text,
          geom: text && planeOf(text),
          problem: text ? null : (place.problem ?? "location_type 'address' is not known"),
        },
        ...{
          created_at: new Date(at + 2_000),
          updated_at: new Date(at + 2_000),
          schema_uid: place.schema ?? SCHEMA_A,
          ref_uid: uidOf(0),
          revocable: true,
          expiration_time: 0,
          block_number: i + n,
          block_hash: uidOf(i + n),
          transaction_hash: uidOf(i + n),
          log_index: 0,
        },
      }
    })
    const columns = Object.keys(rows[0]!).join()
    await client.query(
      `INSERT INTO location_record (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::location_record, $1)`,
      [JSON.stringify(rows)],
    )
  }
  await client.query('ANALYZE location_record')
  await client.end()
}

/** So many places all over the world, the same ones for the same seed: points, lines, polygons and collections, one in eight without a geometry, on four chains, one a minute. */
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
    return {
      ...{
        chain: ['base-sepolia', 'sepolia', 'arbitrum', 'celo'][i % 4]!,
        uid: uidOf(i + 1),
        at: Date.UTC(2026, 0, 1) + i * 60_000,
        geometry: geometries[Math.floor(random() * geometries.length)]!,
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
