import { createServer, type Server } from 'node:http'
import type { EvmBatchProcessor } from '@subsquid/evm-processor'
import type { Registry } from 'prom-client'
import { SettingsError } from '../config'
import { registerRpcCalls, type Rpc } from '../rpc'

/**
 * Serves the processor's own metrics for Prometheus (GET /metrics), and those of the endpoints, at this
 * address, or nowhere without one. Returns what stops it.
 * By default evm-processor 1.27.3 opens a random port on all interfaces. Throws a SettingsError when the port
 * is in use.
 */
export async function serveProcessorMetrics(
  processor: EvmBatchProcessor,
  rpc: Rpc,
  address: { host: string; port: number } | undefined,
): Promise<() => void> {
  const prometheus = (processor as unknown as ProcessorParts).getPrometheusServer()
  const server = address && (await listen([prometheus.registry, await registryOf(rpc)], address))
  const port = address?.port ?? 'none, as INDEXER_METRICS_PORT is not set'
  prometheus.serve = () => Promise.resolve({ port, close: () => Promise.resolve() })
  return () => void server?.close().closeAllConnections()
}

/** Of our own: evm-processor's is of another version of prom-client. */
async function registryOf(rpc: Rpc): Promise<Registry> {
  const prometheus = await import('prom-client')
  const registry = new prometheus.Registry()
  registerRpcCalls(prometheus, registry, () => [rpc])
  return registry
}

async function listen(
  registries: readonly [MetricsText, MetricsText],
  { host, port }: { host: string; port: number },
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    Promise.all(registries.map((registry) => registry.metrics())).then(
      (texts) => response.writeHead(200, { 'content-type': registries[0].contentType }).end(texts.join('\n')),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      reject(
        new SettingsError(
          `INDEXER_METRICS_PORT: nothing can listen at ${host}:${port} (${error.code}); see .env.example for the port of each chain`,
        ),
      )
    server.once('error', refuse).listen(port, host, resolve)
  })
  return server
}

interface MetricsText {
  contentType: string
  metrics(): Promise<string>
}

/** Private parts of evm-processor 1.27.3. */
interface ProcessorParts {
  getPrometheusServer(): {
    registry: MetricsText
    serve: () => Promise<{ port: number | string; close(): Promise<void> }>
  }
}
