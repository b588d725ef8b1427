import type { Box } from '../../src/geodesy'
import { IS_FOLLOWED } from './inputs'
import { conditions, statement, whereClause } from './sql'
import { type RecordFilter } from './model'
import { RETRY } from './pool'
import type { Store } from './store'

/** Candidates of the zones that may contain a geometry: records whose boxes meet its own. */

/** Zones of one chain: these UIDs in lower case, or the valid records of an attester or a schema. */
export type ZoneSet = { uids: readonly string[] } | { prover?: string; schema?: string }

/** Type of a geometry. The end of the canonical JSON has it. */
const TYPE = `coalesce(substring(right(geometry, 30) FROM '"type":"(\\w+)"}$'), '')`
/** SQL that is true for a Polygon or a MultiPolygon. It reads the end of the canonical JSON. */
const IS_POLYGON = `longitude IS NULL AND geom IS NOT NULL AND geometry LIKE '%Polygon"}'`

export interface ZoneCandidates {
  /** UIDs of polygons that may contain the geometry, and UIDs that the index lacks, the smallest first. */
  uids: string[]
  /** Records whose place is unknown, with the reason. */
  unplaced: { uid: string; problem: string | null }[]
  /** Listed records that are not polygons, with the type of their geometry. */
  others: { uid: string; type: string }[]
}

/** Row of a zone: `size` in bytes of its geometry; null if its place is unknown. */
interface ZoneRow {
  uid: string
  size: number | null
  problem: string | null
  type: string
  isNear: boolean
}

/**
 * Reads the zones that may contain a geometry. Zones without a place may be anywhere, and anyone may attest
 * them under a schema. They therefore have a limit of their own, so that they never displace polygons from
 * the result. Reads from the primary: while that is unavailable, replicas may lack records, and the response
 * would not be complete.
 * @param reach boxes of the geometry
 * @param now Unix seconds, for records that expire
 * @param most maximum number of polygons of a set; those without a place are the first `most` by time
 */
export async function zoneCandidates(
  store: Store,
  chain: string,
  zones: ZoneSet,
  reach: readonly Box[],
  now: number,
  most: number,
): Promise<ZoneCandidates> {
  const size = 'CASE WHEN geom IS NOT NULL THEN pg_column_size(geometry) END AS size'
  if ('uids' in zones) {
    const ids = zones.uids.map((uid) => `${chain}-${uid}`)
    const rows = await store.runOnPrimary<ZoneRow>(
      statement((value) => {
        const [mayReach] = conditions({ reaching: reach }, value)
        return `SELECT uid, ${size}, problem, ${TYPE} AS type,
          (${mayReach}) IS TRUE AS "isNear" FROM location_record WHERE id = ANY(${value(ids)}) ORDER BY uid`
      }),
      RETRY,
    )
    const sizes = new Map(rows.map(({ uid, size }) => [uid, size]))
    const sizeOf = (uid: string) => sizes.get(uid) ?? Infinity
    const placed = rows.filter(({ size }) => size !== null)
    const near = placed.filter(({ type, isNear }) => isNear && type.endsWith('Polygon')).map(({ uid }) => uid)
    return {
      uids: [...zones.uids.filter((uid) => !sizes.has(uid)), ...near].sort((a, b) =>
        sizeOf(a) === sizeOf(b) ? 0 : sizeOf(a) - sizeOf(b),
      ),
      unplaced: rows.filter(({ size }) => size === null),
      others: placed.filter(({ type }) => !type.endsWith('Polygon')),
    }
  }
  const rows = await store.runOnPrimary<ZoneRow>(
    statement((value) => {
      const among = (filter: RecordFilter, more: string, order: string) =>
        `(SELECT uid, ${size}, problem FROM location_record AS record ${whereClause([
          ...conditions({ chain, revoked: false, ...zones, ...filter }, value),
          `(expiration_time = 0 OR expiration_time > ${value(now)}) AND ${more}`,
          IS_FOLLOWED,
        ])} ORDER BY ${order} LIMIT ${value(most)})`
      return `SELECT * FROM (${among({ reaching: reach }, IS_POLYGON, 'pg_column_size(geometry), uid')} UNION ALL ${among({ nowhere: true }, 'true', 'timestamp, id')}) AS zone`
    }),
    'Name the zones by UID, or ask about a smaller geometry.',
  )
  return {
    uids: rows.flatMap((row) => (row.size === null ? [] : [row.uid])),
    unplaced: rows.filter((row) => row.size === null),
    others: [],
  }
}
