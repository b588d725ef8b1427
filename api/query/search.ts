import { RecordsError } from '../http/problems'
import { OWN_WORK, type Work } from '../http/work'
import { costOf } from './cost'
import {
  type Condition,
  type DecidedPlace,
  NEWEST_FIRST,
  isOneOf,
  type PlacedRecord,
  type RecordFilter,
  type RecordQuery,
  type RecordResult,
  type Sort,
  type TimeSort,
  type Store,
} from '../store'
import type { Position } from '../http/paging'
import { nearest, type Measured } from './nearest'
import { Sieve, TASK_CHARACTERS, type Place, type Sifted } from './sieve'

/** What is searched for: filters of the database, and a place that the candidates are measured against. */
export interface SearchQuery extends Omit<RecordQuery, 'from' | 'reaching' | 'condition' | 'sort'> {
  place?: Place
  /** Default: newest first. By distance only with a place that is a position. */
  sort?: Sort
  condition?: Condition<Place>
  from?: Position
}
/** A search of which the database can decide all but the place. */
type DecidedSearch = Omit<SearchQuery, 'condition'> & Pick<RecordFilter, 'condition'>
/** What is searched for, without paging and order. */
export type SearchFilter = Omit<RecordFilter, 'reaching' | 'condition'> & Pick<SearchQuery, 'condition'>

export interface RecordPage {
  rows: RecordResult[]
  /** Where the next page begins; undefined at the end. */
  next?: Position
}

/** The limit for records that are measured for one answer, and for one export. */
const MAX_CANDIDATES = 20_000
const MAX_EXPORT_CANDIDATES = 200_000
/** Candidates that a search by place reads at first, and at most, from the database. */
const CANDIDATES_FIRST = 500
const CANDIDATES_AT_ONCE = 4_000
/**
 * A page ends after this many characters, whatever its limit: it stays in memory for as long as its client
 * takes to read it.
 */
const PAGE_CHARACTERS = 4_000_000
/** Rows that a page reads at a time: their size is not known before. */
const PAGE_CHUNK = 200
/**
 * Rows that an export reads at a time; fewer where records are large (one may have a megabyte). So memory
 * stays flat, and no transaction stays open while a slow client reads.
 */
const EXPORT_CHUNK = 2_000
const EXPORT_CHUNK_FIRST = 200
const EXPORT_CHUNK_CHARACTERS = 8_000_000
/** Counting stops here. */
const COUNT_CAP = 10_000

/** Finds records for REST, OGC and exports: in pages, to the end, or as a count. */
export class RecordSearch {
  private readonly sieve: Sieve
  private readonly work: Work = OWN_WORK

  constructor(
    private readonly store: Store,
    /** Default: the one beside this file. */
    workerFile?: string,
  ) {
    this.sieve = new Sieve(workerFile)
  }

  async close(): Promise<void> {
    await this.sieve.close()
  }

  /** This search for the work of a request, as `Store.of`. */
  of(work: Work): RecordSearch {
    return Object.assign(Object.create(this) as RecordSearch, { work, store: this.store.of(work) })
  }

  /**
   * One page: `limit` records, or fewer where they are large; `next` tells whether there are more. Throws a
   * RecordsError where too many records would have to be looked at.
   */
  async page(query: SearchQuery): Promise<RecordPage> {
    const decided = await this.decidedSearch(query)
    if (decided.sort?.by === 'distance') return this.nearestPage(decided, decided.sort)
    const search = { ...decided, sort: decided.sort ?? NEWEST_FIRST }
    const { limit, sort } = search
    let { from, offset = 0 } = search
    const rows: RecordResult[] = []
    if (!search.place)
      for (;;) {
        const part = await this.part({
          ...search,
          limit: Math.min(limit - rows.length, PAGE_CHUNK),
          offset,
          ...(from && { from }),
        })
        rows.push(...part.rows)
        const fitting = countWithin(rows, PAGE_CHARACTERS)
        if (fitting < rows.length) return pageOf(rows, fitting, sort)
        if (!part.next || rows.length >= limit) return { ...part, rows }
        from = part.next
        offset = 0
      }
    let looked = 0
    for await (const chunk of this.sifted(search, search.place)) {
      rows.push(...chunk.passed.slice(offset))
      offset = Math.max(0, offset - chunk.passed.length)
      looked += chunk.looked
      if (rows.length > limit || countWithin(rows, PAGE_CHARACTERS) < rows.length) break
      if (looked >= MAX_CANDIDATES) throw tooManyCandidates()
    }
    return pageOf(rows, Math.min(limit, countWithin(rows, PAGE_CHARACTERS)), sort)
  }

