import type { Counter, Registry } from 'prom-client'
import type { Rpc } from './rpc'

/**
 * Counts JSON-RPC calls for Prometheus by the endpoint's host, because paths and queries contain keys. A
 * retried call counts again, as providers bill it. One that was re-sent because its connection had been
 * closed counts once.
 * @param prometheus prom-client, which most indexers never load
 */
export function registerRpcCalls(
  prometheus: { Counter: typeof Counter },
  registry: Registry,
  rpcs: () => Iterable<Rpc>,
): void {
  new prometheus.Counter({
    name: 'geospatial_rpc_calls_total',
    help: 'JSON-RPC calls by endpoint, method and outcome: answered, refused (an error of a healthy endpoint), failed',
    labelNames: ['chain', 'endpoint', 'method', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const rpc of rpcs())
        for (const { counts, ...labels } of rpc.counts())
          for (const [outcome, count] of Object.entries(counts))
            if (count > 0) this.inc({ ...labels, outcome }, count)
    },
  })
}
