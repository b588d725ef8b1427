import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Cache } from '../http/cache'
import { finished, joined, OWN_WORK, type Work } from '../http/work'
import { boxesOf, type Store, NEWEST_FIRST, type Bbox } from '../store'
import { choiceTag, type RecordChoice, type RecordSearch } from '../query'
import { countedTile, drawnTile } from './encode'
import { boxOf, type Tile } from './grid'
import {
  countsQuery,
  hasClusters,
  isTotalled,
  keptCountsQuery,
  MOST_DRAWN,
  MOST_MET,
  placedQuery,
  recordsQuery,
  type TileCell,
  type TileRecord,
  movesQuery,
  type ChainMoves,
} from './sql'
import { SharedRead } from '../http/shared'

const compress = promisify(gzip)
/** Most bytes are hashes, which do not compress. Level 6 takes four times as long and saves a few percent. */
const GZIP_LEVEL = 1
/** Bytes of a cache entry without its tile. */
const ENTRY_BYTES = 600

export interface MadeTile {
  etag: string
  /** gzip; empty if the tile is empty */
  compressed: Buffer
}

/** Tile that is cached or being made. */
interface Known<Content> {
  /** Boxes in which a change affects it. */
  boxes: readonly Bbox[]
  content: Content
  /** Number of changes that it includes, or that do not affect it. */
  seen: number
}

export interface TilesOptions {
  store: Store
  records: RecordSearch
  cacheBytes: number
  /** Maximum milliseconds until a change is visible. Default: 250. */
  sharedMs?: number
}

/**
 * Makes tiles, and caches them until a record in their box changes. It reads the log of changes before it
 * returns a cached tile, so the tile is never older than that read, in any process.
 */
export class Tiles {
  private readonly kept: Cache<Known<MadeTile>>
  private readonly making = new Map<string, Known<Promise<MadeTile>>>()
  private readonly changes: Changes

  constructor(private readonly options: TilesOptions) {
    const { store, cacheBytes, sharedMs } = options
    this.kept = new Cache('tiles', {
      bytes: cacheBytes,
      sizeOf: ({ content: { compressed } }) => compressed.length + ENTRY_BYTES,
    })
    this.changes = new Changes(store, sharedMs)
  }

  get size(): number {
    return this.kept.calculatedSize
  }

  /**
   * Returns a tile of the chosen records. If no other request is making it, the work of this client makes it.
   * @param enter runs a function that may make the tile, once a slot is free
   */
  async get(
    tile: Tile,
    choice: RecordChoice,
    work: Work = OWN_WORK,
    enter: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
  ): Promise<MadeTile> {
    await this.changes.follow()
    const key = `${tile.z}/${tile.x}/${tile.y} ${choiceTag(choice, NEWEST_FIRST)}`
    const known = () =>
      [this.kept.get(key), this.making.get(key)].find((each) => each && this.changes.areIncludedIn(each))
        ?.content
    const begin = () => this.begin(key, tile, choice, work)
    return joined(
      () => {
        const found = known()
        return found && Promise.resolve(found)
      },
      // Another client with a shorter wait may have begun to make the tile.
      (late) =>
        enter(async () => {
          const found = known()
          return found && found !== late ? found : begin()
        }),
    )
  }

  private async begin(key: string, tile: Tile, choice: RecordChoice, work: Work): Promise<MadeTile> {
    const making: Known<Promise<MadeTile>> = {
      boxes: boxesOf(boxOf(tile)),
      content: this.make(tile, choice, finished(work)),
      seen: this.changes.count,
    }
    this.making.set(key, making)
    try {
      const made = await making.content
      // Otherwise another request has begun to make a newer one.
      if (this.making.get(key) === making) this.kept.set(key, { ...making, content: made })
      return made
    } finally {
      if (this.making.get(key) === making) this.making.delete(key)
    }
  }

  private async make(tile: Tile, choice: RecordChoice, work: Work): Promise<MadeTile> {
    const bytes = await this.encode(tile, choice, work)
    return {
      etag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      compressed: bytes.length ? await compress(bytes, { level: GZIP_LEVEL }) : bytes,
    }
  }