  private async nearestPage(search: DecidedSearch, sort: Sort): Promise<RecordPage> {
    const { place, limit, offset = 0, from } = search
    if (!place) throw new Error('A search by distance needs a place')
    const near = new Map<string, RecordResult>()
    const found = await nearest(
      { filter: filterOf(search), place, limit: offset + limit + 1, ...(from && { from }) },
      {
        near: async (at, most) => {
          const found = await this.store.recordsNear(at, most, search)
          for (const { id, record } of found?.records ?? []) if (record) near.set(id, record)
          return found
        },
        count: (filter, cap) => this.store.countRecords(filter, cap),
        sample: (filter, boxes, most) => this.store.samplePlaces(filter, boxes, most),
        all: (filter) => this.allPlaces(filter),
        measure: (records, at) =>
          this.sieve.distances(
            records.map(({ geometry }) => geometry),
            at,
            this.work,
          ),
      },
      MAX_CANDIDATES,
    )
    const page = found.slice(offset, offset + limit)
    const rows: RecordResult[] = []
    for (let i = 0; i < page.length; i += PAGE_CHUNK) {
      rows.push(...(await this.measuredRecords(page.slice(i, i + PAGE_CHUNK), search, near)))
      const fitting = countWithin(rows, PAGE_CHARACTERS)
      if (fitting < rows.length) return pageOf(rows, fitting, sort)
    }
    const last = page.at(-1)
    return found.length > offset + limit && last
      ? { rows, next: { at: last.centimeters, id: last.id } }
      : { rows }
  }

  /** These records in this order, where they still are. @param known those that need not be read, by id */
  private async measuredRecords(
    measured: readonly Measured[],
    { withGeometry = false, withProvenance = false }: DecidedSearch,
    known: ReadonlyMap<string, RecordResult>,
  ): Promise<RecordResult[]> {
    const ids = measured.map(({ id }) => id).filter((id) => !known.has(id))
    const rows = ids.length
      ? await this.store.listRecords({ ids, limit: ids.length, withGeometry, withProvenance })
      : []
    const read = new Map(rows.map((row) => [`${row.chain}-${row.uid}`, row]))
    return measured.flatMap(({ id, centimeters }) => {
      const row = known.get(id) ?? read.get(id)
      return row ? [Object.assign(row, { centimeters })] : []
    })
  }

  /** Where all candidates are, in parts. Throws a RecordsError where they are too many to be measured. */
  private async *allPlaces(filter: RecordFilter): AsyncGenerator<PlacedRecord[]> {
    let looked = 0
    for (let [after, size] = ['', CANDIDATES_FIRST]; ;) {
      const rows = await this.store.placesAfter(filter, after, size)
      looked += rows.length
      if (looked > MAX_CANDIDATES) throw tooManyCandidates()
      let characters = 0
      for (const part of tasksOf(rows)) {
        yield part
        for (const { geometry } of part) characters += geometry?.length ?? 0
      }
      if (rows.length < size) return
      after = rows.at(-1)!.id
      size = nextSize(size, characters)
    }
  }

  /** One read of a search without a place. */
  private async part(search: DecidedSearch & { sort: TimeSort }): Promise<RecordPage> {
    return pageOf(
      await this.store.listRecords({ ...search, limit: search.limit + 1 }),
      search.limit,
      search.sort,
    )
  }

