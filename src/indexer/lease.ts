import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { READING } from './project'
import {
  holdWriter,
  releaseWriter,
  renewWriter,
  takeWriter,
  type Copy,
  type Database,
  type Query,
  type Transactions,
} from './store'

/** Seconds without a renewal after which a writer may be replaced. */
const LEASE_SECONDS = 6
const RENEW_EVERY_MS = 1_500
const LOOK_EVERY_MS = 500
const SAY_EVERY_MS = 60_000
const RELEASE_PATIENCE_MS = 1_000

/** Identifies the machine since its boot, and the container, within which a process id is unique. */
const PLACE = [hostname(), ...['/proc/sys/kernel/random/boot_id', '/proc/self/ns/pid'].map(readOrNothing)]
  .join(' ')
  .replaceAll('/', '')

/** Error for a lease that another process has taken. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/**
 * The right to write a chain's rows: a row in the database that its holder renews.
 *
 * A second indexer waits. It takes over when the holder releases the lease, has not renewed it for 6 s, or is
 * known to be dead (a process of this machine that has ended). Each batch checks the lease in its own
 * transaction and locks it until the end, so that a process that lost it unnoticed, for example while
 * suspended, writes nothing more. The new holder terminates the session of a batch that is still open.
 *
 * It is not an advisory lock of the session, because PgBouncer in transaction mode and the embedded database
 * share sessions between clients.
 */
export class Lease implements Transactions {
  private readonly writer = `${PLACE}/${process.pid}/${randomBytes(4).toString('hex')}/reading-${READING}`
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly database: Database,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  /**
   * Waits for the lease, then renews it. Calls `onLost` if another process has taken it. Rejects if the
   * signal aborts first.
   */
  async take(onLost: (error: LeaseLostError) => void, signal?: AbortSignal): Promise<void> {
    for (let loggedAt = -Infinity; ;) {
      const other = await takeWriter(this.database, this.chain, this.writer, LEASE_SECONDS, (writer) =>
        this.isGone(writer),
      )
      if (other === undefined) break
      signal?.throwIfAborted()
      if (performance.now() - loggedAt > SAY_EVERY_MS) {
        loggedAt = performance.now()
        this.log.info(
          { chain: this.chain.slug, writer: other },
          `another indexer of ${this.chain.slug} is running: waiting to take over when it stops`,
        )
      }
      await pause(LOOK_EVERY_MS, undefined, { signal })
    }
    if (signal?.aborted) {
      await this.release()
      signal.throwIfAborted()
    }
    this.timer = setInterval(() => {
      void renewWriter(this.database.query, this.chain, this.writer, LEASE_SECONDS).then(
        (isOurs) => isOurs || onLost(this.lost()),
        // A failed renewal needs no action: without the database no batch is written either.
        () => {},
      )
    }, RENEW_EVERY_MS)
  }

  /** Runs work in a transaction, of this database or another, that commits only with the lease. */
  transaction<T>(work: (query: Query, copy: Copy) => Promise<T>, database = this.database): Promise<T> {
    return database.transaction(async (query, copy) => {
      // Keeps the lease until the transaction ends.
      if (!(await holdWriter(query, this.chain, this.writer))) throw this.lost()
      return work(query, copy)
    })
  }

  /** Releases the lease. Never throws. Takes at most one second. */
  async release(): Promise<void> {
    clearInterval(this.timer)
    const released = releaseWriter(this.database.query, this.chain, this.writer).catch(() => {})
    await Promise.race([released, pause(RELEASE_PATIENCE_MS)])
  }

  /** True if a writer is a process of this machine that has ended. */
  private isGone(writer: string): boolean {
    const [place, pid] = writer.split('/')
    if (place !== PLACE) return false
    if (Number(pid) === process.pid) return writer !== this.writer
    try {
      process.kill(Number(pid), 0)
      return false
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH'
    }
  }

  private lost(): LeaseLostError {
    return new LeaseLostError(`this process has lost its lease: another one is writing ${this.chain.slug}`)
  }
}

/** Returns the text of a file or the target of a link; empty if the system has no such file. */
function readOrNothing(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
