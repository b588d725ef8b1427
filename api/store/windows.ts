import { type RecordQuery, type RecordResult, type TimeWindow } from './model'

/**
 * The newest records of a place, read back in time window by window. Without windows Postgres reads either
 * all that the place holds, or all times until it has enough, and cannot know which is less.
 */

/** With fewer records than this, or more wanted than that, a list is read at once. */
export const LEAST_RECORDS = 20_000
export const MOST_WANTED = 5_001
/**
 * The first window is so long that the whole world has this many times the wanted records in it; a window is
 * at most so many times as long as the one before.
 */
const FIRST_WINDOW = 4
const MOST_GROWTH = 64
/** A place that holds no more than this many records is read whole. */
const FEW = 1_500

/** How many records there are, and the times of the first and the last one. */
export interface Extent {
  total: number
  first: Date
  last: Date
}

/**
 * The records of a list that fits windows. The length of each window follows from what the ones before held.
 * @param extent of all records
 * @param list reads a list, or the part of it in one window
 */
export async function listByWindows(
  query: RecordQuery,
  { total, first, last }: Extent,
  list: (query: RecordQuery, window?: TimeWindow) => Promise<RecordResult[]>,
): Promise<RecordResult[]> {
  const wanted = wantedBy(query)
  const end = Math.min(query.before?.getTime() ?? Infinity, query.from?.at ?? Infinity) + 1
  const newest = Math.min(last.getTime(), end)
  const oldest = Math.max(first.getTime(), query.after?.getTime() ?? -Infinity)
  const rows: RecordResult[] = []
  // Records may have come since the extent was read: without an `until` they are found too.
  let until = end <= newest ? new Date(end) : undefined
  let length = ((last.getTime() - first.getTime()) * FIRST_WINDOW * wanted) / total
  for (;;) {
    const since = new Date(Math.max(oldest, Math.floor((until?.getTime() ?? newest) - length)))
    const isLast = since.getTime() <= oldest
    rows.push(
      ...(await list(
        { ...query, limit: wanted - rows.length, offset: 0 },
        { ...(!isLast && { since }), ...(until && { until }) },
      )),
    )
    if (isLast || rows.length >= wanted) return rows.slice(query.offset ?? 0)
    const seen = (newest - since.getTime()) / (newest - oldest)
    length = nextLength(length, length / (newest - oldest), seen, rows.length, wanted)
    until = since
  }
}

function wantedBy({ limit, offset = 0 }: RecordQuery): number {
  return limit + offset
}

/**
 * @param share of all the time, that the window had
 * @param seen share of all the time, that was looked through so far
 */
function nextLength(length: number, share: number, seen: number, found: number, wanted: number): number {
  // How many the place holds at most: with 95 % confidence, were they spread evenly over the time.
  if ((found + 3) / seen < FEW) return Infinity
  const growth = found ? (1.5 * (wanted - found) * seen) / found / share : MOST_GROWTH
  return Math.max(2 * length, Math.min(MOST_GROWTH, growth) * length)
}
