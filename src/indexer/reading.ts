import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { repeat } from '../retry'
import { READING } from './project'
import { watchedOf } from './registry'
import {
  finalBlock,
  noteReading,
  readingOf,
  replayAgain,
  replayPage,
  type Database,
  type Query,
} from './store'

/** Number of attestations that are replayed in one transaction. Batches wait for it. */
const UIDS_AT_ONCE = 500
/** Milliseconds between retries of attestations that are not final yet, and after a failure. */
const LOOK_MS = 10_000
const FAILED_MS = 60_000

/**
 * Replays the records of a chain once if an older version of the projection produced them, so that they equal
 * those of a database that is indexed from the beginning. It holds the chain's lock for at most half of the
 * time. Attestations that are not final yet are replayed once they are. Never throws.
 * @param isEmpty true if nothing of the chain is stored yet
 * @param lookMs milliseconds between retries of attestations that are not final yet
 */
export async function followReading(
  database: Database,
  chain: Chain,
  lease: { holding<T>(work: (query: Query) => Promise<T>): Promise<T> },
  log: Logger,
  isEmpty: boolean,
  signal: AbortSignal,
  lookMs = LOOK_MS,
): Promise<void> {
  if (signal.aborted) return
  const done = new AbortController()
  const stop = () => done.abort()
  signal.addEventListener('abort', stop)
  let isKnown = false
  let after: string | undefined = ''
  let late: string[] = []
  const found = { uids: 0, differing: 0 }
  // Requires the lease, because otherwise a process that lost it would overwrite its successor's rows.
  const leased = { transaction: <T>(work: (query: Query) => Promise<T>) => lease.holding(work) }
  const note = () => lease.holding((query) => noteReading(query, chain))
  await repeat(
    done.signal,
    async () => {
      if (!isKnown) {
        if (!isEmpty && (await readingOf(database.query, chain)) < READING) {
          isKnown = true
          log.info({ chain: chain.slug }, 'records of an older version are replayed')
        } else {
          await note()
          done.abort()
          return 0
        }
      }
      const finalHeight = (await finalBlock(database.query, chain))?.height ?? -1
      const began = performance.now()
      if (after !== undefined) {
        const watched = watchedOf(chain)
        const page = await replayPage(leased, chain, watched, after, UIDS_AT_ONCE, finalHeight, true)
        after = page.last
        late.push(...page.notFinal)
        found.uids += page.uids - page.notFinal.length
        found.differing += page.differing.length
        if (after !== undefined) return performance.now() - began
      }
      const again = late.splice(0)
      for (let at = 0; at < again.length; at += UIDS_AT_ONCE) {
        const uids = again.slice(at, at + UIDS_AT_ONCE)
        const { notFinal, differing } = await replayAgain(leased, chain, uids, finalHeight)
        late.push(...notFinal)
        found.uids += uids.length - notFinal.length
        found.differing += differing.length
      }
      if (late.length > 0) return lookMs
      await note()
      log.info({ chain: chain.slug, ...found }, 'all records are those of this version')
      done.abort()
      return 0
    },
    (error) => {
      log.warn(
        { chain: chain.slug, reason: error.message },
        'records of an older version could not be replayed',
      )
      // Restarts at the first page. Comparing a page again takes less time than repairing it did.
      after = ''
      late = []
      return FAILED_MS
    },
  )
  signal.removeEventListener('abort', stop)
}
