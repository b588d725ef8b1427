import { networkInterfaces } from 'node:os'
import { connect } from 'node:net'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, startService, type Service } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { exchange } from './api'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from './database'
import { insertRecords } from './records'
import { sentence, testSentences } from './sentences'
import { withPostgres } from './needs'

/**
 * Tests the squid's own GraphQL, started by `npm run graphql`, with attempts to exceed each of its limits.
 */

type Json = any
let database: TestDatabase
let server: Service
let url: string
/** Response to a request whose body does not arrive. Other tests run while the server waits for the body. */
let unfinished: Promise<string>
const folder = temporaryFolder()
beforeAll(async () => {
  database = await createMigratedDatabase()
  await insertRecords(
    database.url,
    Array.from({ length: 20 }, (_, n) => ({
      memo: `place ${n + 1}`,
      timestamp: Date.UTC(2026, 0, 1) + (n + 1) * 60_000,
      geometry: { type: 'Point', coordinates: [1, 2] },
      columns: { id: `celo-${n + 1}`, expiration_time: '18446744073709551615' },
    })),
  )
  const port = await freePort()
  server = startService(
    'squid-graphql',
    ['dist/api/squid-graphql-server.js'],
    {
      ...process.env,
      ...blankSettings(),
      DATABASE_URL: database.url,
      GQL_PORT: String(port),
      RECORDS_RATE_LIMIT_PER_HOUR: '100',
    },
    folder,
  )
  await server.ready
  url = `http://127.0.0.1:${port}`
  const head =
    'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n'
  unfinished = exchange(url, `${head}\r\n{`)
})
afterAll(() => server?.stop())

async function post(payload: unknown): Promise<{ status: number; data: Json; errors: string[] }> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  })
  const { data, errors = [] }: Json = await answer.json()
  for (const error of errors) {
    expect(Object.keys(error).filter((key) => !['message', 'locations', 'path'].includes(key))).toEqual([])
    expect(error.message).not.toMatch(/select |FROM|relation "|column|node_modules|\bat \S+:\d/)
  }
  return { status: answer.status, data, errors: errors.map(({ message }: { message: string }) => message) }
}
const ask = (query: string, variables?: object) => post({ query, variables })

test('the squid server returns the entities of the squid', async () => {
  const { data, errors } = await ask(
    '{ locationRecords(limit: 2, orderBy: timestamp_DESC, where: { chain_eq: "celo" }) { id memo timestamp expirationTime } locationRecordById(id: "celo-7") { memo geometry } locationRecordsConnection(orderBy: id_ASC, first: 1) { totalCount edges { cursor } } attestationEvents(limit: 1) { id } }',
  )
  expect(errors).toEqual([])
  expect(data).toMatchObject({
    locationRecords: [
      { id: 'celo-20', memo: 'place 20', expirationTime: '18446744073709551615' },
      { id: 'celo-19' },
    ],
    locationRecordById: { memo: 'place 7', geometry: '{"type":"Point","coordinates":[1,2]}' },
    locationRecordsConnection: { totalCount: 20, edges: [{ cursor: '1' }] },
    attestationEvents: [],
  })
})

test('the squid server rejects a request with 5,000 headers or of HTTP/0.9 in its own form', async () => {
  const json = 'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
  const large = await exchange(url, `POST /graphql HTTP/1.1\r\nhost: x\r\n${'x:\r\n'.repeat(5_000)}${json}`)
  expect(large).toMatch(/^HTTP\/1\.1 431 /)
  expect(large.split('\r\n\r\n')[1]).toEqual(sentence())
  const old = await exchange(url, `POST /graphql HTTP/0.9\r\nhost: x\r\n${json}`)
  expect(old).toMatch(/^HTTP\/1\.1 400 /)
  expect(old.split('\r\n\r\n')[1]).toEqual(sentence())
})

test('the squid server serves GraphiQL with working examples, and allows any origin', async () => {
  const page = await fetch(`${url}/graphql`, { headers: { accept: 'text/html' } })
  expect([
    page.status,
    page.headers.get('content-type'),
    page.headers.get('access-control-allow-origin'),
  ]).toEqual([200, 'text/html; charset=utf-8', '*'])
  const settings = await (await fetch(`${url}/graphql/graphiql/settings.js`)).text()
  const examples: string = JSON.parse(/GRAPHQL_DEFAULT_QUERY = (".*")/.exec(settings)![1]!)
  for (const operationName of ['Newest', 'Revocations'])
    expect(await post({ query: examples, operationName })).toMatchObject({ status: 200, errors: [] })
})

