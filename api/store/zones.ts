import type { Box } from '../../src/geodesy'
import { conditions, whereClause } from './sql'
import type { RecordFilter } from './model'
import { statement } from './sql-groups'
import type { Store } from './store'

/** Candidates of the zones that may contain a geometry: records whose boxes meet its own. */

/** Zones of one chain: these UIDs in lower case, or the valid records of an attester or a schema. */
export type ZoneSet = { uids: readonly string[] } | Pick<RecordFilter, 'prover' | 'schema'>

/** Ends of the canonical JSON of polygons. */
const IS_POLYGON = `longitude IS NULL AND geom IS NOT NULL AND geometry LIKE '%Polygon"}'`

/**
 * Returns the UIDs of the zones that may contain a geometry, at most `most`, in the order of UIDs. Includes
 * records without a geometry, because their place is unknown, and UIDs that the index does not have.
 * @param reach boxes of the geometry
 * @param now Unix seconds, for records that expire
 */
export async function zoneCandidates(
  store: Store,
  chain: string,
  zones: ZoneSet,
  reach: readonly Box[],
  now: number,
  most: number,
): Promise<string[]> {
  if ('uids' in zones) {
    const ids = zones.uids.map((uid) => `${chain}-${uid}`)
    const away = await store.run<{ uid: string }>(
      statement((value) => {
        const [mayReach] = conditions({ reaching: reach }, value)
        return `SELECT uid FROM location_record
          WHERE id = ANY(${value(ids)}) AND ${IS_POLYGON} AND (${mayReach}) IS NOT TRUE`
      }),
      true,
    )
    const excluded = new Set(away.map(({ uid }) => uid))
    return zones.uids.filter((uid) => !excluded.has(uid)).slice(0, most)
  }
  const found = await store.run<{ uid: string }>(
    statement((value) => {
      const among = (filter: RecordFilter, more: string) =>
        `SELECT uid FROM location_record AS record ${whereClause([
          ...conditions({ chain, revoked: false, ...zones, ...filter }, value),
          `(expiration_time = 0 OR expiration_time > ${value(now)}) AND ${more}`,
          `NOT EXISTS (SELECT FROM location_schema AS schema WHERE schema.chain = record.chain AND schema.uid = record.schema_uid AND NOT schema.watched)`,
        ])}`
      return `SELECT uid FROM (${among({ reaching: reach }, IS_POLYGON)} UNION ALL ${among({ nowhere: true }, 'true')}) AS zone
        ORDER BY uid LIMIT ${value(most)}`
    }),
    true,
  )
  return found.map(({ uid }) => uid)
}
