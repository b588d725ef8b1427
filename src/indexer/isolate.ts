import type { Query } from './store/connection'

/**
 * Poison isolation: an attestation whose content cannot be stored must not stop its batch (docs/spec/trust.md
 * 5). Items are written together. If that fails, they are written in halves, down to the single item that
 * fails. An outage of the database is never mistaken for poison: its error is thrown.
 */

/** Error of a step without I/O, such as a projection, whose only possible cause is the content. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
}

/**
 * Runs `work` on all items. If their content makes it fail, runs it on halves of them, in order.
 *
 * A single item that fails is passed to `withhold`, which writes it without its content. If the database
 * accepts that, it works: the write is undone and the item tried once more, and only then withheld. If
 * `withhold` fails too, the content is not the cause, and the error is thrown.
 *
 * Returns the withheld items with the reasons. Must run within a transaction, for its savepoints.
 */
export async function isolate<T>(
  query: Query,
  items: readonly T[],
  work: (items: readonly T[]) => Promise<void>,
  withhold: (item: T, reason: Error) => Promise<void>,
): Promise<[item: T, reason: Error][]> {
  if (items.length === 0) return []
  const failure = await attempt(query, () => work(items))
  if (!failure) return []
  if (items.length > 1) {
    const half = Math.ceil(items.length / 2)
    const first = await isolate(query, items.slice(0, half), work, withhold)
    return [...first, ...(await isolate(query, items.slice(half), work, withhold))]
  }
  const item = items[0]!
  await query('SAVEPOINT control')
  await withhold(item, failure)
  await query('ROLLBACK TO SAVEPOINT control')
  await query('RELEASE SAVEPOINT control')
  const again = await attempt(query, () => work(items))
  if (!again) return []
  await withhold(item, again)
  return [[item, again]]
}

/** Runs `work` in a savepoint. If its content makes it fail, undoes it and returns the error. */
export async function attempt(query: Query, work: () => Promise<void>): Promise<Error | undefined> {
  await query('SAVEPOINT content')
  try {
    await work()
  } catch (error) {
    if (!isOfContent(error as Error)) throw error
    await query('ROLLBACK TO SAVEPOINT content')
    await query('RELEASE SAVEPOINT content')
    return error as Error
  }
  await query('RELEASE SAVEPOINT content')
  return undefined
}

/**
 * SQLSTATE classes and states (PostgreSQL, appendix A) that content can cause.
 *
 * Classes: cardinality, data, constraints, raised exceptions, external routines, checks of views, program
 * limits (oversized index entries, stack depth) and unsupported features. States: out of memory, a statement
 * canceled by its timeout, and internal errors, as which PostGIS reports its own.
 *
 * Not included, because they affect every statement: connections (08), locks and deadlocks (40, 55), missing
 * tables and privileges (42), other resources (53), shutdown (57) and disks (58).
 */
const CONTENT_CLASSES = new Set(['0A', '21', '22', '23', '38', '39', '44', '54', 'P0'])
const CONTENT_STATES = new Set(['53200', '57014', 'XX000'])

function isOfContent(error: Error): boolean {
  // A RangeError means that a string would exceed JavaScript's maximum length.
  if (error instanceof ContentError || error instanceof RangeError) return true
  const { code } = error as { code?: unknown }
  return (
    typeof code === 'string' &&
    code.length === 5 &&
    (CONTENT_CLASSES.has(code.slice(0, 2)) || CONTENT_STATES.has(code))
  )
}
