import { spawnSync } from 'node:child_process'
import type { IncomingHttpHeaders } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { attest, locationRequest } from '../dev/chain'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { serve } from './http-server'
import { startApiProcess, startTestWorld } from './world'

/** Tests the traces of a running service, as an OpenTelemetry collector receives them. */

interface Attribute {
  key: string
  value: { stringValue?: string }
}
interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  service: string
  attributes: Record<string, string | undefined>
}

interface Export {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: { spans: (Omit<Span, 'attributes' | 'service'> & { attributes: Attribute[] })[] }[]
  }[]
}
const textsOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))
const spansOf = ({ resourceSpans }: Export): Span[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap((scope) => scope.spans)
      .map((span) => ({
        ...span,
        attributes: textsOf(span.attributes),
        service: textsOf(resource.attributes)['service.name']!,
      })),
  )

test('the API traces requests with statements and calls, without secrets, and sends the last spans at a stop', async () => {
  const spans: Span[] = []
  const collector = await serve((request, response) => {
    void (async () => {
      spans.push(...spansOf((await json(request)) as Export))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })()
  })
  const world = await startTestWorld()
  const { chain, caughtUp } = world
  const headers: IncomingHttpHeaders[] = []
  const node = await serve((request, response) => {
    headers.push(request.headers)
    void (async () => {
      const answer = await fetch(chain.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: await text(request),
      })
      response.writeHead(200, { 'content-type': 'application/json' }).end(await answer.text())
    })()
  })
  const from = await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  await caughtUp()
  const port = await freePort()
  const api = await startApiProcess(world, {
    ...{ PORT: String(port), CHAINS: 'base-sepolia', RPC_URL_BASE_SEPOLIA: `${node}/key` },
    ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_SERVICE_NAME: 'another' },
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  })
  const before = headers.length
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, baggage: 'a=b' }
  const url = `http://127.0.0.1:${port}`
  const asked = await fetch(`${url}/compute/v0/distance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...trace },
    body: JSON.stringify({ chainId: chain.chain.id, from, to: { type: 'Point', coordinates: [2, 2] } }),
  })
  expect(asked.status).toBe(200)
  expect(headers.length).toBeGreaterThan(before)
  for (const name of ['traceparent', 'tracestate', 'baggage'])
    expect(headers.filter((each) => name in each)).toEqual([])
  for (const path of [`/api/v0/location-records/${from}`, '/health', '/ready', '/metrics'])
    expect([path, (await fetch(url + path)).status]).toEqual([path, 200])

  expect(spans).toEqual([])
  await api.stop()
  const spanThat = (passes: (span: Span) => boolean) => vi.waitUntil(() => spans.find(passes))
  const request = await spanThat(({ name }) => name === 'POST /compute/v0/distance')
  expect(request.service).toBe('another')
  expect(request.traceId).not.toBe('a'.repeat(32))
  const within = (passes: (span: Span) => boolean) =>
    spanThat((span) => span.traceId === request.traceId && span !== request && passes(span))
  const statement = await within(({ name }) => name.startsWith('pg.query:SELECT'))
  expect(Object.values(statement.attributes).join()).toContain('FROM chain_status WHERE chain = $1')
  const call = await within(({ attributes }) => attributes['rpc.method'] === 'eth_call')
  expect([call.name, call.attributes['url.full'], call.attributes['url.path']]).toEqual([
    'eth_call',
    node,
    '/',
  ])
  await spanThat(({ name }) => name === 'GET /api/v0/location-records/:uid')
  expect(spans.filter(({ name }) => /health|ready|metrics/.test(name))).toEqual([])
})

test('spans without OTEL_SERVICE_NAME name the service', () => {
  const program = `require('./dist/src/tracing.js')
    const { trace } = require('@opentelemetry/api')
    console.log(trace.getTracer('').startSpan('').resource.attributes['service.name'])`
  const env = { ...process.env, ...blankSettings(), OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  const { stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', env })
  expect(stdout.trim()).toBe('geospatial-api')
})
