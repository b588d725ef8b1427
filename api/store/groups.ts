import { setImmediate } from 'node:timers/promises'
import { TooExpensiveError, UnavailableError } from '../http/problems'
import type { Bind, RecordFilter } from './model'
import { statement } from './sql'
import { foldedGroups } from './folded-groups'
import {
  type GroupQuery,
  type Groups,
  type GroupsRow,
  groupsOf,
  groupsQuery,
  keptSource,
  recordSource,
  type Source,
} from './sql-groups'
import type { Store } from './store'

/** Reads statistics by group within the time of one statement. */

/** Maximum number of groups by position that are assigned to cells in this process, at about 2 us each. */
const MOST_FOLDED = 100_000
/** The indexers measure older records within minutes or hours of an update. */
const MEASURED_AFTER_SECONDS = 600
const REMEDY_OF_RECORDS =
  'Narrow it by chain, prover, a shorter time or a smaller bbox. Groups of all records take milliseconds by day, week, month, chain, prover, schema, location_type or revoked, alone or with chain or revoked, and by hour, alone or with chain.'

/**
 * Reads groups of the records that pass a filter: from maintained counts if these suffice, otherwise by
 * reading the records. Throws a TooExpensiveError if that takes too long, and an UnavailableError while older
 * records are not measured.
 */
export async function recordGroups(store: Store, query: GroupQuery, filter: RecordFilter): Promise<Groups> {
  const counted = await groupsFrom(store, query, (value) => keptSource(query, filter, value))
  const found = counted ?? (await groupsFrom(store, query, (value) => recordSource(query, filter, value)))
  if (found) return found
  throw new UnavailableError(
    'Areas and lengths of older records are still being measured. Leave out sum to read the counts now.',
    { retryAfter: MEASURED_AFTER_SECONDS },
  )
}

/**
 * Reads groups of a source whose parameters `sourceOf` adds. Throws like `recordGroups`.
 * @param remedy for clients whose statement timed out
 */
export async function groups(
  store: Store,
  query: GroupQuery,
  sourceOf: (value: Bind) => Source,
  remedy: string,
): Promise<Groups> {
  return (await groupsFrom(store, query, sourceOf, remedy))!
}

/**
 * Reads groups of a source. Undefined if there is no such source, or if records or sums are missing in the
 * snapshot from which it was read.
 */
async function groupsFrom(
  store: Store,
  query: GroupQuery,
  sourceOf: (value: Bind) => Source | undefined,
  remedy = REMEDY_OF_RECORDS,
): Promise<Groups | undefined> {
  let isKnown = true
  const read = statement((value) => {
    const source = sourceOf(value)
    isKnown = source !== undefined
    return source ? groupsQuery(source, query, value, MOST_FOLDED + 1) : ''
  })
  if (!isKnown) return undefined
  const row = (await store.run<GroupsRow>(read, true, remedy))[0]!
  if (row.incomplete) return undefined
  const complete = groupsOf(row)
  const cell = query.by.findIndex(({ dimension }) => dimension.isCell)
  if (cell < 0) return complete
  const places = row.places ?? []
  let positions = 0
  for (const each of places) for (let at = 0; at >= 0; at = each.positions.indexOf(',', at + 1)) positions++
  if (positions > MOST_FOLDED) {
    const other = query.by.find((_, i) => i !== cell)
    throw new TooExpensiveError(
      `More than ${MOST_FOLDED} ${other ? `pairs of a position and ${other.name}` : 'positions'} would have to be assigned to H3 cells. Narrow it by chain, prover, a shorter time or a smaller bbox, or group by geohash.`,
    )
  }
  return foldedGroups(complete, places, query, setImmediate)
}
