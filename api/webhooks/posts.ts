import type { SafeSender } from '../outgoing'
import { shownProblem } from '../http/problems'
import { Semaphore } from '../http/semaphore'
import { headersOf, type Message } from './message'
import type { HeldRow } from './store'

/** Outcome of an attempt. `error` states why the receiver did not accept the message; undefined if it did. */
export interface Outcome {
  readonly error?: string
  readonly status?: number
  readonly retryAfter?: string | undefined
}

export interface PostOptions {
  /** Time limit for a receiver's response, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum number of concurrent requests, in all and to one host: to receivers that work or failed. */
  readonly atOnce: {
    readonly working: { all: number; each: number }
    readonly failing: { all: number; each: number }
  }
}

/** Sends requests to receivers, limited in all and per host. */
export class Posts {
  /** Numbers of attempts: those that receivers accepted, and those that failed. */
  readonly figures = { delivered: 0, failed: 0 }
  private readonly working: Semaphore
  private readonly failing: Semaphore
  private readonly requests = new Set<AbortController>()

  /** @param lease required for a start; its time is in signatures */
  constructor(
    private readonly sender: SafeSender,
    private readonly options: PostOptions,
    private readonly lease: { readonly isHeld: boolean; readonly time: Date },
  ) {
    this.working = new Semaphore(options.atOnce.working)
    this.failing = new Semaphore(options.atOnce.failing)
  }

  /** Makes one attempt; undefined if it did not start or was aborted. @param signal prevents its start */
  async try(
    row: HeldRow,
    message: Message,
    slots: 'working' | 'failing',
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    let release: () => void
    try {
      release = await this[slots].acquire(new URL(row.url).host, { signal })
    } catch {
      return undefined
    }
    try {
      if (signal.aborted || !this.lease.isHeld) return undefined
      const outcome = await this.post(row, message)
      if (outcome) this.figures[outcome.error === undefined ? 'delivered' : 'failed']++
      return outcome
    } finally {
      release()
    }
  }

  cutOff(): void {
    for (const request of this.requests) request.abort()
  }

  private async post(row: HeldRow, message: Message): Promise<Outcome | undefined> {
    const { timeoutMs } = this.options
    const { time } = this.lease
    const request = new AbortController()
    const late = new Error(`no response within ${timeoutMs / 1000} seconds`)
    // Not AbortSignal.any() with a timeout: that timeout may be garbage-collected, and then never fires.
    const timer = setTimeout(() => request.abort(late), timeoutMs)
    this.requests.add(request)
    try {
      const { status, retryAfter } = await this.sender.post(
        row.url,
        headersOf(message, secretsAt(row, time), time),
        message.body,
        request.signal,
      )
      if (status >= 200 && status < 300) return { status }
      return { error: `the receiver returned ${status}`, status, retryAfter }
    } catch (error) {
      // Aborted by the end of the lease or by a stop, neither of which is a failure of the receiver.
      if (request.signal.aborted && request.signal.reason !== late) return undefined
      return { error: failureOf(error as NodeJS.ErrnoException) }
    } finally {
      clearTimeout(timer)
      this.requests.delete(request)
    }
  }
}

/** Returns the secrets that sign at a time of the database. */
function secretsAt({ secrets, oldUntil }: HeldRow, time: Date): readonly string[] {
  return oldUntil !== null && time.getTime() < oldUntil ? secrets : secrets.slice(0, 1)
}

/** Returns why there was no response, for the operator of the receiver. */
function failureOf({ code, message }: NodeJS.ErrnoException): string {
  // OpenSSL's message: an address, "error", a number, "SSL routines", a function, the reason, a file.
  const [, reason] = /:error:[^:]*:SSL routines:[^:]*:([^:]+)/.exec(message) ?? []
  if (reason === 'wrong version number') return 'the port does not speak TLS. Check if it is an http port.'
  if (reason) return `the TLS handshake failed: ${reason}`
  if (message === 'no address') return 'its host name has no address'
  return shownProblem(message) || code || 'no response'
}
