import { type Condition, STATEMENT_TIMEOUT_MS } from '../store'

/**
 * Milliseconds for one record, as estimates that the limit per hour uses until the time is known: one LIKE of
 * a short memo in the database, and one exact comparison of a small shape with a place in a worker.
 */
const LIKE_MS = 0.00005
const MEASURE_MS = 0.02

/**
 * Milliseconds that a filter may take of the database and of workers: for the parts of it that no index
 * answers, as if all records had to be looked at.
 * @param records how many there are
 * @param measured how many of them are measured at most
 */
export function costOf(condition: Condition<unknown>, records: number, measured: number): number {
  const parts = partsOf(condition)
  const scanned = parts.filter((part) => 'like' in part || ('attribute' in part && 'compare' in part)).length
  const places = parts.filter((part) => 'place' in part).length
  return (
    Math.min(STATEMENT_TIMEOUT_MS, scanned * records * LIKE_MS) +
    places * Math.min(records, measured) * MEASURE_MS
  )
}

/** The parts of a condition that are not made of others. */
function partsOf(condition: Condition<unknown>): Condition<unknown>[] {
  if ('all' in condition) return condition.all.flatMap(partsOf)
  if ('any' in condition) return condition.any.flatMap(partsOf)
  return [condition]
}
