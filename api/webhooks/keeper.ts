import { progressOf, type Held } from './held'
import type { DeadLetter, WebhookStore } from './store'

/** Delay in milliseconds before progress is written, so that one statement writes the progress of many. */
const KEEP_AFTER_MS = 20

/** Writes the progress of deliveries, and dead letters. If a write fails, it is repeated later. */
export class Keeper {
  private readonly noted = new Set<Held>()
  private dead: DeadLetter[] = []
  private keeping: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | undefined

  /** @param onRefused called with a subscription that this process no longer holds, or that is disabled */
  constructor(
    private readonly webhooks: WebhookStore,
    private readonly holder: () => string,
    private readonly elapsed: () => number,
    private readonly onRefused: (held: Held) => void,
    private readonly onError: (error: Error) => void,
  ) {}

  get isEmpty(): boolean {
    return this.noted.size === 0
  }

  /** Schedules the state of a subscription for the next write. */
  note(held: Held): void {
    this.noted.add(held)
  }

  forget(held: Held): void {
    this.noted.delete(held)
  }

  bury(letter: DeadLetter): void {
    this.dead.push(letter)
  }

  soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      this.keep().catch(this.onError)
    }, KEEP_AFTER_MS)
  }

  /** Writes the scheduled states. Writes run in sequence: an older state must not overwrite a newer one. */
  keep(): Promise<void> {
    const kept = this.keeping.then(() => this.write())
    this.keeping = kept.catch(() => {})
    return kept
  }

  private async write(): Promise<void> {
    const [given, dead] = [[...this.noted], this.dead]
    if (given.length === 0) return
    this.noted.clear()
    this.dead = []
    const now = this.elapsed()
    const progress = given.map((held) => progressOf(held, now))
    let kept: Set<string>
    try {
      kept = await this.webhooks.keep(this.holder(), progress, dead)
    } catch (error) {
      for (const held of given) this.noted.add(held)
      this.dead.unshift(...dead)
      throw error
    }
    for (const [i, held] of given.entries()) {
      const { id, disabled } = progress[i]!
      if (disabled !== null || !kept.has(id)) this.onRefused(held)
    }
  }
}
