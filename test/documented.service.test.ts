import { beforeAll, expect } from 'vitest'
import { openApiChecker } from './openapi'
import { answerChecker, resolve } from './openapi30'
import { hunt } from './seed'
import { startTestWorld, type TestWorld } from './world'

/**
 * Sends requests that are derived from the service's own OpenAPI document: its examples and the schemas of
 * its parameters, with changes. Whatever the request, the response has a documented status and form, and is
 * never a failure of the service.
 */

type Json = any
interface Exchange {
  method: string
  path: string
  request: Json
  status: number
  type: string
  response: Json
}
interface Operation {
  path: string
  method: string
  parameters: Json[]
  /** Examples of the body. */
  examples: Json[]
  /** Returns or throws what the document does not describe. */
  problem: (exchange: Exchange) => string | void
}

let world: TestWorld
let operations: Operation[]
/** Values that exist in the world, and texts of every notation that a parameter accepts. */
let known: string[]
beforeAll(async () => {
  world = await startTestWorld({ ADMIN_KEY }, { samples: true })
  operations = [
    ...operationsOf(await document('/openapi.json')),
    ...ogcOperationsOf(await document('/ogc/api')),
  ]
  const { body } = await world.get('/api/v0/location-records?limit=50')
  const values = body.data.flatMap((record: Json) => Object.values(record)).filter(isText)
  known = [...values, ...TEXTS]
})

const document = async (path: string) => (await (await fetch(world.url + path)).json()) as Json

function operationsOf(openapi: Json): Operation[] {
  const checker = openApiChecker(openapi)
  const operationOf = (path: string, method: string, { parameters = [], requestBody }: Json): Operation => {
    const media = requestBody?.content['application/json'].examples ?? {}
    const examples = Object.values<Json>(media).map(({ value }) => value)
    return {
      ...{ path, method: method.toUpperCase(), parameters, examples },
      // GraphQL over HTTP and JSON-RPC allow further members, and verify() explains malformed requests.
      problem: (exchange) =>
        checker.check(
          /^\/compute\/(?!v0\/verify)/.test(path) ? exchange : { ...exchange, request: examples[0] },
        ),
    }
  }
  return (
    Object.entries<Record<string, Json>>(openapi.paths)
      .flatMap(([path, item]) => Object.entries(item).map((each) => [path, ...each] as const))
      // A stream has no end.
      .filter(([, , { operationId }]) => operationId !== 'streamLocationRecords')
      .map((each) => operationOf(...each))
  )
}

function ogcOperationsOf(openapi: Json): Operation[] {
  const problem = answerChecker(openapi)
  return Object.entries<Json>(openapi.paths).map(([path, { get }]) => ({
    ...{ path: `/ogc${path}`, method: 'GET', examples: [] },
    parameters: get.parameters.map((each: Json) => resolve(openapi, each)),
    problem: ({ status, type, response }) => problem(path, status, type, response),
  }))
}

const isText = (value: unknown) => typeof value === 'string'
const ADMIN_KEY = 'an-admin-key-of-32-characters-or-more'

