// SPDX-License-Identifier: MIT
import { setTimeout as pause } from 'node:timers/promises'
import type { Session } from '../session'
import { withLimit } from './download'
import type { Metrics } from './metrics'

/** Alarms of a monitor: each is raised once, printed, and sent to a webhook. */

export interface Alarm {
  kind: string
  message: string
  origin: string
  /** Unix seconds */
  time: number
  /** signed checkpoints that prove the fault */
  evidence: readonly string[]
}

/** Alarms of earlier reads. */
export interface AlarmState {
  /** kinds and episodes of the last alarms, so that each is raised once */
  raised: string[]
  /** alarms that the webhook has not accepted yet */
  unsent: Alarm[]
  /** number of further alarms, which will not be sent */
  omitted: number
}

/** Pauses in milliseconds before the second and third attempt to send an alarm. */
const RETRIES_MS = [1_000, 5_000]

/** Time in milliseconds after which a receiver that does not respond has not accepted the alarm. */
const LIMIT_MS = 10_000

/** Sends an alarm as JSON. Resolves to false if the receiver did not accept it. */
async function sendAlarm(
  url: string,
  alarm: Alarm,
  signal: AbortSignal,
  retriesMs: readonly number[],
): Promise<boolean> {
  for (const wait of [0, ...retriesMs]) {
    if (wait > 0) await pause(wait, undefined, { signal })
    const headers = { 'content-type': 'application/json' }
    // A redirect would be followed by GET, without the alarm.
    const post = { method: 'POST', headers, body: JSON.stringify(alarm), redirect: 'manual' } as const
    const response = await withLimit(signal, LIMIT_MS, (limited) =>
      fetch(url, { ...post, signal: limited }),
    ).catch(() => undefined)
    signal.throwIfAborted()
    await response?.body?.cancel()
    if (response?.ok) return true
  }
  return false
}

/** Maximum number of alarms that wait for the webhook. Further ones are counted. */
const MAX_UNSENT = 100
/** Maximum number of alarms that are not raised a second time. */
const MAX_RAISED = 1_000

export class Alarms {
  /** Number of alarms that this run has found, including those that were raised earlier. */
  count = 0

  constructor(
    private readonly session: Session<{ webhook?: string }>,
    private readonly origin: string,
    private readonly state: AlarmState,
    private readonly metrics: Metrics,
    private readonly retriesMs: readonly number[] = RETRIES_MS,
  ) {
    // A later run with this state does not raise these alarms again, although their faults may still exist.
    for (const key of state.raised) metrics.count('alarms', key.slice(0, key.indexOf(':')))
  }

  /** Raises an alarm once for each kind and episode, which has no value that differs between two reads. */
  raise(kind: string, message: string, episode: string, evidence: readonly string[] = []): void {
    const { session, state } = this
    this.count++
    if (this.isRaised(kind, episode)) return
    state.raised = [...state.raised, keyOf(kind, episode)].slice(-MAX_RAISED)
    this.metrics.count('alarms', kind)
    const alarm = this.alarmOf(kind, message, evidence)
    if (state.unsent.length < MAX_UNSENT) state.unsent.push(alarm)
    else state.omitted++
    if (session.options.json) session.printJson(alarm)
    else session.print(`${session.paint.bad(kind.padEnd(10))} ${message}`)
  }

  isRaised(kind: string, episode: string): boolean {
    return this.state.raised.includes(keyOf(kind, episode))
  }

  private alarmOf(kind: string, message: string, evidence: readonly string[] = []): Alarm {
    return { kind, message, origin: this.origin, time: unixSeconds(), evidence }
  }

  /** Sends alarms to the webhook. Those that it does not accept are sent again after the next read. */
  async send(): Promise<void> {
    const { session, state, metrics } = this
    const { webhook } = session.options
    if (webhook === undefined) {
      state.unsent = []
      state.omitted = 0
    }
    while (state.unsent.length > 0 || state.omitted > 0) {
      const omitted = `${state.omitted} further alarms were left out. The output of geo log monitor has them.`
      const alarm = state.unsent[0] ?? this.alarmOf('omitted', omitted)
      if (!(await sendAlarm(webhook!, alarm, session.signal, this.retriesMs))) {
        metrics.count('failures', 'webhook')
        const count = state.unsent.length + state.omitted
        return session.note(`The webhook did not accept ${count} alarms. They are sent again later.`)
      }
      if (state.unsent.shift() === undefined) state.omitted = 0
    }
  }
}

function keyOf(kind: string, episode: string): string {
  return `${kind}: ${episode}`
}

/** Unix seconds of the system clock, which are compared with the times of entries and blocks. */
export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
