import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { WebhookStore } from './store'

/** The lease of a process in the database, and the database's time. */
export class Lease {
  /** Name of the holder; a new one after each lease that it lost. */
  holder = ''
  /** Until when the lease is certain, by performance.now(). */
  private until = -Infinity
  private lapse: NodeJS.Timeout | undefined
  /** Unix milliseconds of the database when `elapsed` was 0, as of the last renewal. */
  private epoch = NaN

  /**
   * @param elapsed monotonic milliseconds
   * @param onLapse called when the lease is no longer certain
   */
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly leaseMs: number,
    private readonly elapsed: () => number,
    private readonly onLapse: () => void,
  ) {}

  get isHeld(): boolean {
    return performance.now() < this.until
  }

  /** Time of the database, also after a step of this machine's clock. */
  get time(): Date {
    return new Date(this.epoch + this.elapsed())
  }

  /** Converts a time of the database to `elapsed`: now, if it is in the future, as its clock was set back. */
  momentOf(time: Date): number {
    return Math.min(time.getTime() - this.epoch, this.elapsed())
  }

  /**
   * Renews the lease; false if it was lost, or never was, and is a new one.
   * @param onLoss called before there is a new one
   */
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
      // Timers run up to two milliseconds early. A request that begins then would not be cut off.
      this.until = -Infinity
      this.onLapse()
    }, this.until - performance.now())
    return renewed !== undefined
  }

  /** Gives up the lease, so that others need not wait for its end. */
  async release(): Promise<void> {
    await this.webhooks.release(this.holder).catch(() => {})
    clearTimeout(this.lapse)
  }
}
