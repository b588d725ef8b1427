import { setImmediate } from 'node:timers/promises'
import { UnavailableError } from '../http/problems'
import type { RecordFilter } from './model'
import {
  foldedGroups,
  type GroupQuery,
  type GroupRow,
  type Groups,
  groupsOf,
  groupsQuery,
  keptSource,
  recordSource,
  type Source,
  statement,
} from './sql-groups'
import type { Store } from './store'

/** Reads statistics by group within the time of one statement. */

/** First version of the projection that measures areas and lengths (READING in src/indexer/project.ts). */
const MEASURED_BY = 4
/** Maximum number of positions that are assigned to cells in this process, at about 3 us each. */
const MOST_FOLDED = 100_000
const REMEDY =
  'Narrow it by chain, prover, a shorter time or a smaller bbox. Over all records, groups by hour, day, week, month, chain, prover, schema, location_type and revoked take milliseconds, one or two of chain, revoked and one other.'

/**
 * Reads groups of the records that pass a filter: from maintained counts if these suffice, otherwise by
 * reading the records. Throws an UnavailableError if that takes too long.
 */
export async function recordGroups(store: Store, query: GroupQuery, filter: RecordFilter): Promise<Groups> {
  const [filling] = await store.run<{ uncounted: boolean; unmeasured: boolean }>({
    text: `SELECT EXISTS (SELECT FROM record_uncounted) AS uncounted, EXISTS (SELECT FROM chain_status
        JOIN record_state USING (chain) WHERE reading < $1 AND total > 0) AS unmeasured`,
    values: [MEASURED_BY],
  })
  if (filling!.unmeasured && query.sums.length > 0)
    throw new UnavailableError(
      'Areas and lengths of older records are still being measured. Leave out sum, or retry later.',
    )
  return groups(store, query, (value) => {
    const kept = filling!.uncounted ? undefined : keptSource(query, filter, value)
    return kept ?? recordSource(filter, value)
  })
}

/** Reads groups of a source whose parameters `sourceOf` adds. Throws like `recordGroups`. */
export async function groups(
  store: Store,
  query: GroupQuery,
  sourceOf: (value: (v: unknown) => string) => Source,
): Promise<Groups> {
  const rows = await store.run<GroupRow>(
    statement((value) => groupsQuery(sourceOf(value), query, value, MOST_FOLDED + 1)),
    true,
    REMEDY,
  )
  if (!query.by.some(({ dimension }) => dimension.cell)) return groupsOf(rows, query)
  if (rows.length > MOST_FOLDED)
    throw new UnavailableError(
      `More than ${MOST_FOLDED} positions would have to be assigned to H3 cells. Narrow it by chain, prover, a shorter time or a smaller bbox, or group by geohash.`,
    )
  return foldedGroups(rows, query, setImmediate)
}
