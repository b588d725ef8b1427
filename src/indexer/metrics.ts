import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { PrometheusServer } from '@subsquid/util-internal-processor-tools'
import type { Logger } from '@subsquid/logger'
import type { Registry } from 'prom-client'
import { SettingsError } from '../config'
import { retry } from '../retry'
import { registerRpcCalls, type Rpc } from '../rpc'

type RunnerMetrics = Parameters<PrometheusServer['addRunnerMetrics']>[0]

/** Milliseconds between attempts to open the port. */
const RETRY_MS = 1_000

/** Metrics of evm-processor's runner, under its own names. */
const RUNNER_FIGURES: readonly [name: string, help: string, of: (metrics: RunnerMetrics) => number][] = [
  ['chain_height', 'Chain height of the data source', (metrics) => metrics.getChainHeight()],
  ['last_block', 'Last processed block', (metrics) => metrics.getLastProcessedBlock()],
  ['mapping_blocks_per_second', 'Mapping performance', (metrics) => metrics.getMappingSpeed()],
  [
    'sync_eta_seconds',
    'Estimated time until all required blocks will be processed or until the chain height will be reached',
    (metrics) => metrics.getSyncEtaSeconds(),
  ],
  ['sync_ratio', 'Percentage of processed blocks', (metrics) => metrics.getSyncRatio()],
]

/**
 * Serves the metrics of runner, process and endpoints for Prometheus (GET /metrics), if there is an address.
 * evm-processor's own server opens a random port on all interfaces.
 */
export class IndexerMetrics extends PrometheusServer {
  private runner: RunnerMetrics | undefined
  private server: Server | undefined

  constructor(private readonly address: { host: string; port: number } | undefined) {
    super()
  }

  override addRunnerMetrics(metrics: RunnerMetrics): void {
    this.runner = metrics
  }

  /** `open()` opens the port, so the runner has nothing to open. */
  override serve(): ReturnType<PrometheusServer['serve']> {
    const port = this.address?.port ?? 'none, because INDEXER_METRICS_PORT is not set'
    // The declared type of the port is a number, but the runner only logs it.
    return Promise.resolve({ port: port as number, close: () => Promise.resolve() })
  }

  /**
   * Opens the port. While another process uses it, such as a predecessor, tries again. Throws a SettingsError
   * if it cannot be opened at all.
   */
  async open(rpc: Rpc, log: Logger, signal: AbortSignal): Promise<void> {
    const { address } = this
    if (!address) return
    const registry = await this.registryOf(rpc)
    this.server = await retry(() => listen(registry, address), {
      ...{ attempts: Infinity, pauseMs: () => RETRY_MS, signal },
      onFailure: ({ code, message: reason }: NodeJS.ErrnoException, attempt) => {
        if (code !== 'EADDRINUSE')
          throw new SettingsError(
            `INDEXER_METRICS_PORT: could not listen at ${address.host}:${address.port} (${code}). Set another ` +
              'address or port.',
          )
        if (attempt === 1)
          log.warn({ address, reason }, 'INDEXER_METRICS_PORT: could not serve metrics, trying again')
      },
    })
    this.server.on('error', ({ message: reason }) => log.warn({ address, reason }, 'could not serve metrics'))
  }

  close(): void {
    this.server?.close().closeAllConnections()
  }

  private async registryOf(rpc: Rpc): Promise<Registry> {
    const prometheus = await import('prom-client')
    const registry = new prometheus.Registry()
    prometheus.collectDefaultMetrics({ register: registry })
    registerRpcCalls(prometheus, registry, () => [rpc])
    const figure = (of: (metrics: RunnerMetrics) => number) => (this.runner ? of(this.runner) : 0)
    for (const [name, help, of] of RUNNER_FIGURES)
      new prometheus.Gauge({
        ...{ name: `sqd_processor_${name}`, help, registers: [registry] },
        collect() {
          this.set(figure(of))
        },
      })
    return registry
  }
}

async function listen(registry: Registry, { host, port }: { host: string; port: number }): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}
