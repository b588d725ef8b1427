import { RecordsError } from '../http/problems'
import type { Work } from '../http/work'
import {
  STATEMENT_TIMEOUT_MS,
  type Condition,
  type DecidedPlace,
  type PlacedRecord,
  type RecordFilter,
  type RecordQuery,
  type RecordResult,
  type Store,
} from '../store'
import { TASK_CHARACTERS, type Place, type Sieve, type Sifted } from './sieve'

/** Candidates of a place: the database selects them by their boxes, and the sieve measures them. */

/** Maximum number of records measured for one response. */
export const MAX_CANDIDATES = 20_000
/** Candidates that a search by place reads from the database first, and at most at once. */
const CANDIDATES_FIRST = 500
const CANDIDATES_AT_ONCE = 4_000
/** Estimates per record until the real time is known: a LIKE of a short memo, and a small shape measured. */
const LIKE_MS = 0.00005
const MEASURE_MS = 0.02

/** Charges the work to one request. */
export class Candidates {
  constructor(
    private readonly store: Store,
    private readonly sieve: Sieve,
    private readonly work: Work,
  ) {}

  /** Yields the candidates of a place in order, split by verdict, in chunks of growing size. */
  async *sifted(
    query: Omit<RecordQuery, 'limit'>,
    place: Place,
  ): AsyncGenerator<Sifted & { looked: number }> {
    for await (const part of this.read({ ...query, reaching: place.reach }))
      yield { ...(await this.sieve.sift(part, place, this.work)), looked: part.length }
  }

  /**
   * Returns the IDs (`<chain>-<uid>`) of the candidates of a place, split by whether they meet it.
   * @param looked number of candidates measured earlier for the same response
   * @throws RecordsError if more than MAX_CANDIDATES would have to be measured
   */
  async measured(
    filter: RecordFilter,
    place: Place,
    looked = 0,
  ): Promise<{ passed: string[]; failed: string[]; looked: number }> {
    const measured = { passed: [] as string[], failed: [] as string[], looked }
    for await (const chunk of this.sifted(filter, place)) {
      for (const verdict of ['passed', 'failed'] as const)
        for (const { chain, uid } of chunk[verdict]) measured[verdict].push(`${chain}-${uid}`)
      measured.looked += chunk.looked
      if (measured.looked > MAX_CANDIDATES) throw tooManyCandidates()
    }
    return measured
  }

  /**
   * Replaces each place in the condition by the IDs of the records that meet it, among those that pass the
   * filter. Throws a RecordsError if too many would have to be measured.
   */
  async decide(condition: Condition<Place>, filter: RecordFilter): Promise<Condition<DecidedPlace>> {
    await this.work.foresee(costOf(condition, await this.store.size()))
    // Records that the rest of the filter excludes need no measuring.
    const others = ('all' in condition ? condition.all : [condition]).filter(isPlaceless)
    const narrow: RecordFilter = others.length > 0 ? { ...filter, condition: { all: others } } : filter
    let looked = 0
    const decide = async (part: Condition<Place>): Promise<Condition<DecidedPlace>> => {
      if (isPlaceless(part)) return part
      if ('place' in part) {
        const measured = await this.measured(narrow, part.place, looked)
        looked = measured.looked
        const ids = part.not ? measured.failed : measured.passed
        return { place: { reach: part.place.reach, ids }, not: part.not }
      }
      const parts: Condition<DecidedPlace>[] = []
      for (const each of 'all' in part ? part.all : part.any) parts.push(await decide(each))
      return 'all' in part ? { all: parts } : { any: parts }
    }
    return decide(condition)
  }

  /** Yields the geometries of all candidates. Throws a RecordsError if there are too many to measure. */
  async *places(filter: RecordFilter): AsyncGenerator<PlacedRecord[]> {
    let [after, looked] = ['', 0]
    yield* inTasks(async (size) => {
      const read = await this.store.placesAfter(filter, after, size)
      looked += read.rows.length
      if (looked > MAX_CANDIDATES) throw tooManyCandidates()
      after = read.rows.at(-1)?.id ?? after
      return read
    })
  }

  /** Yields the records that pass a filter, in order. */
  private async *read(query: Omit<RecordQuery, 'limit'>): AsyncGenerator<RecordResult[]> {
    let { from } = query
    yield* inTasks(async (size) => {
      const wanted = { ...query, limit: size, withGeometry: true, ...(from && { from }) }
      const { rows, next } = await this.store.page(wanted)
      from = next
      return { rows, isLast: !next }
    })
  }
}

/**
 * Reads rows in chunks of growing size, and yields them in parts, each one task of the sieve. Anyone may
 * attest large geometries, so a task is limited by characters and not by records.
 */
async function* inTasks<Row extends { geometry: string | null }>(
  read: (size: number) => Promise<{ rows: readonly Row[]; isLast: boolean }>,
): AsyncGenerator<Row[]> {
  for (let size = CANDIDATES_FIRST; ; size = Math.min(size * 2, CANDIDATES_AT_ONCE)) {
    const { rows, isLast } = await read(size)
    yield* tasksOf(rows)
    if (isLast) return
  }
}

export function tooManyCandidates(): RecordsError {
  return new RecordsError(
    'invalid-query',
    `More than ${MAX_CANDIDATES} records would have to be measured. Use a smaller geometry or ` +
      'radius, or narrow the search by time, chain or prover.',
  )
}

/** Splits rows into runs whose geometries together reach TASK_CHARACTERS. */
function* tasksOf<Row extends { geometry: string | null }>(rows: readonly Row[]): Generator<Row[]> {
  let [part, characters]: [Row[], number] = [[], 0]
  for (const row of rows) {
    part.push(row)
    characters += row.geometry?.length ?? 0
    if (characters < TASK_CHARACTERS) continue
    yield part
    ;[part, characters] = [[], 0]
  }
  if (part.length) yield part
}

/** True if the database can decide a condition without measuring. */
function isPlaceless(condition: Condition<Place>): condition is Condition<never> {
  return partsOf(condition).every((part) => !('place' in part))
}

/** Estimates the milliseconds of a filter. Parts without an index are charged as scans of all records. */
export function costOf(condition: Condition<unknown>, records: number): number {
  const parts = partsOf(condition)
  const scanned = parts.filter((part) => 'like' in part || ('attribute' in part && 'compare' in part)).length
  const places = parts.filter((part) => 'place' in part).length
  return (
    Math.min(STATEMENT_TIMEOUT_MS, scanned * records * LIKE_MS) +
    places * Math.min(records, MAX_CANDIDATES) * MEASURE_MS
  )
}

/** Leaves of a tree of `all` and `any`. */
function partsOf(condition: Condition<unknown>): Condition<unknown>[] {
  const parts = 'all' in condition ? condition.all : 'any' in condition ? condition.any : undefined
  return parts?.flatMap(partsOf) ?? [condition]
}