const TEXTS = [
  ...['', ' ', '0', '-0', '1', '-1', '01', '1.5', '1e3', '1e309', '5e-324', 'NaN', 'Infinity', '0x10', '９'],
  ...['9007199254740993', '-9223372036854775809', '9'.repeat(400), 'true', 'TRUE', 'null', 'undefined'],
  ...['celo', 'base-sepolia', 'CELO', '84532', '42220', '0x', `0x${'0'.repeat(40)}`, `0x${'f'.repeat(64)}`],
  ...['2026', '2026-02-30', '2026-W53', '2026-366', '2026-01-01T24:00', '2026-01-01T00:00:60Z', '24:00'],
  ...['2026-01-01/P1D', '2026-01-01/PT0,5H', 'P1M/2026-01-01', '../2026-01-01', '../..', 'P1.5Y', 'today'],
  ...['0,0', '0,0,1,1', '180,90', '-180,-90,180,90', '170,-90,-170,90', '1,1,0,0', '0,0,0,0,0,0', '91,181'],
  ...[
    'a,b',
    ',',
    ',,',
    '0,',
    '1;2',
    '1 2',
    '[',
    '{',
    '{}',
    '[]',
    '[[]]',
    '"',
    '{"a":',
    '{"a":{"b":[1e400]}}',
  ],
  ...['POINT(0 0)', 'POINT EMPTY', 'POINT Z (1 2 3)', 'POLYGON((0 0,1 1,1 0,0 1,0 0))', 'LINESTRING(0 0)'],
  ...['{"type":"Point","coordinates":[0,0]}', '{"type":"Polygon","coordinates":[[]]}', 'CIRCULARSTRING(0 0)'],
  ...['geohash:5', 'geohash:0', 'h3:15', 'h3:16', 'day', 'chain,day', 'day,day', '-timestamp', 'timestamp'],
  ...["memo = 'x'", "CASEI(memo) LIKE 'é%'", 'S_INTERSECTS(geometry, POINT(0 0))', "x'--", '%', '_', '\\'],
  ...[
    'json',
    'csv',
    'geojson',
    'flatgeobuf',
    'geoparquet',
    'html',
    'pbf',
    'latest',
    'constructor',
    '__proto__',
  ],
  ...[
    '\0',
    '\ud800',
    '\u202e',
    'é',
    'e\u0301',
    '😀',
    '\r\nx: y',
    '<script>',
    '../../etc/passwd',
    '%00',
    '%E0%A4',
  ],
  ...[
    'http://127.0.0.1:1/',
    'https://maps.example/hook',
    'http://[::1]/',
    'file:///etc/passwd',
    'x'.repeat(9_000),
  ],
]
const VALUES: Json[] = [
  ...[null, true, false, 0, -0, 1, -1, 1.5, 1e308, 5e-324, 2 ** 53, -(2 ** 63), {}, [], [[]], [null], [0, 0]],
  ...[{ type: 'Point' }, { type: 'Point', coordinates: [0, 0] }, { type: 'Point', coordinates: [0, 91] }],
  ...[
    { type: 'Feature', geometry: null, properties: null },
    { type: 'GeometryCollection', geometries: [] },
  ],
  ...[{ uid: 1 }, { uid: `0x${'f'.repeat(64)}` }, { __proto__: null, constructor: 1 }],
]

/** Accepted media types of responses, and other texts. */
const ACCEPTS = [
  ...['*/*', 'application/json', 'text/html', 'text/csv', 'application/geo+json', 'application/problem+json'],
  ...[
    'text/html;q=0.1,*/*;q=0',
    '*/*;q=0',
    'application/x-ndjson',
    'text/event-stream',
    'image/png',
    'x',
    '',
  ],
  'application/json, text/event-stream',
]
const CONTENT_TYPES = [
  ...[
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'text/plain',
  ],
  ...['application/geo+json', 'multipart/form-data; boundary=x', 'APPLICATION/JSON', 'application/json;', ''],
]

class Changes {
  constructor(private readonly random: () => number) {}

  below(count: number): number {
    return Math.floor(this.random() * count)
  }
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
  happens(probability: number): boolean {
    return this.random() < probability
  }

  /** Text with a few characters deleted, doubled, replaced or swapped, or a known text. */
  text(text: string): string {
    if (this.happens(0.3)) return this.pick(known)
    const units = [...text]
    for (let n = 1 + this.below(2); n > 0; n--) {
      const at = this.below(units.length + 1)
      const change = this.below(4)
      if (change === 0) units.splice(at, 1 + this.below(3))
      else if (change === 1) units.splice(at, 0, this.pick(units.length > 0 ? units : ['x']))
      else if (change === 2) units.splice(at, 1, this.pick([...'09-+.,:/ eE{}[]"\'%&=\0é']))
      else units.splice(at, 0, this.pick(known))
    }
    return units.join('')
  }

  /** JSON value with one change somewhere inside. */
  json(value: Json): Json {
    const isLeaf = typeof value !== 'object' || value === null
    const keys = isLeaf ? [] : Object.keys(value)
    if (keys.length > 0 && this.happens(0.85)) {
      const key = this.pick(keys)
      const copy = Array.isArray(value) ? [...value] : { ...value }
      const change = this.random()
      if (Array.isArray(copy) && change < 0.1) copy.splice(Number(key), 1)
      else if (Array.isArray(copy) && change < 0.2) copy.push(copy[Number(key)])
      else if (change < 0.1) delete copy[key]
      else if (change < 0.2) copy[this.text(key)] = copy[key]
      else copy[key as never] = this.json(copy[key as never])
      return copy
    }
    if (this.happens(0.4)) return this.pick(VALUES)
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number')
      return this.pick([
        -value,
        value + 1,
        value * 1e9,
        value / 3,
        value + 360,
        String(value),
        Math.round(value),
      ])
    return this.happens(0.5) ? this.pick(known) : [value, value]
  }

