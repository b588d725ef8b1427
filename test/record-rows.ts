import type { Client } from 'pg'
import { planeOf } from './records'

/** A record that no chain has, as much of it as a test cares for. */
export interface RecordFixture {
  chain: string
  /** Its UID is made of this. */
  n: number
  /** ISO 8601 */
  timestamp?: string
  prover?: string
  subject?: string
  schema?: string
  locationType?: string
  longitude?: number
  latitude?: number
  memo?: string
  revoked?: boolean
}

export function uidOf(n: number): string {
  return `0x${n.toString(16).padStart(64, '0')}`
}

/** Writes records past the indexer, in one statement; the tables that follow from them are kept by the database. */
export async function insertRecords(
  client: Pick<Client, 'query'>,
  fixtures: readonly RecordFixture[],
): Promise<void> {
  const rows = fixtures.map(
    ({
      chain,
      n,
      timestamp = '2026-01-01T00:00:00Z',
      prover = `0x${'1'.repeat(40)}`,
      subject = prover,
      schema = `0x${'a'.repeat(64)}`,
      locationType = 'geojson-point',
      longitude = 13.4,
      latitude = 52.5,
      memo = '',
      revoked = false,
    }) => {
      const geometry = JSON.stringify({ type: 'Point', coordinates: [longitude, latitude] })
      return {
        ...{
          id: `${chain}-${uidOf(n)}`,
          uid: uidOf(n),
          chain,
          prover,
          subject,
          timestamp,
          event_timestamp: timestamp,
          srs: 'EPSG:4326',
          location_type: locationType,
          location: geometry,
          longitude,
          latitude,
        },
        ...{
          recipe_types: [],
          recipe_payloads: [],
          media_types: [],
          media_data: [],
          memo,
          revoked,
          created_at: timestamp,
          updated_at: timestamp,
          geometry,
          geom: planeOf(geometry),
        },
        ...{
          schema_uid: schema,
          ref_uid: uidOf(0),
          revocable: true,
          expiration_time: 0,
          block_number: 1,
          block_hash: uidOf(1),
          transaction_hash: uidOf(1),
          log_index: 0,
        },
      }
    },
  )
  await client.query(
    'INSERT INTO location_record SELECT * FROM json_populate_recordset(NULL::location_record, $1)',
    [JSON.stringify(rows)],
  )
}
