import { MONOTONIC, type Clock } from '../clock'
import type { BlockRange } from './store'

/** Milliseconds until a range that could not be compared is retried. The pause doubles with each retry. */
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 600_000
/** Maximum pause before the newest postponed range, whose retry shows when the endpoint is honest again. */
const LONGEST_NEWEST_RETRY_MS = 10_000
/** Number of retries of the newest range at this interval, about ten minutes. */
const OFTEN_TRIES = 60
/** First and longest pause, in milliseconds, for a block whose receipts are missing or of an unknown form. */
const UNPROVEN_RETRY_MS = 600_000
const LONGEST_UNPROVEN_RETRY_MS = 86_400_000
/** Maximum number of postponed ranges. The oldest entry is dropped beyond it. */
const MOST_POSTPONED = 10_000

interface Postponed extends BlockRange {
  /** Time of the next retry, in milliseconds of the clock. */
  until: number
  tries: number
  /** True if contradictions prevented the comparison; false if the range was compared, but not proven. */
  failed: boolean
}

/** Returns the pause in milliseconds after a failure. `failures` counts from 0. */
export function pauseAfter(failures: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_NEWEST_RETRY_MS)
}

/** Ranges of blocks that the audit retries later. */
export class PostponedRanges {
  private list: Postponed[] = []

  /** @param onFailedCount called with the number of ranges that could not be compared, when it may change */
  constructor(
    private readonly onFailedCount: (count: number) => void,
    private readonly clock: Clock = MONOTONIC,
  ) {}

  /** Returns the ranges that are not due yet. */
  waiting(): readonly BlockRange[] {
    return this.list.filter(({ until }) => until > this.clock.now())
  }

  /** Number of blocks in all ranges. */
  get blocks(): number {
    return this.list.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  }

  /** Returns the first postponed range that overlaps this one. */
  overlapping(range: BlockRange): Readonly<Postponed> | undefined {
    return this.list.find((each) => overlap(each, range))
  }

  /** Postpones a range that could not be compared. It replaces those that overlap it. */
  addFailed(range: BlockRange): void {
    this.add(range, true, this.overlapping(range))
  }

  /** Removes a compared range from the list and postpones its unproven blocks. */
  replace(range: BlockRange, unproven: readonly number[], contradicted: ReadonlySet<number>): void {
    const earlier = this.list
    this.remove(range)
    for (const block of unproven) {
      const single = { from: block, to: block }
      const before = earlier.find((each) => overlap(each, single))
      this.add(single, contradicted.has(block), before)
    }
  }

  /** Drops postponed ranges that overlap none of these. */
  keep(ranges: readonly BlockRange[]): void {
    this.list = this.list.filter((each) => ranges.some((range) => overlap(each, range)))
    this.onFailedCount(this.failed().length)
  }

  /** Makes all ranges that could not be compared due now, because the endpoint is honest again. */
  retryFailed(): void {
    for (const each of this.failed()) each.until = -Infinity
  }

  private add(range: BlockRange, failed: boolean, before: Readonly<Postponed> | undefined): void {
    const tries = before ? before.tries + 1 : 0
    const [first, longest] = failed
      ? [FIRST_RETRY_MS, LONGEST_RETRY_MS]
      : [UNPROVEN_RETRY_MS, LONGEST_UNPROVEN_RETRY_MS]
    this.remove(range)
    const until = this.clock.now() + Math.min(first * 2 ** tries, longest)
    this.list.push({ from: range.from, to: range.to, failed, tries, until })
    if (this.list.length > MOST_POSTPONED) this.list.shift()
    const newest = this.failed().reduce<Postponed | undefined>(
      (a, b) => (a && a.to > b.to ? a : b),
      undefined,
    )
    if (newest && newest.tries < OFTEN_TRIES)
      newest.until = Math.min(newest.until, this.clock.now() + LONGEST_NEWEST_RETRY_MS)
    this.onFailedCount(this.failed().length)
  }

  private remove(range: BlockRange): void {
    this.list = this.list.filter((each) => !overlap(each, range))
    this.onFailedCount(this.failed().length)
  }

  private failed(): Postponed[] {
    return this.list.filter(({ failed }) => failed)
  }
}

function overlap(a: BlockRange, b: BlockRange): boolean {
  return a.from <= b.to && a.to >= b.from
}