  /**
   * All that match, `limit` at most, in pages. Each is read when it is wanted: a client that waits costs
   * nothing. Records that arrive meanwhile neither repeat nor shift the others.
   */
  async *pages(query: SearchQuery & { sort?: TimeSort }): AsyncGenerator<RecordResult[]> {
    const search = { ...(await this.decidedSearch(query)), sort: query.sort ?? NEWEST_FIRST }
    let { from, offset, limit } = search
    if (search.place) {
      if (
        (await this.store.countRecords(
          { ...filterOf(search), reaching: search.place.reach },
          MAX_EXPORT_CANDIDATES + 1,
        )) > MAX_EXPORT_CANDIDATES
      )
        throw new RecordsError(
          'invalid-query',
          `More than ${MAX_EXPORT_CANDIDATES} records would have to be measured for this export; give a smaller place, or narrow it by time, chain or prover`,
        )
      let skip = offset ?? 0
      for await (const { passed } of this.sifted(search, search.place)) {
        const rows = passed.slice(skip, skip + limit)
        skip = Math.max(0, skip - passed.length)
        limit -= rows.length
        if (rows.length) yield rows
        if (limit <= 0) return
      }
      return
    }
    let size = EXPORT_CHUNK_FIRST
    while (limit > 0) {
      const { rows, next } = await this.part({
        ...search,
        limit: Math.min(limit, size),
        ...(offset !== undefined && { offset }),
        ...(from && { from }),
      })
      if (rows.length) yield rows
      if (!next) return
      limit -= rows.length
      from = next
      offset = 0
      const characters = rows.reduce((sum, row) => sum + charactersOf(row), 0)
      size = Math.min(
        EXPORT_CHUNK,
        Math.max(1, Math.floor((rows.length / characters) * EXPORT_CHUNK_CHARACTERS)),
      )
    }
  }

  /** How many match. Not exact above COUNT_CAP, where the database keeps no count of them. */
  async count(query: SearchQuery): Promise<{ total: number; exact: boolean }> {
    const search = await this.decidedSearch(query)
    const { place } = search
    const filter = filterOf(search)
    if (place) {
      let total = 0
      let looked = 0
      for await (const chunk of this.sifted({ ...filter, limit: 0 }, place)) {
        total += chunk.passed.length
        looked += chunk.looked
        if (looked >= MAX_CANDIDATES) return { total, exact: false }
      }
      return { total, exact: true }
    }
    const { chain, revoked, ...others } = filter
    if (Object.values(others).every((value) => value === undefined)) {
      const states = (await this.store.recordStates()).filter(
        (state) => chain === undefined || isOneOf(chain, state.chain),
      )
      return {
        total: states.reduce(
          (sum, state) =>
            sum +
            (revoked === undefined ? state.total : revoked ? state.revoked : state.total - state.revoked),
          0,
        ),
        exact: true,
      }
    }
    const counted = await this.store.countRecords(filter, COUNT_CAP + 1)
    return { total: Math.min(counted, COUNT_CAP), exact: counted <= COUNT_CAP }
  }

  /**
   * The ids (`<chain>-<uid>`) of all that match a search by place. Throws a RecordsError where too many
   * records would have to be looked at.
   */
  async idsAt({ condition, ...filter }: SearchFilter, place: Place): Promise<string[]> {
    const decided = await this.decided(condition, filter)
    const measured = await this.measured({ ...filter, ...decided }, place, 0)
    return measured.passed
  }

  /**
   * The same condition, with the places in it decided for all records that pass the filter. Throws a
   * RecordsError where too many records would have to be measured.
   */
  async decided(
    condition: Condition<Place> | undefined,
    filter: RecordFilter,
  ): Promise<Pick<RecordFilter, 'condition'>> {
    if (!condition) return {}
    await this.work.foresee(costOf(condition, await this.store.size(), MAX_CANDIDATES))
    // What the rest of the filter refuses needs no measuring.
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
    return { condition: await decide(condition) }
  }

  private async decidedSearch({ condition, ...search }: SearchQuery): Promise<DecidedSearch> {
    return { ...search, ...(await this.decided(condition, filterOf(search))) }
  }

