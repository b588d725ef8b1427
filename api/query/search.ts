import { RecordsError, TooExpensiveError } from '../http/problems'
import { OWN_WORK, type Work } from '../http/work'
import {
  charactersOf,
  type Condition,
  NEWEST_FIRST,
  isOneOf,
  type RecordFilter,
  type RecordQuery,
  type RecordResult,
  type Sort,
  type TimeSort,
  type Store,
  pageOf,
  type RecordPage,
  WHOLE_PAGE,
} from '../store'
import { nearest, type Measured } from './nearest'
import { Sieve, type Place } from './sieve'
import { tooManyCandidates, MAX_CANDIDATES, Candidates } from './candidates'

/** Filters that the database decides, and a place that candidates are measured against. */
export interface SearchQuery extends Omit<RecordQuery, 'reaching' | 'condition' | 'sort' | 'limit'> {
  place?: Place | undefined
  /** Default: newest first. Order by distance requires a place that is a position. */
  sort?: Sort | undefined
  condition?: Condition<Place>
  /** Default: all records. */
  limit?: number | undefined
}
export type PageQuery = SearchQuery & { limit: number; offset: number; sort: Sort }
/** Filters that the database can decide, apart from the place. */
type Decided = Pick<SearchQuery, 'place'> & RecordFilter

/** Records measured for one export. */
const MAX_EXPORT_CANDIDATES = 200_000
/** Characters of a page, whatever its limit: it stays in memory for as long as its client reads it. */
const PAGE_CHARACTERS = 4_000_000
/**
 * Rows that an export reads first, and then at once. A columnar file of the first rows alone counts as small
 * (api/formats/exports.ts). No transaction stays open while a slow client reads.
 */
const EXPORT_CHUNK_FIRST = WHOLE_PAGE
const EXPORT_CHUNK = 2_000
const COUNT_CAP = 10_000

/** Finds records for REST, OGC, tiles and exports. */
export class RecordSearch {
  private readonly sieve: Sieve

  constructor(
    private readonly store: Store,
    /** Default: sieve-worker.js in the same folder. */
    workerFile?: string,
  ) {
    this.sieve = new Sieve(workerFile)
  }

  async close(): Promise<void> {
    await this.sieve.close()
  }

  /** Charges the cost to the work. Reads nothing until a page, a count or a filter is requested. */
  search(query: SearchQuery, work: Work = OWN_WORK): Search {
    return new Search(query, this.store.of(work), this.sieve, work)
  }
}

/** One search. It decides the places in its condition once, for its pages, counts and filters alike. */
export class Search {
  private readonly filters: Omit<SearchQuery, keyof Paging>
  private readonly paging: Paging & { limit: number }
  private decidedFilters: Promise<Decided> | undefined

  constructor(
    query: SearchQuery,
    private readonly store: Store,
    private readonly sieve: Sieve,
    private readonly work: Work,
  ) {
    const { limit = Infinity, offset, sort, from, withGeometry, withProvenance, ...filters } = query
    this.filters = filters
    this.paging = { limit, offset, sort, from, withGeometry, withProvenance }
  }

  /**
   * Reads `limit` records, or fewer if they are large. Throws a RecordsError if too many would have to be
   * measured, like all methods.
   */
  async page(): Promise<RecordPage> {
    const { place, ...filter } = await this.decided()
    const { sort = NEWEST_FIRST } = this.paging
    if (sort.by === 'distance') return this.nearestPage(filter, place, sort)
    if (place) return this.pageAt(filter, place, sort)
    const query = { ...filter, ...this.paging, sort }
    const { limit } = query
    const rows: RecordResult[] = []
    for (;;) {
      const part = await this.store.page({ ...query, limit: Math.min(limit - rows.length, WHOLE_PAGE) })
      rows.push(...part.rows)
      const fitting = countWithin(rows, PAGE_CHARACTERS)
      if (fitting < rows.length) return pageOf(rows, fitting, sort)
      if (!part.next || rows.length >= limit) return { ...part, rows }
      Object.assign(query, { from: part.next, offset: 0 })
    }
  }

