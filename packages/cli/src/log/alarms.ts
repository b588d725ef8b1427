// SPDX-License-Identifier: MIT
import { createServer, type Server } from 'node:http'
import { writeFile, rename } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { withLimit } from './download'

/** Alarms of a monitor, and its metrics. */

export interface Alarm {
  kind: string
  message: string
  origin: string
  /** Unix seconds */
  time: number
  /** signed checkpoints that prove the fault */
  evidence: readonly string[]
}

/** Pauses in milliseconds before the second and third attempt to send an alarm. */
const RETRIES_MS = [1_000, 5_000]

/** Time in milliseconds after which a receiver that does not respond has not accepted the alarm. */
const LIMIT_MS = 10_000

/** Sends an alarm as JSON. Resolves to false if the receiver did not accept it. */
export async function sendAlarm(url: string, alarm: Alarm, signal: AbortSignal): Promise<boolean> {
  for (const wait of [0, ...RETRIES_MS]) {
    if (wait > 0) await pause(wait, undefined, { signal })
    const headers = { 'content-type': 'application/json' }
    const post = { method: 'POST', headers, body: JSON.stringify(alarm) }
    const response = await withLimit(signal, LIMIT_MS, (limited) =>
      fetch(url, { ...post, signal: limited }),
    ).catch(() => undefined)
    signal.throwIfAborted()
    await response?.body?.cancel()
    if (response?.ok) return true
  }
  return false
}

const COUNTERS = {
  entries: ['result', 'Entries read, by result: equal, differs, unresolved or unreadable'],
  attestations: ['state', 'Attestations by the attester on chains, by state: logged or unlogged'],
  alarms: ['kind', 'Alarms by kind'],
  failures: ['part', 'Reads that failed, by part: log, witness, chain or webhook'],
} as const
const GAUGES = {
  size: 'Number of entries of the last verified checkpoint',
  last_success_seconds: 'Unix time of the last complete read',
} as const

/** Counts of a monitor in the text format of Prometheus. */
export class Metrics {
  private readonly counts = new Map<string, number>()
  private readonly values = new Map<keyof typeof GAUGES, number>()

  count(name: keyof typeof COUNTERS, label: string): void {
    const key = `geo_log_monitor_${name}_total{${COUNTERS[name][0]}="${label}"}`
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
  }

  set(name: keyof typeof GAUGES, value: number): void {
    this.values.set(name, value)
  }

  text(): string {
    const counters = Object.entries(COUNTERS).flatMap(([name, [, help]]) => [
      `# HELP geo_log_monitor_${name}_total ${help}`,
      `# TYPE geo_log_monitor_${name}_total counter`,
      ...[...this.counts]
        .filter(([key]) => key.startsWith(`geo_log_monitor_${name}_total{`))
        .map(([key, count]) => `${key} ${count}`),
    ])
    const gauges = [...this.values].flatMap(([name, value]) => [
      `# HELP geo_log_monitor_${name} ${GAUGES[name]}`,
      `# TYPE geo_log_monitor_${name} gauge`,
      `geo_log_monitor_${name} ${value}`,
    ])
    return `${[...counters, ...gauges].join('\n')}\n`
  }
}

/**
 * Publishes metrics at a port of this machine, or in a file. Returns a function that writes the file again,
 * and one that ends the publication.
 */
export async function publish(
  metrics: Metrics,
  where: string | undefined,
  at: (name: string) => string,
): Promise<{ update: () => Promise<void>; end: () => void }> {
  if (where === undefined) return { update: () => Promise.resolve(), end: () => {} }
  if (!/^\d+$/.test(where)) return { update: () => replaceFile(at(where), metrics.text()), end: () => {} }
  const server: Server = createServer((request, response) => {
    const isMetrics = request.url === '/metrics'
    response.writeHead(isMetrics ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4' })
    response.end(isMetrics ? metrics.text() : '')
  })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(Number(where), '127.0.0.1', resolve),
  )
  const end = () => {
    server.close()
    server.closeAllConnections()
  }
  return { update: () => Promise.resolve(), end }
}

/** Replaces a file as a whole. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}
