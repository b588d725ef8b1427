import { isOver } from './delivery'
import { progressOf, type Held } from './held'
import type { DeadLetter, WebhookStore } from './store'

/** Delay in milliseconds before progress is written, so that one statement writes the progress of many. */
const KEEP_AFTER_MS = 20

/** Writes the progress of deliveries, and dead letters. If a write fails, it is repeated later. */
export class Keeper {
  /** Subscriptions to write, each with its new dead letters. */
  private readonly noted = new Map<Held, DeadLetter[]>()
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

  /** Schedules the state of a subscription, and new dead letters, for the next write. */
  note(held: Held, ...dead: DeadLetter[]): void {
    this.noted.set(held, [...(this.noted.get(held) ?? []), ...dead])
  }

  forget(held: Held): void {
    this.noted.delete(held)
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
    const noted = [...this.noted]
    if (noted.length === 0) return
    this.noted.clear()
    const now = this.elapsed()
    const progress = noted.map(([held]) => progressOf(held, now))
    let kept: Set<string>
    try {
      kept = await this.webhooks.keep(
        this.holder(),
        progress,
        noted.flatMap(([, dead]) => dead),
      )
    } catch (error) {
      for (const [held, dead] of noted)
        if (!isOver(held.state)) this.noted.set(held, [...dead, ...(this.noted.get(held) ?? [])])
      throw error
    }
    for (const [i, [held]] of noted.entries()) {
      const { id, disabled } = progress[i]!
      if (disabled !== null || !kept.has(id)) this.onRefused(held)
    }
  }
}
