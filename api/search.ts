import path from 'node:path'
import { Piscina } from 'piscina'
import { prepareGeometry, reachOf, readGeometry, withEffort, type Box } from '../src/geodesy'
import { RecordsProblem, UnavailableError } from './problems'
import type { SieveTask, sift } from './sieve-worker'
import type { Store } from './store'
import {
  NEWEST_FIRST,
  type RecordFilter,
  type RecordPosition,
  type RecordQuery,
  type RecordRow,
  type Sort,
} from './store-records'

/** Where records shall be, to the centimetre of the kernel: what meets the geometry, or lies within so many metres of it. */
export interface Place {
  /** GeoJSON text */
  geometry: string
  radiusMeters?: number
  /** Boxes that hold all that can pass. */
  reach: readonly Box[]
}

/** What is asked for: filters of the database, and a place that is looked at afterwards. */
export interface RecordSearch extends Omit<RecordQuery, 'from' | 'reaching'> {
  place?: Place
  from?: RecordPosition
}

export interface RecordPage {
  rows: RecordRow[]
  /** Where the next page begins; undefined at the end. */
  next?: RecordPosition
}

/** Records whose geometry is looked at for one answer. */
const MAX_CANDIDATES = 20_000
/** How long looking at a part of them may take, waiting for its turn included, milliseconds; and the text of their geometries in one part. */
const TASK_MS = 15_000
const TASK_CHARACTERS = 1_000_000
/** Characters of records after which a page ends, whatever its limit: it is in memory for as long as its client takes to read it. */
const PAGE_CHARACTERS = 4_000_000
/** Rows that a page reads at a time: it cannot be known beforehand how large they are. */
const PAGE_CHUNK = 200
/** Rows that an export reads at a time: flat memory, and no transaction that stays open while a slow client reads. Fewer where records are large: one may have a megabyte. */
const EXPORT_CHUNK = 2_000
const EXPORT_CHUNK_FIRST = 200
const EXPORT_CHUNK_CHARACTERS = 8_000_000
/** Records whose geometry is looked at for one export. */
const MAX_EXPORT_CANDIDATES = 200_000
/** A count goes no further. */
export const COUNT_CAP = 10_000

/**
 * Reads a place to search at. Throws a GeometryError. The effort is bounded, as this is done by the thread that serves: a
 * query string holds some 800 positions at most.
 */
export function placeOf(geojson: unknown, name: string, radiusMeters?: number): Place {
  const reading = readGeometry(geojson, name)
  withEffort(100_000, () => prepareGeometry(reading))
  return {
    geometry: JSON.stringify(geojson),
    ...(radiusMeters !== undefined && { radiusMeters }),
    reach: reachOf(reading, radiusMeters),
  }
}

/** The one way to records for every face of them: REST, GeoJSON, OGC, exports. */
export class Records {
  private pool?: Piscina

  constructor(
    private readonly store: Store,
    private readonly workerFile = path.join(__dirname, 'sieve-worker.js'),
  ) {}

  async close(): Promise<void> {
    await this.pool?.destroy()
  }