  /**
   * The ids (`<chain>-<uid>`) of the candidates of a place, by whether they meet it.
   * @param looked how many were measured for the same answer before
   */
  private async measured(
    filter: RecordFilter,
    place: Place,
    looked: number,
  ): Promise<{ passed: string[]; failed: string[]; looked: number }> {
    const measured = { passed: [] as string[], failed: [] as string[], looked }
    for await (const chunk of this.sifted({ ...filter, limit: 0 }, place)) {
      for (const verdict of ['passed', 'failed'] as const)
        for (const { chain, uid } of chunk[verdict]) measured[verdict].push(`${chain}-${uid}`)
      measured.looked += chunk.looked
      if (measured.looked >= MAX_CANDIDATES) throw tooManyCandidates()
    }
    return measured
  }

  /** The candidates in order, by whether they pass: chunk by chunk, each larger than the one before. */
  private async *sifted(
    { place: _, offset: __, sort, ...query }: DecidedSearch,
    place: Place,
  ): AsyncGenerator<Sifted & { looked: number }> {
    const times = sort?.by === 'distance' ? undefined : sort
    const search = { ...query, reaching: place.reach, ...(times && { sort: times }) }
    for await (const part of this.candidates(search))
      yield { ...(await this.sieve.sift(part, place, this.work)), looked: part.length }
  }

  /** What passes a filter, in order, in parts that each are one task of the sieve. */
  private async *candidates(query: RecordQuery): AsyncGenerator<RecordResult[]> {
    let { from } = query
    for (let size = CANDIDATES_FIRST; ;) {
      const { rows, next } = pageOf(
        await this.store.listRecords({
          ...query,
          limit: size + 1,
          withGeometry: true,
          ...(from && { from }),
        }),
        size,
        query.sort ?? NEWEST_FIRST,
      )
      let characters = 0
      // Anyone may attest large geometries: a task is limited by characters, not by records.
      for (const part of tasksOf(rows)) {
        yield part
        for (const { geometry } of part) characters += geometry?.length ?? 0
      }
      size = nextSize(size, characters)
      if (!next) return
      from = next
    }
  }
}

/** How many candidates to read next, after so many with geometries of so many characters. */
function nextSize(size: number, characters: number): number {
  return characters > TASK_CHARACTERS ? CANDIDATES_FIRST : Math.min(size * 2, CANDIDATES_AT_ONCE)
}

function tooManyCandidates(): RecordsError {
  return new RecordsError(
    'invalid-query',
    `More than ${MAX_CANDIDATES} records would have to be measured to answer this; give a smaller place, or narrow it by time, chain or prover`,
  )
}

/** Runs of rows whose geometries have TASK_CHARACTERS together. */
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

/** Whether the database can decide a condition alone. */
function isPlaceless(condition: Condition<Place>): condition is Condition<never> {
  if ('all' in condition) return condition.all.every(isPlaceless)
  if ('any' in condition) return condition.any.every(isPlaceless)
  return !('place' in condition)
}

/** The filters of a search, without its place. */
function filterOf({
  place: _,
  limit: __,
  offset: ___,
  sort: ____,
  from: _____,
  withGeometry: ______,
  withProvenance: _______,
  ...filter
}: DecidedSearch): RecordFilter {
  return filter
}

function charactersOf({ text, geometry }: RecordResult): number {
  return text.length + (geometry?.length ?? 0)
}

/** How many of the first rows fit into so many characters: at least one, where there is one. */
function countWithin(rows: readonly RecordResult[], characters: number): number {
  let left = characters
  const end = rows.findIndex((row) => (left -= charactersOf(row)) < 0)
  return end < 0 ? rows.length : Math.max(1, end)
}

/** A page of rows that were read beyond its limit, where there are more: and where the next page begins. */
function pageOf(rows: RecordResult[], limit: number, { by }: Sort): RecordPage {
  if (rows.length <= limit) return { rows }
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return last
    ? {
        rows: page,
        next: {
          at: last.centimeters ?? Date.parse(`${(JSON.parse(last.text) as Record<string, string>)[by]}Z`),
          id: `${last.chain}-${last.uid}`,
        },
      }
    : { rows: page }
}