test.each<[string, string]>([
  ['a list without a limit', '{ locationRecords { id } }'],
  ['many rows', '{ locationRecords(limit: 1001) { id } }'],
  ['rows below 0', '{ locationRecords(limit: -1) { id } }'],
  [
    'many fields of many rows',
    '{ locationRecords(limit: 1000) { id uid chain prover subject timestamp srs locationType revoked refUid blockHash } }',
  ],
  ['large fields', '{ locationRecords(limit: 300) { mediaData } }'],
  ['large fields of events', '{ attestationEvents(limit: 300) { data } }'],
  ['a deep offset', '{ locationRecords(limit: 1, offset: 10001) { id } }'],
  [
    'a deep cursor',
    '{ locationRecordsConnection(orderBy: id_ASC, first: 1, after: "99999999") { edges { cursor } } }',
  ],
  [
    'an invalid cursor',
    '{ locationRecordsConnection(orderBy: id_ASC, first: 1, after: "x\'; SELECT 1") { edges { cursor } } }',
  ],
  [
    'many fields at the root',
    `{ ${Array.from({ length: 11 }, (_, i) => `a${i}: locationRecords(limit: 1) { id }`).join(' ')} }`,
  ],
  [
    'aliases',
    `{ locationRecords(limit: 1) { ${Array.from({ length: 600 }, (_, i) => `a${i}: id`).join(' ')} } }`,
  ],
  ['many tokens', `{ ${'a '.repeat(2_100)} }`],
  ['a long text', `{ a } # ${'x'.repeat(17_000)}`],
  [
    'a filter within filters',
    `{ locationRecords(limit: 1, where: ${'{ AND: '.repeat(45)}{}${' }'.repeat(45)}) { id } }`,
  ],
  ['a fragment that includes itself', '{ ...F } fragment F on Query { ...F }'],
  ['the schema within the schema', '{ __schema { types { fields { type { fields { name } } } } } }'],
  ['a mutation', 'mutation { x }'],
  ['a subscription', 'subscription { locationRecords { id } }'],
  ["the squid's status, which is not this squid's", '{ squidStatus { height } }'],
  ['many errors', `{ ${Array.from({ length: 100 }, (_, i) => `x${i}`).join(' ')} }`],
])('the squid server rejects %s', async (_, query) => {
  const { errors, data } = await ask(query)
  expect(errors.join('\n')).toEqual(sentence())
  expect(errors.length).toBeLessThanOrEqual(11)
  expect(data ?? null).toBeNull()
})

test('the squid server rejects a batch, a large body, and other types, methods and paths', async () => {
  expect(await post([{ query: '{ __typename }' }])).toMatchObject({
    status: 400,
    errors: [sentence()],
  })
  expect(await post({ query: '{ __typename }', variables: { x: 'y'.repeat(70_000) } })).toMatchObject({
    status: 413,
  })
  const status = async (path: string, init?: RequestInit) => (await fetch(url + path, init)).status
  expect(
    await status('/graphql', {
      method: 'POST',
      body: '{ __typename }',
      headers: { 'content-type': 'application/graphql' },
    }),
  ).toBe(415)
  expect(await status('/graphql?query={__typename}')).toBe(405)
  expect(await status('/graphql', { method: 'DELETE' })).toBe(405)
  for (const path of ['/', '/console', '/metrics', '/.well-known/apollo/server-health'])
    expect([path, await status(path)]).toEqual([path, 404])
})

test('the squid server reports a database error as a server error, without its SQL', async () => {
  await rows(database.url, 'ALTER TABLE attestation_event RENAME COLUMN problem TO other')
  expect(await ask('{ attestationEvents(limit: 1) { problem } }')).toMatchObject({
    status: 200,
    errors: [sentence()],
  })
  await rows(database.url, 'ALTER TABLE attestation_event RENAME COLUMN other TO problem')
  expect(await ask('{ attestationEvents(limit: 1) { problem } }')).toMatchObject({ status: 200, errors: [] })
  expect((await ask('{ locationRecords(limit: 1, where: { id_eq: "a\\u0000" }) { id } }')).errors).toEqual([
    sentence(),
  ])
})

test('the squid server is reachable from this machine only', async () => {
  const others = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
  for (const { address } of others) {
    const reached = await new Promise<boolean>((resolve) => {
      const socket = connect(Number(new URL(url).port), address, () => resolve(true))
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
    })
    expect([address, reached]).toEqual([address, false])
  }
})

withPostgres.test('the server stops a statement after 3 seconds', async () => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('BEGIN; LOCK TABLE location_record IN ACCESS EXCLUSIVE MODE')
  expect(await ask('{ locationRecords(limit: 1) { id } }')).toMatchObject({
    errors: [sentence()],
  })
  await client.end()
  expect(await ask('{ locationRecords(limit: 1) { id } }')).toMatchObject({ status: 200, errors: [] })
})

test('the squid server limits requests per hour', async () => {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ __typename }"}',
  })
  const left = Number(answer.headers.get('ratelimit-remaining'))
  expect(left).toBeGreaterThan(20)
  const statuses = await Promise.all(
    Array.from({ length: left + 3 }, () => post({}).then(({ status }) => status)),
  )
  expect([
    statuses.filter((status) => status === 429).length,
    statuses.filter((status) => status === 400).length,
  ]).toEqual([3, left])
})

test('the squid server ends a request whose body does not arrive in time', async () => {
  expect(await unfinished).toMatch(/^HTTP\/1\.1 4\d\d /)
})

testSentences()