  /** One page: `limit` records, or fewer where they are large; `next` tells whether there are more. Throws a RecordsProblem where too many records would have to be looked at. */
  async page(search: RecordSearch): Promise<RecordPage> {
    const { limit, sort = NEWEST_FIRST } = search
    let { from, offset = 0 } = search
    const rows: RecordRow[] = []
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
      // What is skipped is not kept.
      rows.push(...chunk.passed.slice(offset))
      offset = Math.max(0, offset - chunk.passed.length)
      looked += chunk.looked
      if (rows.length > limit || countWithin(rows, PAGE_CHARACTERS) < rows.length) break
      if (looked >= MAX_CANDIDATES)
        throw new RecordsProblem(
          'Invalid query parameter',
          `More than ${MAX_CANDIDATES} records would have to be measured to answer this; give a smaller place, or narrow it by time, chain or prover`,
        )
    }
    return pageOf(rows, Math.min(limit, countWithin(rows, PAGE_CHARACTERS)), sort)
  }

  /** So many records, read at once, of a search without a place. */
  private async part(search: RecordSearch): Promise<RecordPage> {
    return pageOf(
      await this.store.listRecords({ ...search, limit: search.limit + 1 }),
      search.limit,
      search.sort ?? NEWEST_FIRST,
    )
  }

  /** All that match, `limit` at most, in pages: each is read when it is wanted, so one who waits costs nothing. What arrives meanwhile is not repeated nor does it shift the rest. */
  async *pages(search: RecordSearch): AsyncGenerator<RecordRow[]> {
    let { from, offset, limit } = search
    if (search.place) {
      if (
        (await this.store.countRecords(
          { ...filterOf(search), reaching: search.place.reach },
          MAX_EXPORT_CANDIDATES + 1,
        )) > MAX_EXPORT_CANDIDATES
      )
        throw new RecordsProblem(
          'Invalid query parameter',
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

  /** How many match; where that is more than COUNT_CAP and they would have to be counted one by one, only that it is. */
  async count(search: RecordSearch): Promise<{ total: number; exact: boolean }> {
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
        (state) => chain === undefined || state.chain === chain,
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

  /** The candidates in order, a chunk at a time, each larger than the one before. */
  private async *sifted(
    search: RecordSearch,
    place: Place,
  ): AsyncGenerator<{ passed: RecordRow[]; looked: number }> {
    const { place: _, offset: __, ...query } = search
    let { from } = search
    for (let size = 500; ;) {
      const { rows, next } = pageOf(
        await this.store.listRecords({
          ...query,
          reaching: place.reach,
          limit: size + 1,
          withGeometry: true,
          ...(from && { from }),
        }),
        size,
        search.sort ?? NEWEST_FIRST,
      )
      let characters = 0
      // Anyone may attest large geometries: a task is of so much text, however many they are.
      for (const part of parts(rows)) {
        const verdicts = await this.sift({
          geometry: place.geometry,
          ...(place.radiusMeters !== undefined && { radiusMeters: place.radiusMeters }),
          candidates: part.map(({ geometry }) => geometry),
        })
        yield { passed: part.filter((_, i) => verdicts[i]), looked: part.length }
        for (const { geometry } of part) characters += geometry?.length ?? 0
      }
      size = characters > TASK_CHARACTERS ? 500 : Math.min(size * 2, 4_000)
      if (!next) return
      from = next
    }
  }

  private async sift(task: SieveTask): Promise<ReturnType<typeof sift>> {
    if (task.candidates.length === 0) return []
    this.pool ??= new Piscina({
      filename: this.workerFile,
      minThreads: 0,
      maxThreads: 2,
      idleTimeout: 60_000,
      maxQueue: 64,
    })
    if (this.pool.queueSize >= 64)
      throw new UnavailableError('Too many searches by exact place wait already.')
    return (
      this.pool.run(task, { name: 'sift', signal: AbortSignal.timeout(TASK_MS) }) as Promise<boolean[]>
    ).catch((error: Error) => {
      if (error.name === 'AbortError')
        throw new UnavailableError('Looking at so many geometries took too long.')
      throw error
    })
  }
}

/** Runs of rows whose geometries have so much text together. */
function* parts(rows: readonly RecordRow[]): Generator<RecordRow[]> {
  let [part, characters]: [RecordRow[], number] = [[], 0]
  for (const row of rows) {
    part.push(row)
    characters += row.geometry?.length ?? 0
    if (characters < TASK_CHARACTERS) continue
    yield part
    ;[part, characters] = [[], 0]
  }
  if (part.length) yield part
}

/** What chooses records, without the place. */
function filterOf({
  place: _,
  limit: __,
  offset: ___,
  sort: ____,
  from: _____,
  withGeometry: ______,
  ...filter
}: RecordSearch): RecordFilter {
  return filter
}

function charactersOf({ rest, geometry }: RecordRow): number {
  return rest.length + (geometry?.length ?? 0)
}

/** How many of the first rows have so many characters together: at least one, where there is one. */
function countWithin(rows: readonly RecordRow[], characters: number): number {
  let left = characters
  const end = rows.findIndex((row) => (left -= charactersOf(row)) < 0)
  return end < 0 ? rows.length : Math.max(1, end)
}

/** Of rows, more than the limit where there are more: the page, and where the next begins. */
function pageOf(rows: RecordRow[], limit: number, { by }: Sort): RecordPage {
  if (rows.length <= limit) return { rows }
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return last
    ? {
        rows: page,
        next: {
          at: Date.parse((JSON.parse(last.rest) as Record<string, string>)[by]!),
          id: `${last.chain}-${last.uid}`,
        },
      }
    : { rows: page }
}
