// SPDX-License-Identifier: MIT
import { createServer, type Server } from 'node:http'
import { UsageError } from '../exit'
import { replaceFile } from '../files'

/** Metrics of a monitor, and their publication. */

const MOST_PORT = 65_535

const COUNTERS = {
  entries: ['result', 'Entries read, by result: equal, differs, unresolved or unreadable'],
  attestations: ['state', 'Attestations by the attester on chains, by state: logged, unlogged or unknown'],
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

/** Publishes metrics at a local port or in a file. `update` writes the file again. */
export async function publish(
  metrics: Metrics,
  where: string | undefined,
  at: (name: string) => string,
): Promise<{ update: () => Promise<void>; end: () => void }> {
  if (where === undefined) return { update: () => Promise.resolve(), end: () => {} }
  if (!/^\d+$/.test(where)) return { update: () => replaceFile(at(where), metrics.text()), end: () => {} }
  const port = Number(where)
  if (port > MOST_PORT) throw new UsageError(`--metrics: expected a port of at most ${MOST_PORT}, or a file.`)
  const server: Server = createServer((request, response) => {
    const isMetrics = request.url === '/metrics'
    response.writeHead(isMetrics ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4' })
    response.end(isMetrics ? metrics.text() : '')
  })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', resolve),
  ).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--metrics: could not listen on port ${port} of 127.0.0.1 (${error.code}).`)
  })
  const end = () => {
    server.close()
    server.closeAllConnections()
  }
  return { update: () => Promise.resolve(), end }
}
