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
  recordsQuery,
  type TileCell,
  type TileRecord,
  movesQuery,
  type ChainMoves,
} from './sql'
import { SharedRead } from '../http/shared'

const compress = promisify(gzip)
/** Most of a tile is hashes: level 6 takes four times as long, for some hundredths. */
const GZIP_LEVEL = 1
/** What an entry of the cache takes besides its bytes. */
const ENTRY_BYTES = 600

export interface MadeTile {
  etag: string
  /** gzip; empty where the tile is empty */
  compressed: Buffer
}

/** A tile in memory, or one that is being made, and where on the map a change concerns it. */
interface Known<Content> {
  boxes: readonly Bbox[]
  content: Content
}

export interface TilesOptions {
  store: Store
  records: RecordSearch
  /** Bytes of tiles that are kept. */
  cacheBytes: number
  /** How late a change may be seen, milliseconds. Default: 250. */
  sharedMs?: number
}

/**
 * Makes tiles, and keeps them until a record in their box changes. Before a kept tile is answered the log of
 * changes is read up; so it is never older than that reading, in any process.
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
    this.changes = new Changes(store, (boxes) => this.forget(boxes), sharedMs)
  }

  /** Bytes of the tiles that are kept. */
  get size(): number {
    return this.kept.calculatedSize
  }

  /**
   * A tile of the records that a choice names, made by the work of a client if nobody has asked for it.
   * @param enter runs what may have to be made, when there is room for it
   */
  async get(
    tile: Tile,
    choice: RecordChoice,
    work: Work = OWN_WORK,
    enter: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
  ): Promise<MadeTile> {
    await this.changes.follow()
    const key = `${tile.z}/${tile.x}/${tile.y} ${choiceTag(choice, NEWEST_FIRST)}`
    const known = () => this.kept.get(key)?.content ?? this.making.get(key)?.content
    // Once more when it is its turn: another client that waits less may have begun to make it.
    const begun = known()
    const begin = () => this.begin(key, tile, choice, work)
    return begun ? joined(Promise.resolve(begun), () => enter(begin)) : enter(async () => known() ?? begin())
  }

  private async begin(key: string, tile: Tile, choice: RecordChoice, work: Work): Promise<MadeTile> {
    const making: Known<Promise<MadeTile>> = {
      boxes: boxesOf(boxOf(tile)),
      content: this.make(tile, choice, finished(work)),
    }
    this.making.set(key, making)
    try {
      const made = await making.content
      // A change that came meanwhile has taken it out: what was read may be from before it.
      if (this.making.get(key) === making) this.kept.set(key, { boxes: making.boxes, content: made })
      return made
    } finally {
      if (this.making.get(key) === making) this.making.delete(key)
    }
  }

  /** Forgets the tiles that meet one of these boxes, or all, kept ones and those that are being made. */
  private forget(changed: readonly Bbox[] | undefined): void {
    const isConcerned = ({ boxes }: Known<unknown>) =>
      !changed || changed.some((one) => boxes.some((other) => meet(one, other)))
    for (const [key, known] of this.making) if (isConcerned(known)) this.making.delete(key)
    for (const [key, known] of this.kept.entries()) if (isConcerned(known)) this.kept.delete(key)
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
    // What lies elsewhere needs no measuring.
    const search = this.options.records.search({ ...choice, shownIn: boxOf(tile) }, work)
    const { shownIn: _, ...filter } = await search.filter()
    const found = await store.run<TileRecord>(recordsQuery(filter, tile), true)
    // Of none it is not known yet whether there are none or too many.
    const isTold = found.length > 0 || !isTotalled(filter, tile)
    if (found.length <= MOST_DRAWN && isTold) return drawnTile(tile, found)
    const counts = hasClusters(filter, tile) ? keptCountsQuery : countsQuery
    return countedTile(tile, await store.run<TileCell>(counts(filter, tile), true))
  }
}

/** Whether two boxes meet; a record at 180 degrees is shown at -180. */
function meet(changed: Bbox, [west, south, east, north]: Bbox): boolean {
  const [w, s, e, n] = changed
  return (
    s <= north && n >= south && ((w <= east && e >= west) || (e >= 180 && w - 360 <= east && e - 360 >= west))
  )
}

/** How long what was read is reused, milliseconds: so late a change may be seen. */
const CHANGES_SHARED_MS = 250
/** After more changes of a chain than this at once, nothing that was known is relied on. */
const MOST_MOVES = 1_000

/** How far a chain's changes were read. */
type Place = Pick<ChainMoves, 'since' | 'rewrites' | 'last'>

/**
 * Follows the log of changes for what was made of the records. It is read when it is asked for, not between:
 * a process without requests reads nothing.
 */
export class Changes {
  private readonly places = new Map<string, Place>()
  private readonly reading: SharedRead<void>

  /**
   * @param touch is told of the boxes (degrees) where records changed; undefined: they may have changed
   *   anywhere
   */
  constructor(
    private readonly store: Pick<Store, 'run'>,
    private readonly touch: (boxes: readonly Bbox[] | undefined) => void,
    sharedMs = CHANGES_SHARED_MS,
  ) {
    this.reading = new SharedRead(() => this.read(), sharedMs)
  }

  /**
   * Resolves once `touch` knows of every change that was in the database CHANGES_SHARED_MS ago. Throws an
   * UnavailableError.
   */
  follow(): Promise<void> {
    return this.reading.get()
  }

  private async read(): Promise<void> {
    const after = Object.fromEntries([...this.places].map(([chain, { last }]) => [chain, last]))
    const states = await this.store.run<ChainMoves>(movesQuery(after, MOST_MOVES + 1))
    const isLost =
      [...this.places.keys()].some((chain) => states.every((state) => state.chain !== chain)) ||
      states.some((state) => !goesOn(this.places.get(state.chain), state))
    this.places.clear()
    for (const { chain, since, rewrites, last } of states) this.places.set(chain, { since, rewrites, last })
    if (isLost) return this.touch(undefined)
    const boxes = states.flatMap(({ moves }) =>
      moves.flatMap(([, w, s, e, n]): Bbox[] => (w === null ? [] : [[w, s, e, n]])),
    )
    if (boxes.length) this.touch(boxes)
  }
}

/** Whether the changes that were read of a chain are all that happened to it. */
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
