import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { SettingsError, processEnvironment } from './config'

/**
 * Traces the API by OpenTelemetry if OTEL_EXPORTER_OTLP_ENDPOINT names a collector: HTTP requests with their
 * database statements and RPC calls. Programs import this file first, because packages are instrumented when
 * they are loaded. Without the setting, nothing else is loaded.
 */

const NOT_INSTALLED =
  'OTEL_EXPORTER_OTLP_ENDPOINT: the optional packages of OpenTelemetry are not installed. Install with `npm ci` (in Docker: --build-arg OMIT=--omit=dev), or leave the setting out.'
/** Maximum milliseconds by which an unresponsive collector delays the end of the process. */
const STOP_MS = 1_000
/** Paths that monitors request constantly and that are not traced. */
const UNTRACED = /^\/(health|ready|metrics)(\?|$)/

let stop: (() => Promise<void>) | undefined

/** Sends the remaining spans, within one second. Never throws. */
export async function stopTracing(): Promise<void> {
  if (stop) await Promise.race([stop().catch(() => {}), pause(STOP_MS)])
}

function start(): void {
  /* oxlint-disable typescript/no-require-imports -- import() would be too late */
  const sdk = require('@opentelemetry/sdk-trace-node') as typeof import('@opentelemetry/sdk-trace-node')
  const otlp =
    require('@opentelemetry/exporter-trace-otlp-http') as typeof import('@opentelemetry/exporter-trace-otlp-http')
  const resources = require('@opentelemetry/resources') as typeof import('@opentelemetry/resources')
  const { registerInstrumentations } =
    require('@opentelemetry/instrumentation') as typeof import('@opentelemetry/instrumentation')
  const { HttpInstrumentation } =
    require('@opentelemetry/instrumentation-http') as typeof import('@opentelemetry/instrumentation-http')
  const { PgInstrumentation } =
    require('@opentelemetry/instrumentation-pg') as typeof import('@opentelemetry/instrumentation-pg')
  const { UndiciInstrumentation } =
    require('@opentelemetry/instrumentation-undici') as typeof import('@opentelemetry/instrumentation-undici')
  /* oxlint-enable typescript/no-require-imports */
  const provider = new sdk.NodeTracerProvider({
    resource: resources
      .resourceFromAttributes({ 'service.name': 'geospatial-api' })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(new otlp.OTLPTraceExporter())],
  })
  // No propagator, so that trace headers are not sent to RPC endpoints, gateways and hosts that clients name.
  provider.register({ propagator: null })
  stop = () => provider.shutdown()
  registerInstrumentations({
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: ({ url }) => UNTRACED.test(url ?? ''),
        applyCustomAttributesOnSpan: (span, request, { statusCode }) => {
          const { method, url } = request as IncomingMessage
          // Unknown paths are left out, because they would produce an unbounded number of names.
          if (url !== undefined && statusCode !== 404) span.updateName(`${method} ${templateOf(url)}`)
        },
      }),
      new PgInstrumentation({ requireParentSpan: true }),
      new UndiciInstrumentation({
        requireParentforSpans: true,
        requestHook: (span, { origin, body }: { origin: string; body: unknown }) => {
          // Paths and queries are removed, because RPC providers put keys into them.
          span.setAttributes({ 'url.full': origin, 'url.path': '/', 'url.query': '' })
          const [, method] = /"method":"(\w+)"/.exec(Buffer.isBuffer(body) ? body.toString() : '') ?? []
          if (method !== undefined) span.updateName(method).setAttribute('rpc.method', method)
        },
      }),
    ],
  })
}

/** Replaces the parts of a path that differ from request to request by placeholders. */
function templateOf(url: string): string {
  return url
    .split('?')[0]!
    .replace(/0x[0-9a-f]{64}/gi, ':uid')
    .replace(/\/\d+(?=[/.]|$)/g, '/:n')
}

const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = processEnvironment()
if (base || traces)
  try {
    start()
  } catch (error) {
    if (!(error as { code?: string }).code?.endsWith('MODULE_NOT_FOUND')) throw error
    console.error(new SettingsError(NOT_INSTALLED).message)
    process.exit(2)
  }
