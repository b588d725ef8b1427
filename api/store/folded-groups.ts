import { cellNumbers, cellOf } from './h3'
import {
  measuresOf,
  type Group,
  type GroupQuery,
  type Groups,
  type Measures,
  type Places,
  type SumName,
} from './sql-groups'

/** Group with the number of its cell. Only groups that are shown need the text of the cell. */
type Folded = Measures & { keys: (Group['keys'][number] | number)[] }

/** Sums of all groups of a query without sums, so that positions need no arrays of their own. */
const NO_SUMS = { sums: [], without: [] }

/**
 * Merges positions of one cell into groups, and sorts and totals these like the database, together with
 * groups without a cell.
 * @param complete first groups without a cell, and the number and the totals of all of them
 * @param places positions by their other key
 * @param pause called after each thousand positions, so that other requests continue
 */
export async function foldedGroups(
  complete: Groups,
  places: readonly Places[],
  { by, sums, sort, top }: GroupQuery,
  pause: () => Promise<void>,
): Promise<Groups> {
  const found: Folded[] = []
  const { total } = complete
  const cell = by.findIndex(({ dimension }) => dimension.isCell)
  const { argument } = by[cell]!
  const numberOf = cellNumbers(argument)
  let merged = 0
  for (const { other = null, positions, measures: packed } of places) {
    const ofCells = new Map<number, Folded>()
    const degrees = JSON.parse(`[${positions.replaceAll(' ', ',')}]`) as number[]
    for (const [i, row] of packed.split(',').entries()) {
      if (++merged % 1_000 === 0) await pause()
      const key = numberOf(degrees[2 * i]!, degrees[2 * i + 1]!)
      const more = sums.length > 0 ? measuresOf(row.split(' ')) : { records: Number(row), ...NO_SUMS }
      const known = ofCells.get(key)
      if (known) add(known, more)
      else ofCells.set(key, { keys: by.map((_, k) => (k === cell ? key : other)), ...more })
    }
    for (const group of ofCells.values()) {
      add(total, group)
      found.push(group)
    }
  }
  const sign = sort.descending ? -1 : 1
  const sortedKey = by.findIndex(({ name }) => name === sort.by)
  const sortedSum = sums.indexOf(sort.by as SumName)
  const first = (a: Folded, b: Folded): number => {
    if (sortedKey >= 0) return compareKeys(a.keys[sortedKey]!, b.keys[sortedKey]!, sign)
    if (sortedSum < 0) return sign * (a.records - b.records)
    return sign * Number(a.sums[sortedSum]! - b.sums[sortedSum]!)
  }
  const order = (a: Folded, b: Folded): number =>
    first(a, b) || a.keys.reduce<number>((found, key, i) => found || compareKeys(key, b.keys[i]!, 1), 0)
  const shown = leading<Folded>([...complete.shown, ...found], order, top).map(({ keys, ...measures }) => ({
    keys: keys.map((key) => (typeof key === 'number' ? cellOf(key, argument) : key)),
    ...measures,
  }))
  return { shown, groups: complete.groups + found.length, total }
}

/** First `count` of the groups in an order. Sorting all of 100,000 would block other requests. */
function leading<T>(groups: readonly T[], order: (a: T, b: T) => number, count: number): T[] {
  let shown: T[] = []
  let last: T | undefined
  for (const group of groups) {
    if (last && order(group, last) > 0) continue
    shown.push(group)
    if (shown.length < 2 * count) continue
    shown = shown.sort(order).slice(0, count)
    last = shown.at(-1)
  }
  return shown.sort(order).slice(0, count)
}

function add(to: Measures, more: Measures): void {
  to.records += more.records
  for (const [i, sum] of more.sums.entries()) {
    to.sums[i]! += sum
    to.without[i]! += more.without[i]!
  }
}

/** Compares keys by the bytes of their text, nulls last, like `COLLATE "C" NULLS LAST`. */
function compareKeys(a: Folded['keys'][number], b: Folded['keys'][number], sign: number): number {
  if (a === b) return 0
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
  if (a === null || b === null) return a === null ? 1 : -1
  return bytesOf(a) < bytesOf(b) ? -sign : sign
}

/** Text whose characters are the bytes of the key in UTF-8: JavaScript compares UTF-16 units instead. */
function bytesOf(key: string | boolean | number): string {
  const text = String(key)
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text
}