  private async pageAt(filter: RecordFilter, place: Place, sort: TimeSort): Promise<RecordPage> {
    const { limit, from, withProvenance } = this.paging
    let { offset = 0 } = this.paging
    const rows: RecordResult[] = []
    let looked = 0
    for await (const chunk of this.candidates.sifted({ ...filter, sort, from, withProvenance }, place)) {
      rows.push(...chunk.passed.slice(offset))
      offset = Math.max(0, offset - chunk.passed.length)
      looked += chunk.looked
      if (rows.length > limit || countWithin(rows, PAGE_CHARACTERS) < rows.length) break
      if (looked > MAX_CANDIDATES) throw tooManyCandidates()
    }
    return pageOf(rows, Math.min(limit, countWithin(rows, PAGE_CHARACTERS)), sort)
  }

  private async nearestPage(filter: RecordFilter, place: Place | undefined, sort: Sort): Promise<RecordPage> {
    const { limit, offset = 0, from, withGeometry = false, withProvenance = false } = this.paging
    if (!place) throw new Error('A search by distance needs near=lng,lat')
    const near = new Map<string, RecordResult>()
    const query = { filter, place, limit: offset + limit + 1, ...(from && { from }) }
    const found = await nearest(query, {
      near: async (at, most) => {
        const found = await this.store.recordsNear(at, most, { withGeometry, withProvenance })
        for (const { id, record } of found?.records ?? []) if (record) near.set(id, record)
        return found
      },
      count: (filter, cap) => this.store.countRecords(filter, cap),
      sample: (filter, boxes, most) => this.store.samplePlaces(filter, boxes, most),
      all: (filter) => this.candidates.places(filter),
      measure: (records, at) => {
        const geometries = records.map(({ geometry }) => geometry)
        return this.sieve.distances(geometries, at, this.work)
      },
    })
    const page = found.slice(offset, offset + limit)
    const rows: RecordResult[] = []
    for (let i = 0; i < page.length; i += WHOLE_PAGE) {
      rows.push(...(await this.measuredRecords(page.slice(i, i + WHOLE_PAGE), near)))
      const fitting = countWithin(rows, PAGE_CHARACTERS)
      if (fitting < rows.length) return pageOf(rows, fitting, sort)
    }
    const last = page.at(-1)
    return found.length > offset + limit && last
      ? { rows, next: { at: last.centimeters, id: last.id } }
      : { rows }
  }

  /**
   * Returns the records that still exist, in the order of `measured`.
   * @param known records by ID that need not be read
   */
  private async measuredRecords(
    measured: readonly Measured[],
    known: ReadonlyMap<string, RecordResult>,
  ): Promise<RecordResult[]> {
    const { withGeometry = false, withProvenance = false } = this.paging
    const ids = measured.map(({ id }) => id).filter((id) => !known.has(id))
    const rows = ids.length
      ? (await this.store.page({ ids, limit: ids.length, withGeometry, withProvenance })).rows
      : []
    const read = new Map(rows.map((row) => [`${row.chain}-${row.uid}`, row]))
    return measured.flatMap(({ id, centimeters }) => {
      const row = known.get(id) ?? read.get(id)
      return row ? [Object.assign(row, { centimeters })] : []
    })
  }

  /**
   * Yields all matching records, at most `limit`, ordered by time. Reads each page on demand, so a waiting
   * client costs nothing. Records that arrive meanwhile neither repeat nor shift the others.
   */
  async *pages(): AsyncGenerator<RecordResult[]> {
    const { place, ...filter } = await this.decided()
    const sort = this.paging.sort as TimeSort | undefined
    if (place) {
      yield* this.pagesAt(filter, place, sort)
      return
    }
    const query = { ...filter, ...this.paging, sort }
    let size = EXPORT_CHUNK_FIRST
    while (query.limit > 0) {
      const { rows, next } = await this.store.page({ ...query, limit: Math.min(query.limit, size) })
      if (rows.length) yield rows
      if (!next) return
      Object.assign(query, { limit: query.limit - rows.length, from: next, offset: 0 })
      size = EXPORT_CHUNK
    }
  }

