import type { RecordFilter, RecordQuery, RecordResult, TimeWindow } from './model'
import { charactersOf, READ_BYTES } from './sql'

/**
 * Reads the newest records of a place backwards in time, window by window. Without windows, Postgres reads
 * either everything in the place, or all times until it has enough, and cannot know which is less.
 */

/**
 * If there are fewer than LEAST_RECORDS records, or more than MOST_WANTED are wanted, a list is read in one
 * statement.
 */
export const LEAST_RECORDS = 20_000
export const MOST_WANTED = 5_001
/**
 * Length of the first window: long enough that the whole world has FIRST_WINDOW times the wanted records in
 * it. MOST_GROWTH limits the factor by which a window is longer than the previous one.
 */
const FIRST_WINDOW = 4
const MOST_GROWTH = 64
/** A place that holds at most this many records is read in one window. */
const FEW = 1_500

/** Number of records, and the times of the first and the last one. */
export interface Extent {
  total: number
  first: Date
  last: Date
}

/** Rows of a list. `isCut`: following ones, if there are any, were not read, because the rows are large. */
export interface ReadRecords {
  rows: RecordResult[]
  isCut: boolean
}

/** Reads of one window. */
export interface WindowReads {
  list: (query: RecordQuery, window: TimeWindow) => Promise<ReadRecords>
  /** Counts records, up to a cap. */
  count: (filter: RecordFilter, cap: number, window: TimeWindow) => Promise<number>
}

/**
 * Reads the records of a list window by window. The records found so far determine the length of the next
 * window.
 * @param extent extent of all records
 */
export async function listByWindows(
  query: RecordQuery,
  { total, first, last }: Extent,
  { list, count }: WindowReads,
): Promise<ReadRecords> {
  let { limit, offset = 0 } = query
  const wanted = limit + offset
  const end = Math.min(query.before?.getTime() ?? Infinity, query.from?.at ?? Infinity) + 1
  const newest = Math.min(last.getTime(), end)
  const oldest = Math.max(first.getTime(), query.after?.getTime() ?? -Infinity)
  const rows: RecordResult[] = []
  let characters = 0
  // Records may have arrived since the extent was read. Without an `until`, they are found too.
  let until = end <= newest ? new Date(end) : undefined
  let length = ((last.getTime() - first.getTime()) * FIRST_WINDOW * wanted) / total
  for (;;) {
    const since = new Date(Math.max(oldest, Math.floor((until?.getTime() ?? newest) - length)))
    const isLast = since.getTime() <= oldest
    const window = { ...(!isLast && { since }), ...(until && { until }) }
    const skipped = offset > 0 ? await count(query, offset, window) : 0
    if (skipped === offset) {
      const part = await list({ ...query, limit, offset }, window)
      rows.push(...part.rows)
      limit -= part.rows.length
      characters = part.rows.reduce((sum, row) => sum + charactersOf(row), characters)
      if (part.isCut || (characters >= READ_BYTES && !isLast)) return { rows, isCut: true }
    }
    offset -= skipped
    if (isLast || limit <= 0) return { rows, isCut: false }
    const seen = (newest - since.getTime()) / (newest - oldest)
    length = nextLength(length, length / (newest - oldest), seen, wanted - limit - offset, wanted)
    until = since
  }
}

/**
 * Computes the length of the next window.
 * @param share share of the whole time that the last window covered
 * @param seen share of the whole time that was searched so far
 */
function nextLength(length: number, share: number, seen: number, found: number, wanted: number): number {
  // Upper limit of the number of records in the place, with 95 % confidence if they are spread evenly over
  // time.
  if ((found + 3) / seen < FEW) return Infinity
  const growth = found ? (1.5 * (wanted - found) * seen) / found / share : MOST_GROWTH
  return Math.max(2 * length, Math.min(MOST_GROWTH, growth) * length)
}
