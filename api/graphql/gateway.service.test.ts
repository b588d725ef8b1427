import Fastify, { type FastifyInstance } from 'fastify'
import { execute, getIntrospectionQuery, parse, type GraphQLSchema } from 'graphql'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../dev/random'
import { createMigratedDatabase, migrate, rows, type TestDatabase } from '../../test/database'
import { insertRecords, uidOf } from '../../test/records'
import { openToAllOrigins } from '../http/cors'
import { HEADER } from '../../test/pages'
import { boundResponses, guardRequests } from '../http/guard'
import { graphqlRoutes } from './gateway'
import { PUBLISHED_EXAMPLES, PublishedGraphql } from './published'
import { buildPublishedSchema } from './schema'
import { RequestCounter } from '../http/limits'
import { UnavailableError } from '../http/problems'
import { recordText } from '../formats/json'
import { Store } from '../store/store'
import type { Bbox } from '../store/model'
import { PublishedViews, type StatementRunner } from './sql'
import { sentence, testSentences } from '../../test/sentences'
import { withPostgres } from '../../test/needs'

/** Raw GraphQL on a large database: results, query plans and rejections. */

type Json = any
const COUNT = 12_000
const EVENTS = 12_000
/** Position of record i: the points cover the globe, its seam and its poles. */
const positionOf = (i: number): [number, number] => [
  ((i * 7919) % 36001) / 100 - 180,
  ((i * 104729) % 18001) / 100 - 90,
]
const log: { fields: Json; text: string }[] = []
const logger = { info: () => {}, warn: (fields: object, text: string) => void log.push({ fields, text }) }
let database: TestDatabase
let store: Store
let face: PublishedGraphql
let app: FastifyInstance

beforeAll(async () => {
  database = await createMigratedDatabase()
  // Points over the whole globe, 300 provers, one record a minute, on four chains; an event for each, and as
  // many events without a record.
  await insertRecords(
    database.url,
    Array.from({ length: COUNT }, (_, n) => {
      const i = n + 1
      return {
        chain: ['base-sepolia', 'sepolia', 'arbitrum', 'celo'][i % 4]!,
        uid: uidOf(i),
        prover: proverOf(i % 300),
        subject: proverOf(i % 300),
        timestamp: Date.UTC(2026, 0, 1) + Math.floor(i / 3) * 60_000,
        locationType: 'geojson-point',
        geometry: { type: 'Point', coordinates: positionOf(i) },
        revoked: i % 10 === 0,
        ...(i % 100 === 0 &&
          i < COUNT - 5_000 && {
            memo: `Water tower ${i}`,
            attributes: { asset: { id: `pump-${i % 700}` } },
          }),
        columns: { block_number: i },
      }
    }),
  )
  await insertEvents(1, EVENTS)
  await rows(database.url, 'ANALYZE location_record, attestation_event')
  store = new Store(database.url, () => {})
  face = new PublishedGraphql(new PublishedViews(database.url, () => {}, false), logger)
  await face.start()
  app = await serve()
})
afterAll(async () => {
  await app?.close()
  await face?.close()
  await store?.close()
})

const insertEvents = (first: number, last: number) =>
  rows(
    database.url,
    `INSERT INTO attestation_event (id, chain, kind, uid, schema_uid, attester, recipient, time, data, problem, withheld, block_number, block_hash, block_timestamp, transaction_hash, log_index)
     SELECT format('%s-%s-000000', chain, lpad(i::text, 12, '0')), chain, CASE WHEN i % 50 = 0 THEN 'REVOKED' ELSE 'ATTESTED' END, '0x' || lpad(to_hex(i), 64, '0'), '0x', rpad('0x' || lpad(to_hex(i % 300), 4, '0'), 42, 'a'), '0x',
       18446744073709551615, '\\xab', NULL, false, i, '0x', timestamptz '2026-01-01' + i / 3 * interval '1 minute', '0x', 0
     FROM (SELECT i, (ARRAY['base-sepolia', 'sepolia', 'arbitrum', 'celo'])[(1 + i % 4)::int] AS chain FROM generate_series(${first}::bigint, ${last}) AS i) AS source`,
  )

async function serve({
  of = face,
  perHour = 0,
  answerMs,
}: { of?: PublishedGraphql; perHour?: number; answerMs?: number } = {}): Promise<FastifyInstance> {
  const server = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
  // Same compiler as in api/server.ts.
  server.setValidatorCompiler(() => () => true)
  server.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  // Bodies that are large enough for a worker are rejected before that.
  guardRequests(server, 28_000, undefined)
  boundResponses(server)
  await openToAllOrigins(server)
  await server.register(
    (scope) =>
      graphqlRoutes(scope, {
        backend: of,
        examples: PUBLISHED_EXAMPLES,
        counter: new RequestCounter(() => 0),
        rateLimitPerHour: perHour,
        ...(answerMs && { answerMs }),
      }),
    { prefix: '/graphql' },
  )
  return server
}

interface Answer {
  status: number
  data: Json
  /** Messages of all errors. */
  errors: string[]
  headers: Json
}

/** Sends a request, and checks that its response has GraphQL's form and shows no internals. */
async function post(
  payload: unknown,
  {
    to = app,
    headers = {},
    from = '10.0.0.1',
  }: { to?: FastifyInstance; headers?: object; from?: string } = {},
): Promise<Answer> {
  const answer = await to.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'content-type': 'application/json', ...headers },
    payload: payload as object,
    remoteAddress: from,
  })
  const body: Json = answer.json()
  for (const error of body.errors ?? []) {
    expect(Object.keys(error).filter((key) => !['message', 'locations', 'path'].includes(key))).toEqual([])
    expect(error.message).not.toMatch(
      /select |published|__local|node_modules|relation "|column|syntax error at or near|\bat \S+:\d/i,
    )
  }
  expect(Object.keys(body).filter((key) => !['data', 'errors'].includes(key))).toEqual([])
  return {
    status: answer.statusCode,
    data: body.data,
    errors: (body.errors ?? []).map(({ message }: { message: string }) => message),
    headers: answer.headers,
  }
}
const ask = (query: string, variables?: object, options?: Parameters<typeof post>[1]) =>
  post({ query, ...(variables && { variables }) }, options)
/** Data of a query that has no errors. */
const data = async (query: string, variables?: object): Promise<Json> => {
  const answer = await ask(query, variables)
  expect(answer).toMatchObject({ status: 200, errors: [] })
  return answer.data
}
const proverOf = (i: number) => `0x${i.toString(16).padStart(4, '0')}`.padEnd(42, 'a')