  private async *pagesAt(
    filter: RecordFilter,
    place: Place,
    sort: TimeSort | undefined,
  ): AsyncGenerator<RecordResult[]> {
    const most = MAX_EXPORT_CANDIDATES
    if ((await this.store.countRecords({ ...filter, reaching: place.reach }, most + 1)) > most)
      throw new RecordsError(
        'invalid-query',
        `More than ${most} records would have to be measured for this export. Use a smaller geometry ` +
          'or radius, or narrow the search by time, chain or prover.',
      )
    const { from, withProvenance } = this.paging
    let { offset: skip = 0, limit } = this.paging
    const wanted = { ...filter, from, withProvenance, ...(sort && { sort }) }
    for await (const { passed } of this.candidates.sifted(wanted, place)) {
      const rows = passed.slice(skip, skip + limit)
      skip = Math.max(0, skip - passed.length)
      limit -= rows.length
      if (rows.length) yield rows
      if (limit <= 0) return
    }
  }

  /** Counts like `count`, for responses that can leave out the number; undefined if it is too expensive. */
  async cheapCount(): Promise<Awaited<ReturnType<Search['count']>> | undefined> {
    try {
      return await this.count()
    } catch (error) {
      if (error instanceof TooExpensiveError) return undefined
      throw error
    }
  }

  /** Above COUNT_CAP the count is exact only if the database maintains it. */
  async count(): Promise<{ total: number; exact: boolean }> {
    const { place, ...filter } = await this.decided()
    if (place) {
      let total = 0
      let looked = 0
      for await (const chunk of this.candidates.sifted(filter, place)) {
        total += chunk.passed.length
        looked += chunk.looked
        if (looked > MAX_CANDIDATES) return { total, exact: false }
      }
      return { total, exact: true }
    }
    const { chain, revoked, ...others } = filter
    if (Object.values(others).every((value) => value === undefined)) {
      const states = (await this.store.recordStates()).filter(
        (state) => chain === undefined || isOneOf(chain, state.chain),
      )
      const countOf = ({ total, revoked: revokedTotal }: (typeof states)[number]) =>
        revoked === undefined ? total : revoked ? revokedTotal : total - revokedTotal
      return { total: states.reduce((sum, state) => sum + countOf(state), 0), exact: true }
    }
    const counted = await this.store.countRecords(filter, COUNT_CAP + 1)
    return { total: Math.min(counted, COUNT_CAP), exact: counted <= COUNT_CAP }
  }

  /** Filter that the database can decide alone. A place becomes its chains and the IDs that match. */
  async filter(): Promise<RecordFilter> {
    const { place, ...filter } = await this.decided()
    if (!place) return filter
    const { passed } = await this.candidates.measured(filter, place)
    return { ...(filter.chain !== undefined && { chain: filter.chain }), ids: passed }
  }

  private get candidates(): Candidates {
    return new Candidates(this.store, this.sieve, this.work)
  }

  private decided(): Promise<Decided> {
    return (this.decidedFilters ??= this.decide())
  }

  private async decide(): Promise<Decided> {
    const { condition, place, ...filter } = this.filters
    if (!condition) return { ...filter, place }
    const reached = { ...filter, ...(place && { alsoReaching: place.reach }) }
    return { ...filter, place, condition: await this.candidates.decide(condition, reached) }
  }
}

type Paging = Pick<SearchQuery, 'limit' | 'offset' | 'sort' | 'from' | 'withGeometry' | 'withProvenance'>

/** Number of leading rows that fit; at least one if there are rows. */
function countWithin(rows: readonly RecordResult[], characters: number): number {
  let left = characters
  const end = rows.findIndex((row) => (left -= charactersOf(row)) < 0)
  return end < 0 ? rows.length : Math.max(1, end)
}
