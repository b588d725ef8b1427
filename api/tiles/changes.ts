import { SharedRead } from '../http/shared'
import type { Bbox, Store } from '../store'
import { movesQuery, type ChainMoves } from './sql'

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
