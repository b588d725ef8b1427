import { randomBytes } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Logger } from '@subsquid/logger'
import type { TypeormDatabase } from '@subsquid/typeorm-store'
import type { Chain } from './chains'
import { holdWriter, releaseWriter, renewWriter, takeWriter, type Database, type Query } from './database'

/** A writer that has not renewed its lease for so long may be replaced. */
const LEASE_SECONDS = 15
const RENEW_EVERY_MS = 3_000
const LOOK_EVERY_MS = 500
const SAY_EVERY_MS = 60_000
const RELEASE_PATIENCE_MS = 1_000

/** Where process ids mean the same: the machine, and the container on it. */
const PLACE = [hostname(), ...['/proc/sys/kernel/random/boot_id', '/proc/self/ns/pid'].map(readOrNothing)]
  .join(' ')
  .replaceAll('/', '')

/** Another process writes this chain now. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/**
 * The right to write a chain's rows, which one process has at a time: a row of the database that its holder renews. A
 * second indexer waits, and takes over when the first gives it up, or has not renewed it for 15 s, or is known to be dead
 * (a process of this machine that is gone). Each batch checks it in its own transaction and holds it until the end of
 * that, so that whoever lost it without noticing, as after a pause, writes nothing more. Not an advisory lock of the
 * session: PgBouncer in transaction mode and the embedded database share sessions between clients.
 */
export class Lease {
  private readonly writer = `${PLACE}/${process.pid}/${randomBytes(4).toString('hex')}`
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly database: Database,
    private readonly chain: Chain,
    private readonly log: Logger,
  ) {}

  /** Waits until this process has it; from then on renews it, and calls `onLost` if another process has taken it. */
  async take(onLost: (error: LeaseLostError) => void): Promise<void> {
    for (let said = -Infinity; ;) {
      const other = await takeWriter(this.database, this.chain, this.writer, LEASE_SECONDS, (writer) =>
        this.isGone(writer),
      )
      if (other === undefined) break
      if (Date.now() - said > SAY_EVERY_MS) {
        said = Date.now()
        this.log.info(
          { chain: this.chain.slug, writer: other },
          `another indexer of ${this.chain.slug} is at work: waiting to take over when it ends`,
        )
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
    this.timer = setInterval(() => {
      void renewWriter(this.database.query, this.chain, this.writer, LEASE_SECONDS).then(
        (isOurs) => isOurs || onLost(this.lost()),
        // A database that is away takes no batch either.
        () => {},
      )
    }, RENEW_EVERY_MS)
  }

  /** Lets no transaction of this store begin without the lease. */
  fence(store: TypeormDatabase): void {
    const parts = store as unknown as StoreParts
    const submit = parts.submit.bind(store)
    parts.submit = (transaction) =>
      submit(async (em) => {
        const query: Query = (sql, values) => em.query(sql, values)
        if (!(await holdWriter(query, this.chain, this.writer))) throw this.lost()
        await transaction(em)
      })
  }

  /** Gives it up, so that the next one need not wait. Never throws, and takes a second at most. */
  async release(): Promise<void> {
    clearInterval(this.timer)
    const released = releaseWriter(this.database.query, this.chain, this.writer).catch(() => {})
    await Promise.race([released, new Promise((resolve) => setTimeout(resolve, RELEASE_PATIENCE_MS))])
  }

  /** Whether a writer is a process of this machine that is no more. */
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
    return new LeaseLostError(`another process writes ${this.chain.slug} now: this one has lost its lease`)
  }
}

/** A file's text, or what a link leads to; nothing where the system has no such file. */
function readOrNothing(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}

/** The private part of typeorm-store 1.5.1 that each of its transactions goes through. */
interface StoreParts {
  submit(
    transaction: (em: { query<Row>(sql: string, values?: unknown[]): Promise<Row[]> }) => Promise<void>,
  ): Promise<void>
}
