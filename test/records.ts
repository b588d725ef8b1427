import { readGeometry } from '../src/geodesy'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../src/location'
import { planeShape } from '../src/plane'
import { rows } from './database'

/** The shape that the indexer would write of this GeoJSON text. */
export function planeOf(geometry: string): string {
  return planeShape(readGeometry(JSON.parse(geometry), 'geometry'))
}

/** What a test says of a record; the rest is made up, the same each time. */
export interface GivenRecord {
  chain?: string
  prover?: string
  subject?: string
  /** Unix milliseconds */
  timestamp?: number
  eventTimestamp?: number
  locationType?: string
  schema?: string
  revoked?: boolean
  memo?: string
  geometry?: object | null
  location?: string
  recipeTypes?: string[]
  problem?: string | null
}
export interface StoredRecord extends Required<Omit<GivenRecord, 'problem'>> {
  problem: string | null
  id: string
  uid: string
}

export const ADDRESSES = [1, 2, 3, 4, 5].map((i) => `0x${String(i).repeat(39)}a`)
/** Noon of 1 January 2026. */
const START = Date.UTC(2026, 0, 1, 12)

/** Records as the indexer writes them, straight into the database: thousands at once. */
export async function insertRecords(
  url: string,
  given: readonly GivenRecord[],
  first = 1,
): Promise<StoredRecord[]> {
  const records = given.map((record, n): StoredRecord => {
    const i = n + first
    const uid = `0x${i.toString(16).padStart(8, '0').padEnd(64, 'c0ffee')}`
    const { chain = 'celo', timestamp = START + i * 60_000, geometry = null } = record
    return {
      ...{
        chain,
        prover: ADDRESSES[i % 5]!,
        subject: ADDRESSES[(i >> 1) % 5]!,
        timestamp,
        eventTimestamp: timestamp,
        schema: i % 3 ? LOCATION_SCHEMA.uid : LOCATION_PROTOCOL_SCHEMA.uid,
      },
      ...{
        locationType: geometry === null ? 'address' : 'geojson',
        revoked: false,
        memo: '',
        location: geometry === null ? 'nowhere' : JSON.stringify(geometry),
        recipeTypes: [],
        problem: geometry === null ? "location_type 'address' is not known" : null,
      },
      ...record,
      ...{ geometry, uid, id: `${chain}-${uid}` },
    }
  })
  for (let at = 0; at < records.length; at += 2_000)
    await rows(
      url,
      `INSERT INTO location_record (id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location, longitude, latitude,
         recipe_types, recipe_payloads, media_types, media_data, memo, revoked, created_at, updated_at, geometry, schema_uid, ref_uid, revocable,
         expiration_time, block_number, block_hash, transaction_hash, log_index, geom, problem)
       SELECT id, uid, chain, prover, subject, to_timestamp(timestamp / 1000.0), to_timestamp("eventTimestamp" / 1000.0), 'EPSG:4326', "locationType", location,
         (geometry -> 'coordinates' ->> 0)::numeric, (geometry -> 'coordinates' ->> 1)::numeric, ARRAY(SELECT jsonb_array_elements_text("recipeTypes")), '{}', '{}', '{}', memo, revoked,
         '2026-07-01Z', '2026-07-01Z', written, schema, '0x', true, 0, 1, '0x', '0x', 0, plane::geometry, problem
       FROM jsonb_to_recordset($1) AS t(id text, uid text, chain text, prover text, subject text, timestamp float8, "eventTimestamp" float8, "locationType" text, location text,
         "recipeTypes" jsonb, problem text, memo text, revoked bool, schema text, written text, plane text, point jsonb)
         CROSS JOIN LATERAL (SELECT point AS geometry) AS g`,
      [
        JSON.stringify(
          records
            .slice(at, at + 2_000)
            .map(({ geometry, ...record }) => ({
              ...record,
              written: geometry && JSON.stringify(geometry),
              plane: geometry && planeOf(JSON.stringify(geometry)),
              point: (geometry as { type?: string } | null)?.type === 'Point' ? geometry : null,
            })),
        ),
      ],
    )
  return records
}
