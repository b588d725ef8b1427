import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { INCLUSION_SECONDS, encodeEntry, leafHash, toHex, type Entry } from '../../src/tlog'
import { StoppedError, UnavailableError } from '../http/problems'
import { needsOperator } from './key'
import type { LogClaim } from './schemas'
import type { LogStore } from './store'

/** Limits of a statement. A bundle reads whole groups: a thousand of the longest entries, 65 MB, took 5 s. */
const AT_ONCE = { entries: 1_000, bytes: 1_000_000 }
/** Milliseconds that an entry waits for the log to open, at the start or after a failover. */
const OPEN_PATIENCE_MS = 4_000
const LOOK_EVERY_MS = 100
/** Milliseconds that a statement waits for the checks of its entries. Later ones join the next statement. */
const CHECK_MS = 250

export interface WriterParts {
  store: LogStore
  /** Unix milliseconds */
  clock: () => number
  /** Returns the reason why this process commits no entry, whatever the database accepts. */
  refusal: () => string | undefined
  /** Returns the reason for clients. `stopped` is the one in the database. */
  reason: (stopped: string | null | undefined) => string
}

interface Waiting {
  entry: Uint8Array
  leaf: Uint8Array
  /** Rejects if the answer must not be published any more. */
  stillValid: () => Promise<void>
  /** Check that runs; a slow one continues while other entries are committed. */
  check?: Promise<void> | undefined
  /** `performance.now()` until which the entry waits for its check, and for a log that accepts entries */
  until: number
  resolve: (origin: string) => void
  reject: (error: Error) => void
}

/**
 * Commits the entry of a signature before the signature leaves the process. Entries of one turn of the event
 * loop, and those that arrive while a statement runs, are committed together. They wait for a timer only
 * while inputs of one of them are checked. A second statement at a time made groups a third smaller and
 * answers costlier, not faster.
 */
export class LogWriter {
  private queue: Waiting[] = []
  private isWriting = false
  committed = 0

  constructor(private readonly parts: WriterParts) {}

  /** Commits an entry. If it throws, the signature must not leave the process. */
  async append(entry: Omit<Entry, 'time'>, stillValid = async (): Promise<void> => {}): Promise<LogClaim> {
    const time = Math.floor(this.parts.clock() / 1000)
    const bytes = encodeEntry({ ...entry, time })
    const leaf = leafHash(bytes)
    const origin = await new Promise<string>((resolve, reject) => {
      const until = performance.now() + OPEN_PATIENCE_MS
      this.queue.push({ entry: bytes, leaf, stillValid, until, resolve, reject })
      if (!this.isWriting) void this.write()
    })
    return { origin, leaf: toHex(leaf), by: time + INCLUSION_SECONDS }
  }

  private async write(): Promise<void> {
    this.isWriting = true
    // Clients whose answers were committed together send their next requests together. Waiting for this turn
    // commits these together as well. Otherwise the first one would be committed alone, and the others would
    // wait for it.
    await nextTurn()
    while (this.queue.length > 0) {
      const group = this.take()
      try {
        await this.commit(group)
      } catch (error) {
        for (const each of group) if (!this.queue.includes(each)) each.reject(error as Error)
      }
    }
    this.isWriting = false
  }

  /** Removes the entries of the next statement from the queue: at least one. */
  private take(): Waiting[] {
    let bytes = 0
    const isOver = ({ entry }: Waiting, at: number) => (bytes += entry.length) > AT_ONCE.bytes && at > 0
    const end = this.queue.findIndex((each, at) => at === AT_ONCE.entries || isOver(each, at))
    return this.queue.splice(0, end < 0 ? this.queue.length : end)
  }

  /** Commits a group. Rejects each entry whose `until` has passed while the log accepts no entries. */
  private async commit(group: readonly Waiting[]): Promise<void> {
    const { store, refusal, reason } = this.parts
    for (let waiting = await this.checked(group); waiting.length > 0; waiting = await this.checked(waiting)) {
      const entries = waiting.map(({ entry }) => entry)
      const leaves = waiting.map(({ leaf }) => leaf)
      const origin = refusal() === undefined ? await store.append(entries, leaves) : undefined
      if (origin !== undefined) {
        this.committed += waiting.length
        for (const { resolve } of waiting) resolve(origin)
        return
      }
      const stopped = refusal() ?? (await store.state())?.stopped
      const now = stopped ? Infinity : performance.now()
      const late = waiting.filter(({ until }) => now > until)
      const why = reason(stopped)
      const Closed = needsOperator(why) ? StoppedError : UnavailableError
      for (const { reject } of late) reject(new Closed(`The transparency log accepts no entries: ${why}`))
      waiting = waiting.filter(({ until }) => now <= until)
      if (waiting.length > 0) await pause(LOOK_EVERY_MS)
    }
  }

  /** Returns the entries that may be published. Rejects invalid ones, and queues the slow ones again. */
  private async checked(waiting: readonly Waiting[]): Promise<readonly Waiting[]> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, CHECK_MS, 'late').unref()
    })
    const check = async (each: Waiting) => {
      try {
        each.check ??= each.stillValid().finally(() => (each.check = undefined))
        if ((await Promise.race([each.check, late])) !== 'late') return [each]
        if (performance.now() > each.until)
          throw new UnavailableError('The inputs could not be checked again in time.')
        this.queue.push(each)
      } catch (error) {
        each.reject(error as Error)
      }
      return []
    }
    const passed = await Promise.all(waiting.map(check))
    clearTimeout(timer)
    return passed.flat()
  }
}
