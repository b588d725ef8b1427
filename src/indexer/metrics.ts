import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EvmBatchProcessor } from '@subsquid/evm-processor'
import { SettingsError } from '../config'

/**
 * Serves the processor's own metrics for Prometheus (GET /metrics) at this address, or nowhere without one.
 * By default evm-processor 1.27.3 opens a random port on all interfaces. Throws a SettingsError when the port
 * is in use.
 */
export async function serveProcessorMetrics(
  processor: EvmBatchProcessor,
  address: { host: string; port: number } | undefined,
): Promise<void> {
  const prometheus = (processor as unknown as ProcessorParts).getPrometheusServer()
  const port = address
    ? await listen(prometheus.registry, address)
    : 'none, as INDEXER_METRICS_PORT is not set'
  prometheus.serve = () => Promise.resolve({ port, close: () => Promise.resolve() })
}

async function listen(registry: Registry, { host, port }: { host: string; port: number }): Promise<number> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
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
  return (server.address() as AddressInfo).port
}

interface Registry {
  contentType: string
  metrics(): Promise<string>
}

/** Private parts of evm-processor 1.27.3. */
interface ProcessorParts {
  getPrometheusServer(): {
    registry: Registry
    serve: () => Promise<{ port: number | string; close(): Promise<void> }>
  }
}
