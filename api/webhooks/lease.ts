import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { WebhookStore } from './store'

/** Lease of a process in the database, with the time of the database. */
export class Lease {
  /** Name of the holder. It changes after each lost lease. */
  holder = ''
  /** Time until which the lease is certain, by performance.now(). */
  private until = -Infinity
  private lapse: NodeJS.Timeout | undefined
  /** Time of the database in Unix milliseconds at which `elapsed` was 0, computed at the last renewal. */
  private epoch = NaN

  /** @param onLapse called when the lease is no longer certain */
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly leaseMs: number,
    private readonly elapsed: () => number,
    private readonly onLapse: () => void,
  ) {}

  get isHeld(): boolean {
    return performance.now() < this.until
  }

  /** Time of the database. It does not jump if the clock of this machine is changed. */
  get time(): Date {
    return new Date(this.epoch + this.elapsed())
  }

  /** Converts a database time to `elapsed`. A time in the future becomes now: its clock was set back. */
  momentOf(time: Date): number {
    return Math.min(time.getTime() - this.epoch, this.elapsed())
  }

  /** False if the lease was lost or did not exist. @param onLoss called before a new one is entered */
  async renew(onLoss: () => Promise<void>): Promise<boolean> {
    const began = performance.now()
    const renewed = await this.webhooks.renew(this.holder, this.leaseMs)
    let time = renewed
    if (!time) {
      await onLoss()
      this.holder = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`
      time = await this.webhooks.enter(this.holder, this.leaseMs)
    }
    this.epoch = time.getTime() - this.elapsed()
    this.until = began + this.leaseMs
    clearTimeout(this.lapse)
    this.lapse = setTimeout(() => {
      // Timers run up to two milliseconds early. A request that starts in that time would not be aborted.
      this.until = -Infinity
      this.onLapse()
    }, this.until - performance.now())
    return renewed !== undefined
  }

  /** Releases the lease, so that others need not wait for its end. */
  async release(): Promise<void> {
    await this.webhooks.release(this.holder).catch(() => {})
    clearTimeout(this.lapse)
  }
}
