import type { IncomingHttpHeaders } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { LOCAL_SIGNER_KEY, attest, locationRequest } from '../dev/chain'
import { freePort, startService } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { temporaryFolder } from './database'
import { serve } from './http-server'
import { startTestWorld, type TestWorld } from './world'

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

const spans: Span[] = []
let collector: string
let world: TestWorld
const textsOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))
beforeAll(async () => {
  collector = await serve((request, response) => {
    void (async () => {
      const { resourceSpans } = (await json(request)) as {
        resourceSpans: {
          resource: { attributes: Attribute[] }
          scopeSpans: { spans: (Omit<Span, 'attributes' | 'service'> & { attributes: Attribute[] })[] }[]
        }[]
      }
      for (const { resource, scopeSpans } of resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            attributes: textsOf(span.attributes),
            service: textsOf(resource.attributes)['service.name']!,
          })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })()
  })
  world = await startTestWorld(
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_BSP_SCHEDULE_DELAY: '50' },
    { processes: true },
  )
})

/** Waits for the first span that passes the test, and returns it. */
async function spanThat(passes: (span: Span) => boolean): Promise<Span> {
  for (;;) {
    const found = spans.find(passes)
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('the service traces a request with its statements and calls, without path and query', async () => {
  const { chain } = world
  const from = await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  await world.caughtUp()
  const to = { type: 'Point', coordinates: [2, 2] }
  const asked = await world.post('/compute/v0/distance', { chainId: chain.chain.id, from, to })
  expect(asked.status).toBe(200)
  const request = await spanThat(({ name }) => name === 'POST /compute/v0/distance')
  expect(request.service).toBe('geospatial-api')
  const within = (passes: (span: Span) => boolean) =>
    spanThat((span) => span.traceId === request.traceId && span !== request && passes(span))
  const statement = await within(({ name }) => name.startsWith('pg.query:SELECT'))
  expect(Object.values(statement.attributes).join()).toContain('FROM chain_status WHERE chain = $1')
  const call = await within(({ attributes }) => attributes['rpc.method'] === 'eth_call')
  expect([call.name, call.attributes['url.full'], call.attributes['url.path']]).toEqual([
    ...['eth_call', new URL(chain.url).origin, '/'],
  ])

  expect((await world.get(`/api/v0/location-records/${from}`)).status).toBe(200)
  await spanThat(({ name }) => name === 'GET /api/v0/location-records/:uid')
  expect(spans.filter(({ name }) => /health|ready|metrics/.test(name))).toEqual([])
})

test('the service sends no trace headers to an RPC endpoint, and the last spans at a stop', async () => {
  const headers: IncomingHttpHeaders[] = []
  const node = await serve((request, response) => {
    headers.push(request.headers)
    void (async () => {
      const answer = await fetch(world.chain.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: await text(request),
      })
      response.writeHead(200, { 'content-type': 'application/json' }).end(await answer.text())
    })()
  })
  const [folder, port] = [temporaryFolder(), await freePort()]
  const settings = {
    ...blankSettings(),
    DATABASE_URL: world.databaseUrl,
    CHAINS: 'base-sepolia',
    RPC_URL_BASE_SEPOLIA: `${node}/key`,
    SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
    PORT: String(port),
    API_PROCESSES: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_SERVICE_NAME: 'another',
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
  }
  const service = startService('another', ['dist/api/main.js'], { ...process.env, ...settings }, folder)
  await service.ready
  const before = headers.length
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, baggage: 'a=b' }
  const [from, to] = [1, 2].map((lng) => ({ type: 'Point', coordinates: [lng, 2] }))
  const { status } = await fetch(`http://127.0.0.1:${port}/compute/v0/distance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...trace },
    body: JSON.stringify({ chainId: 84532, from, to }),
  })
  expect(status).toBe(200)
  expect(headers.length).toBeGreaterThan(before)
  for (const name of ['traceparent', 'tracestate', 'baggage'])
    expect(headers.filter((each) => name in each)).toEqual([])
  await service.stop()
  const request = await spanThat(
    ({ service, name }) => service === 'another' && name.startsWith('POST /compute'),
  )
  expect(request.traceId).not.toBe('a'.repeat(32))
})
