import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { repeat } from '../retry'
import { READING } from './project'
import { watchedOf } from './registry'
import {
  countRecords,
  finalBlock,
  hasUncounted,
  noteReading,
  noteReplayed,
  readingOf,
  replayAgain,
  replayPage,
  type Database,
  type Replayed,
  type Transactions,
} from './store'

/** Number of attestations that are replayed in one transaction. Batches of new blocks wait for its end. */
const UIDS_AT_ONCE = 500
/** Number of older records that are counted in one transaction, which takes about 0.3 s. */
export const COUNTED_AT_ONCE = 20_000
/** Milliseconds between retries of attestations that are not final, and before a retry after a failure. */
const LOOK_MS = 10_000
const FAILED_MS = 60_000

/** Number of log entries about the progress. UIDs are hashes, so each shows the share that is done. */
const PARTS = 20

/** Replay of the records of a chain by UID, which resumes where an earlier process stopped. */
class Replay {
  /** Last replayed UID; undefined after the last page. */
  private after: string | undefined = ''
  /** UIDs that were not final yet. */
  private late: string[] = []
  private part = 0
  readonly found = { uids: 0, differing: 0 }

  constructor(
    private readonly database: Database,
    private readonly chain: Chain,
    /** Without the lease, a process that lost it would overwrite its successor's rows. */
    private readonly lease: Transactions,
    private readonly log: Logger,
  ) {}

  /** Finds the position. Returns false if this version produced all records. */
  async begin(): Promise<boolean> {
    const { query } = this.database
    const { reading, replayed } = await readingOf(query, this.chain)
    if (reading >= READING) return false
    this.after = replayed?.after ?? ''
    this.late = [...(replayed?.late ?? [])]
    this.part = this.partOf(this.after)
    this.log.info({ chain: this.chain.slug, after: replayed?.after }, 'replaying records of an older version')
    return true
  }

  /** Replays a page, at last what was not final. Returns the pause in milliseconds; undefined at the end. */
  async step(lookMs: number): Promise<number | undefined> {
    const { chain, lease } = this
    const finalHeight = await this.finalHeight()
    const began = performance.now()
    if (this.after !== undefined) {
      const watched = watchedOf(chain)
      const page = await replayPage(lease, chain, watched, this.after, UIDS_AT_ONCE, finalHeight, true)
      this.add(page)
      this.after = page.last
      if (this.after !== undefined) {
        await this.note(this.after)
        return performance.now() - began
      }
    }
    const again = this.late.splice(0)
    for (let at = 0; at < again.length; at += UIDS_AT_ONCE)
      this.add(await replayAgain(lease, chain, again.slice(at, at + UIDS_AT_ONCE), finalHeight))
    return this.late.length > 0 ? lookMs : undefined
  }

  private add({ uids, differing, notFinal }: Replayed): void {
    this.late.push(...notFinal)
    this.found.uids += uids - notFinal.length
    this.found.differing += differing.length
  }

  private async note(after: string): Promise<void> {
    await this.lease.transaction((query) => noteReplayed(query, this.chain, { after, late: this.late }))
    const part = this.partOf(after)
    if (part > this.part)
      this.log.info(
        { chain: this.chain.slug, percent: (100 / PARTS) * part, ...this.found },
        'records of an older version are being replayed',
      )
    this.part = part
  }

  private partOf(uid: string): number {
    return Math.floor((PARTS * parseInt(uid.slice(2, 10) || '0', 16)) / 2 ** 32)
  }

  private async finalHeight(): Promise<number> {
    return (await finalBlock(this.database.query, this.chain))?.height ?? -1
  }
}

/**
 * Replays the records of a chain once if an older version of the projection produced them, so that they equal
 * those of a new database. Before that, counts the records that are older than the counts by group. Holds the
 * chain's lock for at most half of the time. Replays attestations once they are final. Never throws.
 * @param isEmpty true if nothing of the chain is stored yet
 * @param lookMs milliseconds between retries of attestations that are not final yet
 */
export async function followReading(
  database: Database,
  chain: Chain,
  lease: Transactions,
  log: Logger,
  isEmpty: boolean,
  signal: AbortSignal,
  lookMs = LOOK_MS,
): Promise<void> {
  const done = new AbortController()
  let replay: Replay | undefined
  let isCounted = false
  /** Parts counted so far; undefined if no record was left to count at the start. */
  let counted: number | undefined
  await repeat(
    AbortSignal.any([signal, done.signal]),
    async () => {
      if (!isCounted) {
        const began = performance.now()
        isCounted = !(await hasUncounted(database.query, chain))
        if (!isCounted) {
          if (counted === undefined) log.info({ chain: chain.slug }, 'counting older records for statistics')
          const percent = await lease.transaction((query) => countRecords(query, chain, COUNTED_AT_ONCE))
          const part = Math.floor((PARTS * percent) / 100)
          if (part > (counted ?? 0) && part < PARTS)
            log.info({ chain: chain.slug, percent }, 'older records are being counted for statistics')
          counted = part
          return performance.now() - began
        }
        if (counted !== undefined) log.info({ chain: chain.slug }, 'all records are counted for statistics')
      }
      if (!replay) {
        const begun = new Replay(database, chain, lease, log)
        if (!isEmpty && (await begun.begin())) replay = begun
      }
      const pauseMs = await replay?.step(lookMs)
      if (pauseMs !== undefined) return pauseMs
      await lease.transaction((query) => noteReading(query, chain))
      if (replay) log.info({ chain: chain.slug, ...replay.found }, 'all records are of this version')
      done.abort()
      return 0
    },
    (error) => {
      log.warn(
        { chain: chain.slug, reason: error.message },
        'records of an older version could not be replayed',
      )
      replay = undefined
      return FAILED_MS
    },
  )
}