  /** Value of a parameter, by its schema. */
  parameter(schema: Json): string {
    const choices = [schema, ...(schema.anyOf ?? schema.oneOf ?? [])].flatMap(
      ({ enum: values = [], examples = [], example, default: standard, const: only, pattern }: Json) => [
        ...[...values, ...examples, example, standard, only].filter((each) => each !== undefined),
        ...(pattern ? [pattern] : []),
      ],
    )
    const base = choices.length > 0 && this.happens(0.7) ? this.pick(choices) : this.pick(known)
    const text = typeof base === 'string' ? base : JSON.stringify(base)
    return this.happens(0.4) ? this.text(text) : text
  }
}

interface Asked {
  url: string
  init: { method: string; headers: Record<string, string>; body?: string }
  json?: Json
}

function requestOf({ path, method, parameters, examples }: Operation, changes: Changes): Asked {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => {
    const { schema } = parameters.find((each) => each.in === 'path' && each.name === name)
    return encodeURIComponent(changes.parameter(schema).replace(/[\p{Surrogate}\p{Cc}]/gu, '\ufffd')) || 'x'
  })
  const query = new URLSearchParams()
  for (const { name, schema } of parameters.filter((each) => each.in === 'query'))
    while (changes.happens(Math.min(0.4, 3 / parameters.length)))
      query.append(changes.happens(0.02) ? changes.text(name) : name, changes.parameter(schema))
  const headers: Record<string, string> = {}
  for (const { name, schema } of parameters.filter((each) => each.in === 'header'))
    if (changes.happens(0.3)) headers[name] = changes.parameter(schema).replace(/[^\x20-\x7e]/g, '') || 'x'
  if (changes.happens(0.3)) headers.accept = changes.pick(ACCEPTS)
  if (path.startsWith('/admin/') && changes.happens(0.95)) headers.authorization = `Bearer ${ADMIN_KEY}`
  const asked: Asked = {
    url: `${filled}${query.size ? `?${query.toString()}` : ''}`,
    init: { method, headers },
  }
  if (examples.length === 0) return asked
  let value = changes.pick(examples)
  for (let n = changes.below(4); n > 0; n--) value = changes.json(value)
  let body = JSON.stringify(value) ?? ''
  headers['content-type'] = changes.happens(0.05) ? changes.pick(CONTENT_TYPES) : 'application/json'
  if (changes.happens(0.1)) body = changes.text(body)
  asked.json = parsed(body)
  asked.init.body = body
  return asked
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

hunt(
  'every response to a changed request is documented',
  500,
  async ({ random, cases, report }) => {
    const changes = new Changes(random)
    const counts = new Map<string, number>()
    const faults: string[] = []
    for (let i = 0; i < cases; i++) {
      const operation = changes.pick(operations)
      const { url, init, json } = requestOf(operation, changes)
      const at = `${init.method} ${url.slice(0, 300)} ${JSON.stringify(init.headers)} ${(init.body ?? '').slice(0, 600)}`
      const response = await fetch(world.url + url, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.timeout(60_000),
      })
      const type = response.headers.get('content-type') ?? ''
      const text = await response.text()
      const { status } = response
      counts.set(`${status}`, (counts.get(`${status}`) ?? 0) + 1)
      const isBare = text === '' && (status < 300 || status === 304)
      try {
        const problem = isBare
          ? undefined
          : operation.problem({
              ...{ method: init.method, path: url, request: json, status, type },
              response: /[/+]json\b/.test(type) ? JSON.parse(text) : text,
            })
        expect([status === 500, problem]).toEqual([false, undefined])
      } catch (error) {
        faults.push(
          `${at}\n  -> ${status} ${type} ${text.slice(0, 300)}\n  ${String((error as Error).message).slice(0, 400)}`,
        )
      }
    }
    report([...counts].map(([status, count]) => `${status}: ${count}`).join(', '))
    expect(faults).toEqual([])
  },
  ['slow'],
)