  private async encode(tile: Tile, choice: RecordChoice, work: Work): Promise<Buffer> {
    const store = this.options.store.of(work)
    // Records outside the tile need no measuring.
    const search = this.options.records.search({ ...choice, shownIn: boxOf(tile) }, work)
    const { shownIn: _, ...filter } = await search.filter()
    const found = await store.run<TileRecord>(recordsQuery(filter, tile), true)
    // An empty result means either no records or too many, unless the counts were not checked.
    const isTold = found.length > 0 || !isTotalled(filter, tile)
    if (found.length <= MOST_DRAWN && isTold) return drawnTile(tile, found)
    const kept = hasClusters(filter, tile)
      ? await store.run<TileCell>(keptCountsQuery(filter, tile), true)
      : undefined
    const total = kept?.reduce((sum, cell) => sum + cell.total, 0) ?? 0
    if (kept && total > MOST_DRAWN) return countedTile(tile, kept)
    if (kept && total === 0) return drawnTile(tile, [])
    // Anyone may attest areas that meet many tiles. They hide no record with another position.
    const placed = await store.run<TileRecord>(placedQuery(filter, tile, kept && MOST_MET), true)
    if (placed.length <= MOST_DRAWN && placed.length >= total) return drawnTile(tile, placed)
    return countedTile(tile, kept ?? (await store.run<TileCell>(countsQuery(filter, tile), true)))
  }
}

/** True if two boxes meet. A record at 180 degrees is shown at -180. */
function meet(changed: Bbox, [west, south, east, north]: Bbox): boolean {
  const [w, s, e, n] = changed
  return (
    s <= north && n >= south && ((w <= east && e >= west) || (e >= 180 && w - 360 <= east && e - 360 >= west))
  )
}

/** Milliseconds for which a read of changes is reused: the maximum delay until a change is visible. */
const CHANGES_SHARED_MS = 250
/** After more changes of a chain than this in one read, all cached tiles are outdated. */
const MOST_MOVES = 1_000
/**
 * Number of changes whose boxes are stored. A tile is compared with them when it is requested, in a fraction
 * of a millisecond: comparing each change with all cached tiles took up to two seconds.
 */
const BOXES_STORED = 10_000

type Place = Pick<ChainMoves, 'since' | 'rewrites' | 'last'>

/** Follows the log of changes. Reads on demand only. */
class Changes {
  /** Number of changes so far. */
  count = 0
  /** Boxes (degrees) of the last changes, oldest first. */
  private boxes: Bbox[] = []
  private readonly places = new Map<string, Place>()
  private readonly reading: SharedRead<void>

  constructor(
    private readonly store: Pick<Store, 'run'>,
    sharedMs = CHANGES_SHARED_MS,
  ) {
    this.reading = new SharedRead(() => this.read(), sharedMs)
  }

  /**
   * Resolves once every change is counted that was in the database CHANGES_SHARED_MS ago. Throws an
   * UnavailableError if the database does not respond.
   */
  follow(): Promise<void> {
    return this.reading.get()
  }

  /** True if a tile includes every change that affects it. Notes on the tile that it then includes all. */
  areIncludedIn(tile: Known<unknown>): boolean {
    const unseen = this.count - tile.seen
    if (unseen > this.boxes.length) return false
    for (const changed of this.boxes.slice(this.boxes.length - unseen))
      if (tile.boxes.some((box) => meet(changed, box))) return false
    tile.seen = this.count
    return true
  }

  private async read(): Promise<void> {
    const after = Object.fromEntries([...this.places].map(([chain, { last }]) => [chain, last]))
    const states = await this.store.run<ChainMoves>(movesQuery(after, MOST_MOVES + 1))
    const isLost =
      [...this.places.keys()].some((chain) => states.every((state) => state.chain !== chain)) ||
      states.some((state) => !goesOn(this.places.get(state.chain), state))
    this.places.clear()
    for (const { chain, since, rewrites, last } of states) this.places.set(chain, { since, rewrites, last })
    const boxes = states.flatMap(({ moves }) =>
      moves.flatMap(([, w, s, e, n]): Bbox[] => (w === null ? [] : [[w, s, e, n]])),
    )
    // A change at an unknown place has no box, so that no tile can be compared with it.
    this.count += isLost ? 1 : boxes.length
    this.boxes = isLost ? [] : [...this.boxes, ...boxes].slice(-BOXES_STORED)
  }
}

/** True if no change of the chain is missing from those that were read. */
function goesOn(known: Place | undefined, state: ChainMoves): boolean {
  const { since, rewrites, last, forgotten, moves } = state
  return (
    moves.length <= MOST_MOVES &&
    (known
      ? known.since.getTime() === since.getTime() &&
        known.rewrites === rewrites &&
        known.last >= forgotten &&
        known.last <= last
      : forgotten === 0)
  )
}