describe('results of GraphQL', () => {
  test('have the same fields and geometry as records of the Records API', async () => {
    const { locationRecords } = await data(`{ locationRecords(first: 20) { nodes {
      uid chain prover subject timestamp eventTimestamp srs locationType location longitude latitude recipeTypes recipePayloads mediaTypes mediaData memo revoked createdAt updatedAt problem geometry } } }`)
    const expected = (await store.page({ limit: 20, offset: 0 })).rows
    const snake = (record: Json) =>
      Object.fromEntries(
        Object.entries(record).map(([name, value]) => [
          name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        ]),
      )
    for (const [i, { geometry, ...record }] of locationRecords.nodes.entries()) {
      const wanted = JSON.parse(recordText(expected[i]!))
      expect(snake(record)).toEqual(wanted)
      expect(geometry).toEqual(JSON.parse(wanted.location))
    }
    expect(locationRecords.nodes).toHaveLength(20)
  })

  test('are found by a location type in any letter case, and by times in all forms', async () => {
    const count = async (filter: string): Promise<number> =>
      (await data(`{ locationRecords(first: 1, filter: ${filter}) { totalCount } }`)).locationRecords
        .totalCount
    const points = await count('{ locationType: { equalTo: "geojson-point" } }')
    expect(points).toBeGreaterThan(1_000)
    expect(await count('{ locationType: { equalTo: "GEOJSON-Point" } }')).toBe(points)
    expect(await count('{ locationType: { in: ["wkt", "GeoJSON-point"] } }')).toBe(points)
    expect(await count('{ locationType: { in: ["wkt", "h3"] } }')).toBe(0)
    const later = await count('{ timestamp: { greaterThanOrEqualTo: "2026-01-03T00:00:00Z" } }')
    expect(later).toBeGreaterThan(0)
    for (const form of ['2026-01-03', '20260103', '2026-003', '2026-W01-6', '2026-01-03T02:00+02'])
      expect([form, await count(`{ timestamp: { greaterThanOrEqualTo: "${form}" } }`)]).toEqual([form, later])
    const [newest] = (await data('{ locationRecords(first: 1) { nodes { timestamp } } }')).locationRecords
      .nodes as [{ timestamp: string }]
    const operators = ['equalTo', 'lessThan', 'lessThanOrEqualTo', 'greaterThan', 'greaterThanOrEqualTo']
    const counts = (time: string) =>
      Promise.all(operators.map((each) => count(`{ timestamp: { ${each}: "${time}" } }`)))
    const [at, before, upTo, after] = (await counts(newest.timestamp)) as [number, number, number, number]
    expect([at > 0, upTo, after]).toEqual([true, before + at, 0])
    const between = newest.timestamp.replace('Z', '0004Z')
    expect(await counts(between)).toEqual([0, upTo, upTo, after, after])
  })

  test('in a bbox equal those of the Records API, also across the antimeridian and at the poles', async () => {
    const random = seededRandom(20_261_121)
    const corner = (range: number, round: number) => Math.round((random() * 2 - 1) * range * round) / round
    const boxes: Bbox[] = [
      [-180, -90, 180, 90],
      [180, -90, 180, 90],
      [170, -10, -170, 10],
      [0, 89, 10, 90],
      [-180, -90, -179, -89],
      [2.29, 48.85, 2.29, 48.85],
    ]
    for (let i = 0; i < 6; i++) {
      const [a, b] = [corner(90, 100), corner(90, 100)]
      boxes.push([corner(180, 1), Math.min(a, b), corner(180, 1), Math.max(a, b)])
    }
    const positions = Array.from({ length: COUNT }, (_, n) => positionOf(n + 1))
    // -180 and 180 are one meridian, and a pole is at every longitude.
    const isIn =
      ([west, south, east, north]: Bbox) =>
      ([longitude, latitude]: [number, number]) =>
        south <= latitude &&
        latitude <= north &&
        (Math.abs(latitude) === 90 ||
          (Math.abs(longitude) === 180 ? [-180, 180] : [longitude]).some((it) =>
            west <= east ? west <= it && it <= east : west <= it || it <= east,
          ))
    for (const bbox of boxes) {
      const { locationRecords } = await data(
        'query ($bbox: [Float!]) { locationRecords(first: 200, filter: { bbox: $bbox }) { totalCount nodes { uid } } }',
        { bbox },
      )
      const first = (await store.page({ bbox, limit: 200, offset: 0 })).rows
      const uids = locationRecords.nodes.map(({ uid }: Json) => uid)
      expect(locationRecords.totalCount, bbox.join()).toBe(positions.filter(isIn(bbox)).length)
      expect(uids, bbox.join()).toEqual(first.map(({ uid }) => uid))
    }
  })

  test('for words of the memo and for attributes equal those of the Records API', async () => {
    for (const filter of [
      { memo: 'tow WATER', attributes: '{"asset":{"id":"pump-100"}}' },
      { attributes: '{"asset":{}}' },
      { memo: 'tower 2100' },
      { memo: 'no such' },
    ]) {
      const { locationRecords } = await data(
        'query ($words: String, $attributes: String) { locationRecords(first: 200, filter: { memoWords: $words, attributes: $attributes }) { totalCount nodes { uid } } }',
        { words: filter.memo, attributes: filter.attributes },
      )
      const expected = (await store.page({ ...filter, limit: COUNT })).rows
      expect([filter, locationRecords.totalCount]).toEqual([filter, expected.length])
      expect(locationRecords.nodes).toEqual(expected.slice(0, 200).map(({ uid }) => ({ uid })))
    }
  })

  test('are found by addresses, UIDs and chains in any letter case, by lists and by ranges', async () => {
    const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
    const { a, b, c, d, e, f } = await data(`{
      a: locationRecords(filter: { prover: { equalTo: "${upper(proverOf(7))}" } }) { totalCount }
      b: locationRecords(filter: { uid: { in: ["${upper(uidOf(255))}", "${uidOf(3)}"] }, chain: { in: ["Celo", "CELO-MAINNET"] } }) { nodes { uid } }
      c: locationRecords(filter: { timestamp: { greaterThanOrEqualTo: "2026-01-02", lessThan: "2026-01-02T00:02:00+00:00" } }) { nodes { timestamp } }
      d: attestationEvents(filter: { uid: { equalTo: "${upper(uidOf(254))}" } }) { nodes { uid kind locationRecord { uid } time data } }
      e: attestationEvents(filter: { attester: { equalTo: "${upper(proverOf(11))}" }, kind: { equalTo: "revoked" } }) { totalCount }
      f: locationRecords(filter: { revoked: { equalTo: true }, chain: { equalTo: "celo" } }) { totalCount }
    }`)
    expect(a.totalCount).toBe(COUNT / 300)
    expect(b.nodes.map(({ uid }: Json) => uid)).toEqual([uidOf(255), uidOf(3)])
    expect(c.nodes.map(({ timestamp }: Json) => timestamp)).toEqual([
      ...['2026-01-02T00:01:00.000Z', '2026-01-02T00:01:00.000Z', '2026-01-02T00:01:00.000Z'],
      ...['2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
    ])
    const uid = uidOf(254)
    const attested = { uid, kind: 'ATTESTED', locationRecord: { uid }, data: '0xab' }
    expect(d.nodes).toEqual([{ ...attested, time: '18446744073709551615' }])
    expect([e.totalCount, f.totalCount]).toEqual([0, 0])
  })

  test('include one record by its chain and UID, or its ID, in any letter case, or null', async () => {
    const found =
      await data(`{ a: locationRecordByChainAndUid(chain: "CELO", uid: "0x${uidOf(255).slice(2).toUpperCase()}") { id events { nodes { id } } } b: locationRecordById(id: "celo-${uidOf(255)}") { id }
      c: locationRecordById(id: "celo-${uidOf(254)}") { id } d: attestationEventById(id: "celo-000000000255-000000") { locationRecord { id } } }`)
    const id = `celo-${uidOf(255)}`
    expect(found).toEqual({
      a: { id, events: { nodes: [{ id: 'celo-000000000255-000000' }] } },
      b: { id },
      c: null,
      d: { locationRecord: { id } },
    })
  })

  test.each(['first', 'last'] as const)(
    'in pages by %s include each record once, in order, even if many have the same time',
    async (way) => {
      const filter = `filter: { prover: { in: [${[1, 2, 3].map((i) => `"${proverOf(i)}"`).join(', ')}] } }`
      const seen: string[] = []
      let cursor: string | null = null
      for (let page = 0; ; page++) {
        const { locationRecords: it }: Json = await data(
          `query ($cursor: Cursor) { locationRecords(${way}: 47, ${way === 'first' ? 'after' : 'before'}: $cursor, ${filter}) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
          { cursor },
        )
        const ids = it.edges.map(({ node }: Json) => node.id)
        if (way === 'first') seen.push(...ids)
        else seen.unshift(...ids)
        const { startCursor, endCursor, hasNextPage, hasPreviousPage } = it.pageInfo
        expect([it.edges[0].cursor, it.edges.at(-1).cursor]).toEqual([startCursor, endCursor])
        expect(way === 'first' ? hasPreviousPage : hasNextPage).toBe(page > 0)
        cursor = way === 'first' ? endCursor : startCursor
        if (!(way === 'first' ? hasNextPage : hasPreviousPage)) break
        expect(ids).toHaveLength(47)
      }
      const { all } = await data(
        `{ all: locationRecords(first: 1000, ${filter}) { totalCount nodes { id } } }`,
      )
      expect(seen).toEqual(all.nodes.map(({ id }: Json) => id))
      expect(seen).toHaveLength(3 * (COUNT / 300))
      expect(all.totalCount).toBe(seen.length)
    },
  )

  test('support offsets, OLDEST_FIRST, empty pages, and pages without some fields', async () => {
    const it =
      await data(`{ a: locationRecords(first: 2, offset: 3) { nodes { uid } pageInfo { hasPreviousPage } } b: locationRecords(first: 2, orderBy: OLDEST_FIRST) { nodes { uid } } c: locationRecords(first: 0) { nodes { uid } pageInfo { hasNextPage } totalCount }
      d: locationRecords(first: 2) { pageInfo { hasNextPage } } e: locationRecords(first: 2) { nodes { __typename } } f: locationRecords { nodes { uid } } g: locationRecords { totalCount } h: locationRecords(last: 1) { nodes { uid } pageInfo { hasPreviousPage hasNextPage } } }`)
    const newest = (await store.page({ limit: 100, offset: 0 })).rows
    expect(it.a).toEqual({
      nodes: newest.slice(3, 5).map(({ uid }) => ({ uid })),
      pageInfo: { hasPreviousPage: true },
    })
    expect(it.b.nodes).toHaveLength(2)
    expect(it.c).toEqual({ nodes: [], pageInfo: { hasNextPage: true }, totalCount: COUNT })
    expect([it.d, it.e]).toEqual([
      { pageInfo: { hasNextPage: true } },
      { nodes: [{ __typename: 'LocationRecord' }, { __typename: 'LocationRecord' }] },
    ])
    expect(it.f.nodes).toEqual(newest.map(({ uid }) => ({ uid })))
    expect(it.g).toEqual({ totalCount: COUNT })
    expect(it.h).toEqual({ nodes: [it.b.nodes[0]], pageInfo: { hasPreviousPage: true, hasNextPage: false } })
  })

  const onPostgres = withPostgres.test
  onPostgres('have a count up to 100,000, otherwise marked as not exact', { tags: ['slow'] }, async () => {
    try {
      await insertEvents(EVENTS + 1, 100_001)
      const { all, some } = await data(
        '{ all: attestationEvents(first: 1) { totalCount again: totalCount totalCountIsExact } some: attestationEvents(filter: { chain: { equalTo: "celo" } }, first: 1) { totalCount totalCountIsExact } }',
      )
      expect(all).toEqual({ totalCount: 100_000, again: 100_000, totalCountIsExact: false })
      expect(some).toEqual({ totalCount: 25_000, totalCountIsExact: true })
    } finally {
      // The plans depend on the statistics of the table.
      await rows(database.url, `DELETE FROM attestation_event WHERE block_number > ${EVENTS}`)
      await rows(database.url, 'ANALYZE attestation_event')
    }
  })
})

withPostgres.describe('the plan of a GraphQL query', () => {
  let views: PublishedViews
  let schema: GraphQLSchema
  beforeAll(async () => {
    views = new PublishedViews(database.url, () => {}, false)
    await views.open()
    schema = await views.describe(buildPublishedSchema)
  })
  afterAll(() => views.close())

  const position = JSON.stringify(['NEWEST_FIRST', ['2026-01-01T01:00:00+00:00', `celo-${uidOf(1)}`]])
  const deep = Buffer.from(position).toString('base64')
  const NEWEST = 'Index Scan Backward using "IDX_1cfc6c9a7979f2cd2fb4088bf7"'
  const records = (filter: string, fields = 'nodes { uid }') =>
    `locationRecords(filter: { ${filter} }) { ${fields} }`
  const events = (filter: string, fields = 'nodes { id }') =>
    `attestationEvents(filter: { ${filter} }) { ${fields} }`
  const equal = (name: string, value: string) => `${name}: { equalTo: "${value}" }`
  const COUNTED = 'totalCount nodes { uid }'
  const HOUR = 'timestamp: { greaterThan: "2026-01-05", lessThan: "2026-01-05T01:00Z" }'
  const [PROVER, EVENTS_OF_UID] = ['"IDX_9a82d7a09825489f17fc2879e5"', '"IDX_469af03f3215e047984e116488"']
  test.each<[name: string, query: string, parts: string | string[]]>([
    ['everything', 'locationRecords { nodes { uid } }', NEWEST],
    [
      'everything, from a cursor far down',
      `locationRecords(after: "${deep}") { nodes { uid } }`,
      [NEWEST, 'Index Cond: (ROW'],
    ],
    ['the oldest records', 'locationRecords(last: 3) { nodes { uid } }', NEWEST.replace(' Backward', '')],
    ['a prover', records(equal('prover', proverOf(7)), COUNTED), [PROVER, PROVER]],
    ['a subject', records(equal('subject', proverOf(7))), '"IDX_acb961b377153a587da6544262"'],
    ['an hour', records(HOUR, COUNTED), '"IDX_1cfc6c9a7979f2cd2fb4088bf7"'],
    ['a UID', records(equal('uid', uidOf(7))), '"IDX_c318315d25e55c8acbc81c3bda"'],
    [
      'a city',
      records('bbox: [13, 52, 14, 53]', 'totalCount nodes { uid geometry }'),
      'location_record_geom',
    ],
    [
      'attributes',
      records('attributes: "{\\"asset\\":{\\"id\\":\\"pump-100\\"}}"'),
      'location_record_attributes',
    ],
    ['words of the memo', records('memoWords: "tower 2100"'), 'location_record_memo_words'],
    [
      'a box across the antimeridian',
      records('bbox: [179.5, -1, -179.5, 1]'),
      ['BitmapOr', 'location_record_geom', 'location_record_geom'],
    ],
    [
      'a record with its events',
      `locationRecordByChainAndUid(chain: "celo", uid: "${uidOf(7)}") { events { totalCount nodes { id } } }`,
      ['"IDX_c318315d25e55c8acbc81c3bda"', EVENTS_OF_UID, EVENTS_OF_UID],
    ],
    ['events', 'attestationEvents { nodes { id } }', 'Scan Backward using "IDX_11612fc8a70aeb663f02bb93ff"'],
    ['events of a UID on any chain', events(equal('uid', uidOf(7))), EVENTS_OF_UID],
    [
      'revocations',
      'attestationEvents(first: 5, filter: { kind: { equalTo: "REVOKED" } }) { totalCount nodes { id } }',
      'attestation_event_revoked',
    ],
    [
      'events of an attester',
      events(equal('attester', proverOf(7)), 'nodes { id locationRecord { uid } }'),
      '"IDX_bf998ceee9cc5a49987aeb7d3f"',
    ],
  ])('uses an index through the view: %s', async (_, query, parts) => {
    let lines = ''
    const { errors } = await views.read(new AbortController().signal, async (pgClient) =>
      execute({
        schema,
        document: parse(`{ ${query} }`),
        contextValue: {
          pgClient: {
            query: async (text: string, values: unknown[]) => {
              const { rows: explained } = await pgClient.query(`EXPLAIN ${text}`, values)
              lines += (explained as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n')
              return pgClient.query(text, values)
            },
          },
        },
      }),
    )
    expect(errors).toBeUndefined()
    // The parts follow each other in the plan.
    let at = 0
    for (const part of [parts].flat()) {
      const next = lines.indexOf(part, at)
      expect(next, `${part} in ${lines}`).toBeGreaterThanOrEqual(0)
      at = next + part.length
    }
    expect(lines).not.toContain('Seq Scan')
  })
})

describe('the check of a GraphQL query before its execution', () => {
  const cyclic = (depth: number): string =>
    depth === 0 ? 'uid' : `uid events { nodes { uid locationRecord { ${cyclic(depth - 1)} } } }`
  const bomb = (levels: number) =>
    `{ ...F0 } ${Array.from({ length: levels }, (_, i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`).join(' ')} fragment F${levels} on Query { __typename }`
  test.each<[string, string]>([
    ['a long text', `{ __typename } # ${'x'.repeat(16_384)}`],
    ['many tokens', `{ ${'a '.repeat(2_100)} }`],
    ['a flood of directives', `{ __typename ${'@skip(if: false) '.repeat(600)} }`],
    ['directives that are repeated', '{ __typename @skip(if: false) @skip(if: false) }'],
    ['nested braces', `${'{ a '.repeat(60)}${'}'.repeat(60)}`],
    [
      'nested lists',
      `{ locationRecords(filter: { bbox: ${'['.repeat(60)}${']'.repeat(60)} }) { totalCount } }`,
    ],
    ['a fragment that spreads itself', '{ ...F } fragment F on Query { __typename ...F }'],
    [
      'fragments that spread each other',
      '{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }',
    ],
    ['fragments that double thirty times', bomb(30)],
    [
      'unused fragments in a circle',
      '{ __typename } fragment F on Query { ...G } fragment G on Query { ...F }',
    ],
    [
      'aliases of one field',
      `{ locationRecords { nodes { ${Array.from({ length: 600 }, (_, i) => `a${i}: uid`).join(' ')} } } }`,
    ],
    [
      'aliases at the root',
      `{ ${Array.from({ length: 11 }, (_, i) => `a${i}: locationRecords(first: 1) { totalCount }`).join(' ')} }`,
    ],
    [
      'aliases at the root, in fragments',
      `{ ...A ...B } fragment A on Query { ${Array.from({ length: 6 }, (_, i) => `a${i}: locationRecords(first: 1) { totalCount }`).join(' ')} } fragment B on Query { ${Array.from({ length: 6 }, (_, i) => `b${i}: locationRecords(first: 1) { totalCount }`).join(' ')} }`,
    ],
    ['records of events of records', `{ locationRecords(first: 1) { nodes { ${cyclic(3)} } } }`],
    [
      'records of events of records, in fragments',
      '{ locationRecords(first: 1) { nodes { ...A } } } fragment A on LocationRecord { events { nodes { locationRecord { ...B } } } } fragment B on LocationRecord { events { nodes { locationRecord { events { nodes { id } } } } } }',
    ],
    [
      'pages within pages',
      '{ locationRecords(first: 1000) { nodes { events(first: 1000) { nodes { id } } } } }',
    ],
    [
      'pages within pages, of the default size',
      '{ locationRecords(first: 1000) { nodes { events { nodes { id } } } } }',
    ],
    [
      'pages within pages, by an offset',
      '{ locationRecords(first: 1000) @skip(if: true) { nodes { events { nodes { id } } } } }',
    ],
    [
      'many full pages',
      `{ ${Array.from({ length: 10 }, (_, i) => `a${i}: locationRecords(first: 1000) { nodes { uid events(first: 1) { nodes { id } } } }`).join(' ')} }`,
    ],
    [
      'counting within pages',
      '{ locationRecords(first: 900) { nodes { events(first: 10) { totalCountIsExact nodes { id } } } } }',
    ],
    ['first below 0', '{ locationRecords(first: -1) { totalCount } }'],
    ['last below 0', '{ locationRecords(last: -5) { totalCount } }'],
    ['a first above 1000', '{ locationRecords(first: 1001) { totalCount } }'],
    ['a first beyond 32 bits', '{ locationRecords(first: 2147483648) { totalCount } }'],
    ['a fractional number of rows', '{ locationRecords(first: 1.5) { totalCount } }'],
    ['a deep offset', '{ locationRecords(offset: 10001) { totalCount } }'],
    ['an offset below 0', '{ locationRecords(offset: -1) { totalCount } }'],
    ['first together with last', '{ locationRecords(first: 1, last: 1) { totalCount } }'],
    ['offset together with last', '{ locationRecords(offset: 1, last: 1) { totalCount } }'],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((alias): [string, string] => [
      `an alias that objects inherit: ${alias}`,
      `{ ${alias}: locationRecords(first: 1) { totalCount } }`,
    ]),
    [
      'an inherited alias below the root, in a fragment',
      '{ locationRecords(first: 1) { ...F } } fragment F on LocationRecordsConnection { nodes { valueOf: uid } }',
    ],
    ['null as an order', '{ locationRecords(orderBy: null) { totalCount } }'],
    ['an order without an index', '{ locationRecords(orderBy: MEMO_ASC) { totalCount } }'],
    ['types of fields of types', '{ __schema { types { fields { type { fields { name } } } } } }'],
    ['interfaces of possible types', '{ __schema { types { possibleTypes { interfaces { name } } } } }'],
    [
      'interfaces of possible types, by fragments',
      '{ __schema { types { ...T } } } fragment T on __Type { fields { type { ...U } } } fragment U on __Type { fields { name } }',
    ],
    ['aliases of the schema', '{ __schema { a: types { name } b: types { name } } }'],
    [
      'the schema many times',
      `{ ${Array.from({ length: 5 }, (_, i) => `a${i}: __schema { queryType { name } }`).join(' ')} }`,
    ],
    [
      'types of types of types',
      `{ __type(name: "Query") { ${'ofType { '.repeat(25)} name ${'} '.repeat(25)} } }`,
    ],
    ['a mutation', 'mutation { createLocationRecord(input: {}) { clientMutationId } }'],
    ['a subscription', 'subscription { locationRecords { totalCount } }'],
    ['a mutation next to a query', 'query A { __typename } mutation B { x }'],
    ['the field query of PostGraphile', '{ query { locationRecords { totalCount } } }'],
    ['global ids of nodes', '{ node(nodeId: "x") { nodeId } }'],
    ['other tables', '{ allChainStatuses { nodes { chain } } }'],
    ['PostGIS tables', '{ spatialRefSys { totalCount } }'],
    ['functions of Postgres', '{ pgSleep(seconds: 10) }'],
    ['geom, which only filters use', '{ locationRecords { nodes { geom } } }'],
    ['patterns as filters', '{ locationRecords(filter: { memo: { like: "%a%" } }) { totalCount } }'],
    ['patterns of a UID', '{ locationRecords(filter: { uid: { similarTo: "(a+)+" } }) { totalCount } }'],
    [
      'a negated filter',
      '{ locationRecords(filter: { not: { revoked: { equalTo: true } } }) { totalCount } }',
    ],
    ['an empty query', ''],
    ['half a query', '{ locationRecords {'],
    ['a string that does not end', '{ a(b: "'],
  ])('rejects %s', async (_, query) => {
    const started = performance.now()
    const { status, errors, data: nothing } = await ask(query)
    expect([status, nothing]).toEqual([400, undefined])
    expect(errors.join('\n')).toEqual(sentence())
    expect(errors.length).toBeLessThanOrEqual(11)
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test('allows variables and fragments with names that JavaScript objects inherit', async () => {
    for (const name of ['constructor', 'toString', 'hasOwnProperty'])
      expect(
        await ask(
          `query ${name}($${name}: Int) { locationRecords(first: $${name}) { ...${name} } } fragment ${name} on LocationRecordsConnection { nodes { id } }`,
          { [name]: 2 },
        ),
      ).toMatchObject({ status: 200, errors: [], data: { locationRecords: { nodes: [{}, {}] } } })
  })

  test('applies limits to variables, their defaults and null', async () => {
    const query =
      'query ($first: Int = 1000, $events: Int) { locationRecords(first: $first) { nodes { events(first: $events) { nodes { id } } } } }'
    expect((await ask(query)).errors[0]).toContain('more than 10000 rows')
    expect((await ask(query, { first: 20, events: 1_000 })).errors[0]).toContain('more than 10000 rows')
    expect((await ask(query, { first: null, events: 99 })).status).toBe(200)
    expect((await ask(query, { first: null, events: 100 })).errors[0]).toContain('more than 10000 rows')
    expect((await ask(query, { first: -1 })).errors).toEqual([sentence('first')])
    for (const first of ['5', 1.5, {}, [], 1e99, true])
      expect(await ask(query, { first })).toMatchObject({
        status: 400,
        errors: [
          expect.stringMatching(
            /^Variable "\$first" got invalid value|^first: expected a number from 0 to 1000, got 1e\+99/,
          ),
        ],
      })
    expect(await ask(query, { first: 20, events: 400 })).toMatchObject({ status: 200, errors: [] })
  })

  test.each<[string, string]>([
    ['a short address', '{ prover: { equalTo: "0x12" } }'],
    ['a pattern for a UID', '{ uid: { equalTo: "0x%" } }'],
    ['an unknown chain', '{ chain: { in: ["celo", "mars"] } }'],
    ['no time', '{ timestamp: { greaterThan: "yesterday" } }'],
    ['30 February', '{ timestamp: { greaterThan: "2026-02-30" } }'],
    ['the year 0', '{ timestamp: { lessThan: "0000-01-01" } }'],
    ['the year 0, by its zone', '{ timestamp: { lessThan: "0001-01-01T00:00+01:00" } }'],
    ['the year 10000, by its zone', '{ timestamp: { lessThan: "9999-12-31T23:59-01:00" } }'],
    ['NUL', '{ locationType: { equalTo: "a\\u0000" } }'],
    ['an empty list', '{ uid: { in: [] } }'],
    ['a long list', `{ chain: { in: [${'"celo" '.repeat(101)}] } }`],
    ['null', '{ prover: { equalTo: null } }'],
    ['an empty operator', '{ prover: {} }'],
    ['a bbox of three', '{ bbox: [1, 2, 3] }'],
    ['a bbox upside down', '{ bbox: [1, 2, 3, 1] }'],
    ['a bbox beyond the world', '{ bbox: [-181, 0, 0, 1] }'],
    ['a bbox of nothing', '{ bbox: [] }'],
    ['no words', '{ memoWords: "--" }'],
    ['attributes that are not an object', '{ attributes: "[1]" }'],
  ])('rejects a filter that can find no record: %s', async (_, filter) => {
    expect(await ask(`{ locationRecords(filter: ${filter}) { totalCount } }`)).toMatchObject({
      status: 200,
      data: { locationRecords: null },
      errors: [sentence()],
    })
  })

  test.each([
    'x',
    '',
    'e30=',
    'bnVsbA==',
    Buffer.from('["NEWEST_FIRST",["2026-01-01","a\\u0000"]]').toString('base64'),
    Buffer.from('["OLDEST_FIRST",["2026-01-01T00:00:00+00:00","celo-0x1"]]').toString('base64'),
    'A'.repeat(5_000),
    ...[
      '2020-13-01T00:00:00+00:00',
      '2026-02-30T00:00:00+00:00',
      '0000-01-01T00:00:00+00:00',
      '2026-01-01T25:00:00.123456+00:00',
    ].map((time) => Buffer.from(JSON.stringify(['NEWEST_FIRST', [time, 'celo-0x1']])).toString('base64')),
  ])('rejects an invalid cursor: %.30s', async (cursor) => {
    expect(
      await ask('query ($cursor: Cursor) { locationRecords(after: $cursor) { totalCount } }', { cursor }),
    ).toMatchObject({
      status: 200,
      errors: [expect.stringContaining('after: expected a cursor of this connection')],
    })
  })

  test('rejects malformed requests', async () => {
    const refused = async (payload: unknown, headers?: object) => {
      const { status, errors } = await post(payload, { headers })
      return [status, errors[0]]
    }
    expect(await refused([{ query: '{ __typename }' }])).toEqual([400, sentence()])
    expect(await refused({})).toEqual([400, sentence('query')])
    expect(await refused({ query: 1 })).toEqual([400, sentence('query')])
    expect(await refused('null')).toEqual([400, sentence()])
    expect(await refused({ query: '{ __typename }', variables: [] })).toEqual([400, sentence('variables')])
    const unnamed = { query: '{ __typename }', operationName: {} }
    expect(await refused(unnamed)).toEqual([400, sentence('operationName')])
    expect(await refused({ query: '{ __typename }', operationName: 'X' })).toEqual([400, sentence()])
    expect((await refused('{ "query": '))[0]).toBe(400)
    const large = { query: '{ __typename }', variables: { x: 'y'.repeat(70_000) } }
    expect(await refused(large)).toEqual([413, sentence()])
    for (const type of ['application/graphql', 'application/x-www-form-urlencoded'])
      expect(await refused('{ __typename }', { 'content-type': type })).toEqual([415, sentence()])
  })

  test('rejects GET, other methods and other paths', async () => {
    const get = async (method: 'GET' | 'PUT' | 'DELETE' | 'HEAD', url: string) => {
      const { statusCode, headers, body } = await app.inject({ method, url })
      return [statusCode, headers.allow, body && Object.keys(JSON.parse(body))]
    }
    expect(await get('GET', '/graphql?query={__typename}')).toEqual([405, 'POST, GET, OPTIONS', ['errors']])
    expect(await get('PUT', '/graphql')).toEqual([405, 'POST, GET, OPTIONS', ['errors']])
    expect(await get('DELETE', '/graphql')).toEqual([405, 'POST, GET, OPTIONS', ['errors']])
    expect(await get('GET', '/graphql/stream')).toEqual([404, undefined, ['errors']])
    expect(await get('GET', '/graphql/graphiql/..%2f..%2fpackage.json')).toEqual([404, undefined, ['errors']])
  })

  test('is fast for queries that are expensive to validate, such as overlapping fields or many errors', async () => {
    const duplicates = `{ locationRecords { nodes { ${'uid '.repeat(590)} } } }`
    const nested = (depth: number): string =>
      depth === 0
        ? 'uid'
        : `events { nodes { locationRecord { ${nested(depth - 1)} ${nested(depth - 1)} } } }`
    const fragments = `{ locationRecords { nodes { ${Array.from({ length: 150 }, (_, i) => `...F${i}`).join(' ')} } } } ${Array.from({ length: 150 }, (_, i) => `fragment F${i} on LocationRecord { uid id }`).join(' ')}`
    const wrong = `{ ${Array.from({ length: 500 }, (_, i) => `x${i}`).join(' ')} }`
    for (const query of [duplicates, `{ locationRecords { nodes { ${nested(6)} } } }`, fragments, wrong]) {
      const started = performance.now()
      expect((await ask(query)).errors.length).toBeLessThanOrEqual(11)
      expect(performance.now() - started).toBeLessThan(10_000)
    }
  })
})

describe('the GraphQL endpoint', () => {
  test('refuses a response above the share of memory of a client', async () => {
    const run = () => Promise.resolve({ data: { text: 'x'.repeat(110_000_000) } })
    const of = { schema: () => face.schema(), rowsOf: face.rowsOf, run } as unknown as PublishedGraphql
    const server = await serve({ of })
    const payload = { query: '{ __typename }' }
    const answer = await server.inject({ method: 'POST', url: '/graphql', payload })
    expect([answer.statusCode, answer.headers['retry-after'], answer.json()]).toEqual([
      ...[429, '5'],
      { errors: [{ message: expect.any(String) }] },
    ])
    await server.close()
  })
  test('sends application/graphql-response+json if accepted, and ignores unknown fields of the request', async () => {
    const specified = await post(
      {
        query: 'query A { __typename } query B { locationRecords(first: 0) { totalCount } }',
        operationName: 'A',
        extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } },
      },
      { headers: { accept: 'application/graphql-response+json' } },
    )
    expect([specified.status, specified.data]).toEqual([200, { __typename: 'Query' }])
    expect(specified.headers['content-type']).toBe('application/graphql-response+json; charset=utf-8')
    expect((await ask('{ __typename }')).headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      vary: 'accept',
    })
  })

  test('supports the introspection of GraphiQL, with a schema of queries only', async () => {
    for (const options of [
      { descriptions: true },
      { descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true },
    ]) {
      const { __schema: schema } = await data(getIntrospectionQuery(options))
      const { queryType, mutationType, subscriptionType } = schema
      expect([queryType.name, mutationType, subscriptionType]).toEqual(['Query', null, null])
      const fields = (name: string) =>
        schema.types
          .find((type: Json) => type.name === name)
          [name.endsWith('Filter') ? 'inputFields' : 'fields'].map((field: Json) => field.name)
      expect(fields('Query').sort()).toEqual([
        ...['answerByChainAndUid', 'answerById', 'answers', 'attestationEventById', 'attestationEvents'],
        ...['locationRecordByChainAndUid', 'locationRecordById', 'locationRecords'],
      ])
      expect(fields('LocationRecordFilter').sort()).toEqual([
        ...['attributes', 'bbox', 'chain', 'id', 'locationType', 'memoWords', 'prover', 'revoked'],
        ...['schemaUid', 'subject', 'timestamp', 'uid'],
      ])
      expect(fields('AnswerFilter').sort()).toEqual([
        ...['attester', 'chain', 'id', 'input', 'operation', 'recipient', 'revoked', 'schemaUid'],
        ...['timestamp', 'uid'],
      ])
      expect(fields('AttestationEventFilter').sort()).toEqual([
        ...['attester', 'blockTimestamp', 'chain', 'id', 'kind', 'schemaUid', 'transactionHash', 'uid'],
      ])
      expect(
        Object.fromEntries(
          schema.types
            .filter(({ name }: Json) => /^(String|Boolean|Datetime)Filter$/.test(name))
            .map(({ name, inputFields }: Json) => [name, inputFields.map((field: Json) => field.name)]),
        ),
      ).toEqual({
        StringFilter: ['equalTo', 'in'],
        BooleanFilter: ['equalTo'],
        DatetimeFilter: ['equalTo', 'lessThan', 'lessThanOrEqualTo', 'greaterThan', 'greaterThanOrEqualTo'],
      })
      const undescribed = schema.types
        .filter(({ name, kind }: Json) => kind === 'OBJECT' && !name.startsWith('__'))
        .flatMap((type: Json) =>
          type.fields
            .filter((field: Json) => !field.description)
            .map((field: Json) => `${type.name}.${field.name}`),
        )
      expect(undescribed.filter((name: string) => !name.startsWith('Query.'))).toEqual([])
    }
  })

  test('counts queries for the rate limit, but not preflights or the GraphiQL page', async () => {
    const limited = await serve({ perHour: 2 })
    for (let i = 0; i < 4; i++) {
      const preflight = await limited.inject({
        method: 'OPTIONS',
        url: '/graphql',
        headers: {
          ...{ origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
          'access-control-request-headers': 'content-type',
        },
      })
      expect(preflight.statusCode).toBe(204)
      expect(preflight.headers).toMatchObject({
        ...{ 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type' },
      })
      const page = await limited.inject({ url: '/graphql', headers: { accept: 'text/html' } })
      expect(page.statusCode).toBe(200)
    }
    const answers: Answer[] = []
    for (const query of ['{ __typename }', '{', '{ __typename }'])
      answers.push(await ask(query, undefined, { to: limited }))
    expect(answers.map(({ status, headers }) => [status, headers['ratelimit-remaining']])).toEqual([
      [200, '1'],
      [400, '0'],
      [429, '0'],
    ])
    expect(answers[2]!.errors).toEqual([sentence()])
    expect(answers[2]!.headers['retry-after']).toBe('3600')
    await limited.close()
  })

  test('loads GraphiQL from its own origin only, as its CSP enforces, with or without a trailing slash', async () => {
    for (const url of ['/graphql', '/graphql/', '/graphql?x=1']) {
      const page = await app.inject({ url, headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
      expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.headers['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self';/,
      )
      expect(page.body).not.toMatch(/<script>|\son\w+=|https?:/)
      const loaded = [...page.body.replace(HEADER, '').matchAll(/(?:src|href)="([^"]+)"/g)]
        .map(([, to]) => new URL(to!, `http://here${url}`))
        .filter(({ protocol }) => protocol !== 'data:')
      expect(loaded).toHaveLength(6)
      for (const { host, pathname } of loaded)
        expect([host, (await app.inject(pathname)).statusCode]).toEqual(['here', 200])
    }
    const settings = (await app.inject('/graphql/graphiql/settings.js')).body
    const examples: string = JSON.parse(/GRAPHQL_DEFAULT_QUERY = (".*")/.exec(settings)![1]!)
    for (const operationName of ['Newest', 'InBox', 'Revocations'])
      expect(await post({ query: examples, operationName })).toMatchObject({ status: 200, errors: [] })
  })
})

describe('the database permissions of GraphQL', () => {
  test('let the role read only the published views', async () => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    const under = async (sql: string) => {
      await client.query('BEGIN; SET LOCAL ROLE published_reader')
      const outcome = await client.query(sql).then(
        () => 'done',
        (error: { code: string }) => error.code,
      )
      await client.query('ROLLBACK')
      return outcome
    }
    expect(await under('SELECT * FROM published.location_record LIMIT 1')).toBe('done')
    expect(await under('SELECT * FROM published.attestation_event LIMIT 1')).toBe('done')
    for (const sql of [
      ...['SELECT FROM location_record', 'SELECT FROM attestation_event', 'SELECT FROM chain_status'],
      ...['INSERT INTO published.attestation_event (id) VALUES (1)'],
      ...['UPDATE published.location_record SET memo = memo', 'DELETE FROM published.location_record'],
      ...['CREATE TABLE mine ()', 'CREATE VIEW published.mine AS SELECT 1'],
    ])
      expect([sql, await under(sql)]).toEqual([sql, '42501'])
    const [role] = await rows<Json>(
      database.url,
      `SELECT rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls FROM pg_roles WHERE rolname = 'published_reader'`,
    )
    expect(Object.values(role)).toEqual([false, false, false, false, false])
    await client.end()
  })

  test('make each transaction read-only under the role, and leave no session settings', async () => {
    const views = new PublishedViews(database.url, () => {}, false)
    expect(await views.open()).toEqual({ role: 'published_reader' })
    const state = `SELECT current_user AS who, current_setting('transaction_read_only') AS only, current_setting('statement_timeout') AS patience, current_setting('TimeZone') AS zone, current_setting('jit') AS jit, current_setting('max_parallel_workers_per_gather') AS workers`
    const { rows: inside } = await views.read(new AbortController().signal, (runner) => runner.query(state))
    expect(inside).toEqual([
      { who: 'published_reader', only: 'on', patience: '3s', zone: 'UTC', jit: 'off', workers: '0' },
    ])
    await expect(
      views.read(new AbortController().signal, (runner) => runner.query('SELECT FROM location_record')),
    ).rejects.toThrow(sentence())
    await views.close()
    const [outside] = await rows<Json>(database.url, state)
    expect(outside).toMatchObject({ only: 'off' })
    expect(outside.who).not.toBe('published_reader')
  })

  test.each([
    [4_000, 'fulfilled'],
    [5_000, 'rejected'],
  ])('have 5 s in total: after %d ms, another statement is %s', async (ms, status) => {
    const views = new PublishedViews(database.url, () => {}, false)
    await views.open()
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    const [, second] = await views.read(new AbortController().signal, (runner) => {
      const statements = [1, 2].map(() => runner.query('SELECT 1'))
      // The first statement starts in the microtask before this one.
      queueMicrotask(() => (now += ms))
      return Promise.allSettled(statements)
    })
    clock.mockRestore()
    const expected = status === 'fulfilled' ? {} : { reason: { message: sentence() } }
    expect(second).toMatchObject({ status, ...expected })
    await views.close()
  })
})

describe('GraphQL with a failing database', () => {
  const quiet = () => ({ seen: [] as string[] })
  const watch = ({ seen }: { seen: string[] }) => ({
    info: () => {},
    warn: ({ reason, warning }: Json, text: string) => void seen.push(`${text}: ${reason ?? warning}`),
  })

  test('returns 503 without a database, and logs the reason once', async () => {
    const kept = quiet()
    const gone = new PublishedGraphql(
      new PublishedViews('postgres://nobody@127.0.0.1:1/none', () => {}, false),
      watch(kept),
    )
    await gone.start(10)
    const server = await serve({ of: gone })
    expect(await ask('{ __typename }', undefined, { to: server })).toMatchObject({
      status: 503,
      errors: [sentence()],
      headers: { 'retry-after': '5' },
    })
    await new Promise((resolve) => setTimeout(resolve, 100))
    // The reason is logged once, not for each attempt.
    expect(kept.seen).toEqual([sentence()])
    await server.close()
    await gone.close()
  })

  test(
    'becomes ready once the database is migrated, and masks internal errors',
    { tags: ['slow'] },
    async () => {
      const own = await createMigratedDatabase()
      const client = new Client({ connectionString: own.url })
      await client.connect()
      await migrate(own.url, 'Records')
      const kept = quiet()
      const early = new PublishedGraphql(new PublishedViews(own.url, () => {}, false), watch(kept))
      await early.start(20)
      expect(kept.seen).toEqual([sentence()])
      expect(() => early.schema()).toThrow(sentence())
      await migrate(own.url)
      const server = await serve({ of: early })
      while ((await ask('{ __typename }', undefined, { to: server })).status === 503)
        await new Promise((resolve) => setTimeout(resolve, 50))
      await client.query('ALTER VIEW published.attestation_event RENAME TO other')
      for (let i = 0; i < 6; i++)
        expect(await ask('{ attestationEvents { nodes { id } } }', undefined, { to: server })).toMatchObject({
          status: 200,
          data: { attestationEvents: null },
          errors: [sentence()],
        })
      expect(await ask('{ locationRecords { totalCount } }', undefined, { to: server })).toMatchObject({
        status: 200,
        data: { locationRecords: { totalCount: 0 } },
      })
      await server.close()
      await early.close()
      await client.end()
      await own.drop()
    },
  )
})

test.each([
  ['COMMENT ON VIEW published.answer IS NULL', 'SELECT'],
  ['COMMENT ON COLUMN published.attestation_event.uid IS NULL', 'SELECT'],
  ['ALTER VIEW published.answer RENAME TO other', 'ALTER VIEW published.other RENAME TO answer'],
])('GraphQL is not ready while a migration is not complete: %s', async (change, undo) => {
  const own = await createMigratedDatabase()
  const views = new PublishedViews(own.url, () => {}, false)
  await rows(own.url, change)
  await expect(views.open()).rejects.toThrow(UnavailableError)
  await rows(own.url, undo)
  await migrate(own.url)
  expect(await views.open()).toEqual({ role: 'published_reader' })
  await views.close()
})

withPostgres.describe('GraphQL on a real Postgres with many sessions', () => {
  const locks: Client[] = []
  /** Locks the records against all other sessions, until release or the test's end. */
  async function lock(): Promise<void> {
    const client = new Client({ connectionString: database.url })
    locks.push(client)
    await client.connect()
    await client.query('BEGIN; LOCK TABLE location_record IN ACCESS EXCLUSIVE MODE')
  }
  const release = () => Promise.all(locks.splice(0).map((client) => client.end()))
  afterEach(release)
  const running = async () =>
    (
      await rows<{ n: number }>(
        database.url,
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'graphql' AND state = 'active' AND datname = current_database()`,
      )
    )[0]!.n
  /** Waits until `count` statements run. They are cancelled after three seconds. */
  const untilRunning = async (count: number) => {
    while ((await running()) !== count) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const SLOW = '{ locationRecords(first: 1) { totalCount } }'

  test('cancels a statement after 3 seconds with advice, and fails the remaining fields', async () => {
    await lock()
    const answer = await ask(
      '{ locationRecords(first: 1) { totalCount } attestationEvents(first: 1) { nodes { kind } } }',
    )
    expect(answer).toMatchObject({
      status: 200,
      data: { locationRecords: null },
      errors: [sentence(), sentence()],
    })
    await release()
    expect(await ask(SLOW)).toMatchObject({ status: 200, errors: [] })
  })

  test('cancels the statements of a request after a time in total', async () => {
    const views = new PublishedViews(database.url, () => {}, false)
    await views.open()
    const { signal } = new AbortController()
    const sleep = (runner: StatementRunner) =>
      Promise.allSettled(Array.from({ length: 4 }, () => runner.query('SELECT pg_sleep(0.7)')))
    const sleeps = await views.read(signal, sleep, 2_000)
    expect(sleeps.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(sleeps[2]).toMatchObject({
      reason: { message: sentence() },
    })
    await views.close()
  })

  test('times out a request, cancels its statement, and releases its slot', { tags: ['slow'] }, async () => {
    const hasty = await serve({ answerMs: 800 })
    await lock()
    const first = ask(SLOW, undefined, { to: hasty })
    await untilRunning(1)
    expect(await first).toMatchObject({
      status: 503,
      errors: [sentence()],
    })
    // The lock is still in place, so the statements were cancelled.
    await untilRunning(0)
    const more = await Promise.all([ask(SLOW, undefined, { to: hasty }), ask(SLOW, undefined, { to: hasty })])
    expect(more.map(({ status }) => status)).toEqual([503, 503])
    await untilRunning(0)
    await release()
    expect(await ask(SLOW, undefined, { to: hasty })).toMatchObject({ status: 200, errors: [] })
    await hasty.close()
  })

  test('queues, then rejects many concurrent queries of one client, and serves other clients', async () => {
    await lock()
    const greedy = Array.from({ length: 14 }, () => ask(SLOW))
    await untilRunning(2)
    // A check takes time of the main thread, so it counts towards the client's share.
    expect((await ask('{ unknown }')).status).toBe(429)
    expect((await ask('{ unknown }', undefined, { from: '10.0.0.3' })).status).toBe(400)
    const started = performance.now()
    expect(
      await ask('{ attestationEvents(first: 1) { nodes { kind } } }', undefined, { from: '10.0.0.2' }),
    ).toMatchObject({ status: 200, errors: [] })
    // The five pairs of the greedy client take fifteen seconds.
    expect(performance.now() - started).toBeLessThan(10_000)
    const crowd = Array.from({ length: 40 }, (_, i) => ask(SLOW, undefined, { from: `10.0.1.${i}` }))
    await untilRunning(4)
    await release()
    const statuses = (await Promise.all(greedy)).map(({ status }) => status)
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).toEqual([10, 4])
    const crowded = await Promise.all(crowd)
    expect(crowded.filter(({ status }) => status === 503).map(({ errors }) => errors[0])).toEqual(
      Array(crowded.filter(({ status }) => status !== 200).length).fill(sentence()),
    )
    expect(crowded.filter(({ status }) => status === 200).length).toBe(2 + 24)
  })

  test('runs a query as work of the client that requests the query', async () => {
    const run = vi.spyOn(face, 'run')
    await ask('{ __typename }', undefined, { from: '10.0.0.7' })
    expect(run.mock.lastCall![2]).toMatchObject({ client: '10.0.0.7' })
    run.mockRestore()
  })

  test('starts no further statements after a client disconnects', { tags: ['slow'] }, async () => {
    const own = await serve()
    await own.listen({ port: 0, host: '127.0.0.1' })
    const { port } = own.server.address() as { port: number }
    await lock()
    const abort = new AbortController()
    const query = `{ ${Array.from({ length: 10 }, (_, i) => `a${i}: locationRecords(first: 1) { totalCount }`).join(' ')} }`
    const left = fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      signal: abort.signal,
    }).catch(() => 'left')
    await untilRunning(1)
    abort.abort()
    expect(await left).toBe('left')
    const started = performance.now()
    await untilRunning(0)
    // All ten together would take thirty seconds.
    expect(performance.now() - started).toBeLessThan(20_000)
    await release()
    await own.close()
  })

  test('returns an unavailable error if the server ends a connection, and replaces the connection', async () => {
    await lock()
    const cut = ask(SLOW)
    await untilRunning(1)
    await rows(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'graphql' AND datname = current_database()`,
    )
    expect(await cut).toMatchObject({
      status: 503,
      errors: [sentence()],
    })
    await release()
    // Connections of other requests may close a moment later.
    await expect.poll(() => ask(SLOW)).toMatchObject({ status: 200, errors: [] })
  })

  test('returns an unavailable error if a connection is lost between two statements', async () => {
    const views = new PublishedViews(database.url, () => {}, false)
    await views.open()
    const read = views.read(new AbortController().signal, async (runner) => {
      const {
        rows: [own],
      } = await runner.query('SELECT pg_backend_pid() AS pid')
      const { pid } = own as { pid: number }
      await rows(database.url, `SELECT pg_terminate_backend(${pid})`)
      while ((await rows(database.url, `SELECT FROM pg_stat_activity WHERE pid = ${pid}`)).length);
      return runner.query('SELECT 1')
    })
    await expect(read).rejects.toThrow(UnavailableError)
    await views.close()
  })

  test('replaces a connection that is lost while the schema is built', async () => {
    const lost: Error[] = []
    const views = new PublishedViews(database.url, (error) => void lost.push(error), false)
    await views.describe(async (pool) => {
      const { rows: found } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await rows(database.url, `SELECT pg_terminate_backend(${found[0]!.pid})`)
      await expect.poll(() => pool.totalCount).toBe(0)
      expect((await pool.query('SELECT')).rowCount).toBe(1)
    })
    expect(lost).toHaveLength(1)
    await views.close()
  })

  test('rejects a response that is too large while it arrives, and serves the next query', async () => {
    await rows(
      database.url,
      `UPDATE location_record SET media_data = ARRAY[(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 32000) AS i)] WHERE id IN (SELECT id FROM location_record ORDER BY timestamp DESC LIMIT 18)`,
    )
    expect(await ask('{ locationRecords(first: 18) { nodes { mediaData } } }')).toMatchObject({
      status: 200,
      data: { locationRecords: null },
      errors: [expect.stringMatching(/larger than 16 MiB.*memo/)],
    })
    expect(
      (await data('{ locationRecords(first: 5) { nodes { mediaData } } }')).locationRecords.nodes,
    ).toHaveLength(5)
    expect(
      (await data('{ locationRecords(first: 18) { nodes { uid } } }')).locationRecords.nodes,
    ).toHaveLength(18)
  })

  test('reads as the role if the login may set the role, and otherwise needs a read-only login', async () => {
    const name = `login_${database.url.slice(-12)}`
    await rows(database.url, `CREATE ROLE ${name} LOGIN PASSWORD 'x'`)
    const url = new URL(database.url)
    Object.assign(url, { username: name, password: 'x' })
    const reader = async (ownLogin: boolean) => {
      const views = new PublishedViews(url.toString(), () => {}, ownLogin)
      const outcome = await views.open().catch((error: Error) => error.message)
      await views.close()
      return outcome
    }
    try {
      expect(await reader(false)).toEqual(sentence())
      expect(await reader(true)).toEqual(sentence())
      await rows(
        database.url,
        `GRANT USAGE ON SCHEMA published TO ${name}; GRANT SELECT ON ALL TABLES IN SCHEMA published TO ${name}`,
      )
      expect(await reader(false)).toEqual(sentence())
      expect(await reader(true)).toEqual({ role: undefined })
      await rows(database.url, `GRANT INSERT ON attestation_event TO ${name}`)
      expect(await reader(true)).toEqual({
        role: undefined,
        warning: sentence(),
      })
      await rows(database.url, `GRANT published_reader TO ${name}`)
      expect([await reader(false), await reader(true)]).toEqual([
        { role: 'published_reader' },
        { role: 'published_reader' },
      ])
    } finally {
      await rows(database.url, `DROP OWNED BY ${name}; DROP ROLE ${name}`)
    }
  })
})

testSentences()
