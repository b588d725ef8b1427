import { readFileSync } from 'node:fs'
import { Signature, Wallet } from 'ethers'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  LOCAL_CHAIN,
  LOCAL_SIGNER_KEY,
  attest,
  locationRequest,
  mined,
  revoke,
  startLocalChain,
  testAccount,
  type LocalChain,
} from '../../dev/chain'
import { built } from '../../dev/in-process'
import { freePort } from '../../dev/services'
import { ATTEST_FIELDS } from '../../src/eas'
import { ALL_SCHEMAS, LOCATION_PROTOCOL_SCHEMA } from '../../src/location'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { openApiChecker, pointerTo, type OpenApiChecker } from '../../test/openapi'
import { startRpcProxy, type Fault } from '../../test/rpc-proxy'
import type { ComputeResult } from '../compute/schemas'
import { ERROR_PAGES } from '../http/error-pages'
import type { GraphqlBackend } from '../graphql/gateway'
import { PublishedGraphql } from '../graphql/published'
import { buildTestServer } from '../../test/api'
import { readManual } from './manual'
import { RECORDED_BASE_URL, type Example } from './openapi-examples'
import { OPERATIONS } from '../../src/operations'
import { signerKey } from '../../src/tlog'
import { COMPUTE_ERRORS } from '../../src/errors'
import { PublishedViews } from '../graphql/sql'
import { SafeSender } from '../outgoing'
import type { LogClaim } from '../log'
import { Store } from '../store'
import { WebhookStore, type WebhookAdminParts } from '../webhooks'
import { GATE, TOWER, positions } from '../../test/positions'

/**
 * Compares the OpenAPI document with the service. The service runs in this process, with a real chain,
 * indexer and database, at a fixed time, so that the examples are the same in each run. After an intended
 * change of responses, `npx vitest run api/service/openapi.service.test.ts -u` records them again.
 */

/**
 * Time of the requests in Unix seconds: 2026-01-01T00:00:00Z. The places were attested in the days before.
 */
const NOW = 1_767_225_600
const DAY = 86_400
let chain: LocalChain
let database: TestDatabase
const uids: Record<string, string> = {}
const closing: (() => unknown)[] = []

/** A part of the Tiergarten in Berlin. */
const PARK = {
  type: 'Polygon' as const,
  coordinates: [
    positions(`
      13.3411 52.5126, 13.3777 52.5105, 13.3769 52.5159, 13.3503 52.5175, 13.3411 52.5126
    `),
  ],
}
const STREET = {
  type: 'LineString' as const,
  coordinates: positions('13.3501 52.5145, 13.3777 52.5163, 13.4023 52.5186'),
}

/**
 * Returns an offchain attestation of a place in Berlin (created with eas-sdk 2.10.0), with the given changes.
 */
function offchainAttestation(change: object = {}) {
  const { vectors } = JSON.parse(readFileSync('test/vectors/offchain-vectors.json', 'utf8'))
  const { sig, signer } = vectors.find(
    ({ id }: { id: string }) => id === 'public-valid-v2-base-sepolia',
  ).document
  return { sig: { ...sig, message: { ...sig.message, ...change } }, signer }
}

beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startLocalChain({ port, startsAt: NOW - 40 * DAY })),
    createMigratedDatabase(),
  ])
  const at = (days: number) => chain.provider.send('evm_setNextBlockTimestamp', [NOW - days * DAY])
  await at(20)
  uids.eiffelTower = await attest(
    chain,
    locationRequest(TOWER, {
      memo: 'Eiffel Tower',
      eventTimestamp: NOW - 20 * DAY - 600,
      recipient: testAccount(2).address,
    }),
    1,
  )
  await at(6)
  uids.park = await attest(
    chain,
    locationRequest(PARK, { schema: LOCATION_PROTOCOL_SCHEMA.uid, recipient: testAccount(3).address }),
    3,
  )
  await at(3)
  uids.revoked = await attest(
    chain,
    locationRequest(STREET, { memo: 'A street', recipient: testAccount(1).address }),
    1,
  )
  await at(0.5)
  await revoke(chain, uids.revoked, 1)

  await rows(database.url, 'INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[LOCAL_CHAIN.slug, testAccount(9).address.toLowerCase()],
  ])
  await index()
  // The times at which rows were written are the only ones that the test's clock does not set.
  await rows(
    database.url,
    `UPDATE location_record SET created_at = timestamp + interval '2 seconds', updated_at = timestamp + interval '2 seconds'`,
  )
})
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close()
  await chain?.stop()
})

/** Runs the indexer until it has read the whole chain. */
async function index(): Promise<void> {
  built<typeof import('../../src/log')>('lib/log.js').unifySubsquidLog('warn')
  const { startIndexer } = built<typeof import('../../src/indexer/run')>('lib/indexer/run.js')
  const indexer = startIndexer(
    { chain: LOCAL_CHAIN, rpcUrls: [chain.url], gatewayUrl: undefined, headPollMs: 50 },
    {
      ...{ databaseUrl: database.url, schemaPolicy: ALL_SCHEMAS, auditCallsPerSecond: 0 },
      indexerMetrics: undefined,
    },
  )
  const head = await chain.provider.getBlockNumber()
  for (;;) {
    const [status] = await rows<{ head: number; indexed: number }>(
      database.url,
      'SELECT head_height AS head, indexed_height AS indexed FROM chain_status',
    )
    if (status?.head === head && status.indexed === head) break
    await Promise.race([indexer.ended, new Promise((resolve) => setTimeout(resolve, 50))])
  }
  await indexer.stop()
}

async function serve({
  fault = () => undefined,
  databaseUrl = database.url,
  publicBaseUrl = RECORDED_BASE_URL,
  graphql,
  // A slow request counts as several.
  rateLimitPerHour = 10_000,
  ...more
}: {
  timeouts?: { request: number; answer: number }
  fault?: Fault
  databaseUrl?: string
  publicBaseUrl?: string
  graphql?: GraphqlBackend
  rateLimitPerHour?: number
  webhookAdmin?: Omit<WebhookAdminParts, 'store' | 'clock'>
} = {}): Promise<FastifyInstance> {
  const proxy = await startRpcProxy(chain.url, fault)
  const logKey = await signerKey('geo.example/log/v0', 'ed25519', new Uint8Array(32).fill(1))
  const { app, close } = await buildTestServer({
    ...{ databaseUrl, rpcUrl: proxy.url, graphql: graphql ?? (await graphqlOf(databaseUrl)), logKey },
    ...{ clock: () => NOW * 1000, elapsed: () => 0, publicBaseUrl, deploymentName: 'staging' },
    manual: readManual('docs'),
    ...{ rateLimitPerHour, recordsRateLimitPerHour: rateLimitPerHour },
    // The indexer has stopped, and the machine may be slow, so the limit is high.
    limits: { indexMaxAgeSeconds: 3_600, maxLagSeconds: 3_600, isLocal: () => true },
    resignMaxAgeSeconds: 86_400,
    ...more,
  })
  closing.push(() => proxy.close(), close)
  await app.ready()
  return app
}

const backends = new Map<string, PublishedGraphql>()
/** Returns the backend of GraphQL, which all services on a database share: its schema takes a second. */
async function graphqlOf(databaseUrl: string): Promise<PublishedGraphql> {
  const known = backends.get(databaseUrl)
  if (known) return known
  const views = new PublishedViews(databaseUrl, () => {}, false)
  const backend = new PublishedGraphql(views, { info: () => {}, warn: () => {} })
  await backend.start()
  backends.set(databaseUrl, backend)
  closing.push(() => backend.close())
  return backend
}

const ADMIN_KEY = 'an-admin-key-of-32-characters-or-more'
/** Starts a service with an admin key for subscriptions. */
function administered(databaseUrl = database.url): Promise<FastifyInstance> {
  const store = new Store(databaseUrl, () => {})
  const sender = new SafeSender(new Set())
  closing.push(
    () => store.close(),
    () => sender.close(),
  )
  const webhookAdmin = { webhooks: new WebhookStore(store.servers), sender, adminKey: ADMIN_KEY }
  return serve({ databaseUrl, webhookAdmin })
}

/** Formats JSON with as many members per line as fit, so that a person can review all examples. */
function packed(value: unknown, indent = ''): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || indent.length + line.length <= 140) return line
  const inner = `${indent} `
  const items = Array.isArray(value)
    ? value.map((each) => packed(each, inner))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => `${JSON.stringify(name)}: ${packed(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  let text = inner
  let length = inner.length
  for (const [i, item] of items.entries()) {
    const part = i < items.length - 1 ? `${item},` : item
    const [head, tail] = [part.indexOf('\n'), part.lastIndexOf('\n')]
    const fits = length + 1 + (head < 0 ? part.length : head) <= 140
    if (length > inner.length) text += fits ? ' ' : `\n${inner}`
    text += part
    length = tail < 0 ? (fits ? length + 1 : inner.length) + part.length : part.length - tail - 1
  }
  return `${open}\n${text}\n${indent}${close}`
}

/** Sends requests and records the responses. */
class Recorder {
  readonly examples: Example[] = []

  async send(
    app: FastifyInstance,
    of: string,
    name: string,
    summary: string,
    request: InjectOptions,
    shorten = (text: string) => text,
  ) {
    const answer = await app.inject(request)
    const type = String(answer.headers['content-type']).split(';')[0]!
    const text = shorten(answer.body)
    const response: unknown = /[/+]json$/.test(type) ? JSON.parse(text) : text
    this.examples.push({
      of,
      name,
      summary,
      // The document shows only requests that got a response (withExamples).
      ...(request.payload !== undefined && answer.statusCode < 300 && { request: request.payload }),
      status: answer.statusCode,
      type,
      response,
    })
    return answer
  }
}

const chainId = LOCAL_CHAIN.id
const post = (path: string, payload: object): InjectOptions => ({
  method: 'POST',
  url: `/compute/v0/${path}`,
  payload: { chainId, ...payload },
})
const get = (url: string): InjectOptions => ({ method: 'GET', url })

/** Returns the first events of the stream. Their ids are replaced, because they identify the database. */
async function streamed(app: FastifyInstance, events: number): Promise<string> {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  // The position before the first change, in a database without records.
  const { body } = await fetch(`${url}/api/v0/location-records/stream?last_event_id=47DEQpj8`)
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>)
    if ((text += decoder.decode(chunk, { stream: true })).split('\ndata:').length > events) break
  let n = 0
  // The first block of the stream is `retry`.
  const blocks = text.split('\n\n').slice(0, 1 + events)
  return [...blocks, ''].join('\n\n').replace(/^id: .*$/gm, () => `id: cQ3xW0Zk,base-sepolia.${++n}`)
}

/** Submits an answer in a block with the time of the requests, always by the same transaction. */
async function land({
  attestation,
  delegatedAttestation,
}: Pick<ComputeResult, 'attestation' | 'delegatedAttestation'>): Promise<void> {
  const { attester, deadline, signature } = delegatedAttestation
  const { schema, recipient, revocable, refUID, data } = attestation
  const { r, s, v } = Signature.from(signature)
  await chain.provider.send('evm_setNextBlockTimestamp', [NOW])
  const request = {
    schema,
    attester,
    deadline,
    signature: { r, s, v },
    data: { recipient, expirationTime: 0, revocable, refUID, data, value: 0 },
  }
  const sent = await (
    await chain.eas(5)
  )
    .getFunction('attestByDelegation')
    .send(request, { gasLimit: 1_000_000, gasPrice: 10_000_000_000 })
  await mined(chain, sent.hash)
}

/** Records examples of the log's routes, after one answer was signed. */
async function recordLog(recorder: Recorder, app: FastifyInstance, leaf: string): Promise<void> {
  while ((await app.inject(get(`/log/v0/proof/${leaf}`))).statusCode === 503)
    await new Promise((resolve) => setTimeout(resolve, 10))
  const asked = (of: string, name: string, summary: string, path: string) =>
    recorder.send(app, of, name, summary, get(`/log/v0${path}`))
  await asked('getLog', 'log', 'The log of this deployment', '')
  await asked('getCheckpoint', 'one', 'A tree of one entry', '/checkpoint')
  await asked('getLogProof', 'answer', 'The entry of an answer', `/proof/${leaf}`)
  await asked('getLogProof', 'unknown', 'No such entry', `/proof/${'00'.repeat(32)}`)
  await asked('getLogProof', 'hash', 'Not a hash', `/proof/0x${leaf}`)
  await recorder.send(
    ...([app, 'getTileOfLog', 'tile', 'A tile of one hash: binary'] as const),
    get('/log/v0/tile/0/000.p/1'),
    () => '...',
  )
  await asked('getTileOfLog', 'none', 'A tile that the tree does not have', '/tile/0/001')
  await asked('getTileOfLog', 'path', 'Not a path of a tile', '/tile/0/1')
}

/** Sends requests to one service, and records the responses. */
class Asker {
  constructor(
    readonly recorder: Recorder,
    readonly app: FastifyInstance,
  ) {}

  ask(of: string, name: string, summary: string, request: InjectOptions) {
    return this.recorder.send(this.app, of, name, summary, request)
  }
  /** Asks about one operation after another. */
  async read(requests: readonly [of: string, name: string, summary: string, url: string][]) {
    for (const [of, name, summary, url] of requests) await this.ask(of, name, summary, get(url))
  }
  compute(of: string, name: string, summary: string, body: object) {
    return this.ask(of, name, summary, post(of, body))
  }
  query(name: string, summary: string, payload: object = { query: '{ __typename }' }) {
    return this.ask('queryGraphql', name, summary, query(payload))
  }
}
const LIST = '/api/v0/location-records'
const NO_UID = `0x${'12'.repeat(32)}`
const query = (payload: string | object, type = 'application/json'): InjectOptions => ({
  ...{ method: 'POST', url: '/graphql', headers: { 'content-type': type }, payload },
})
const send = (payload: string | object, headers: Record<string, string> = {}): InjectOptions => ({
  ...{ method: 'POST', url: '/mcp', payload },
  headers: { 'content-type': 'application/json', ...headers },
})
const tool = (name: string, values: object) =>
  send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: values } })
const MEASURE = tool('area', { geometry: PARK, chain: 'base-sepolia' })

async function record(): Promise<Example[]> {
  const recorder = new Recorder()
  const service = new Asker(recorder, plain)
  await recordComputations(service)
  await recordAnswers(service)
  await recordRefusals(service)
  await recordRecords(service)
  await recordGraphql(service)
  await recordMcp(service)
  await recordService(service)
  await recordAdmin(recorder, app)
  await recordFailures(service)
  return recorder.examples
}

/** Records an answer of each operation, and one that has landed. */
async function recordComputations(service: Asker): Promise<void> {
  const first = await service.compute('distance', 'points', 'Between two points', {
    ...{ from: TOWER, to: GATE },
  })
  await recordLog(service.recorder, service.app, first.json<{ log: LogClaim }>().log.leaf)
  await service.compute('contains', 'park', 'Whether a point lies in an attested park', {
    container: { uid: uids.park },
    geometry: { type: 'Point', coordinates: [13.3605, 52.5139] },
  })
  await service.compute('within', 'near', 'Whether a point is within 500 m of a street', {
    ...{ geometry: GATE, target: STREET, radius: 500 },
  })
  await service.compute('intersects', 'crossing', 'Whether a place in an offchain attestation meets a park', {
    ...{ geometry1: { attestation: offchainAttestation() }, geometry2: PARK },
  })
  await service.compute('area', 'park', 'Of a polygon', { geometry: PARK })
  await service.compute('length', 'street', 'Of a line', { geometry: STREET })
  const { attestation, delegatedAttestation } = first.json()
  const answer = { attestation, delegatedAttestation }
  await service.compute('resign', 'earlier', 'The first example of distance', answer)
  await service.compute('reference', 'place', 'The hash that pins a place', { geometry: PARK })
  await service.compute('batch', 'two', 'A distance and whether it is short', {
    operations: [
      { operation: 'distance', from: TOWER, to: GATE },
      { operation: 'within', geometry: TOWER, target: GATE, radius: 1000 },
    ],
  })
  await service.compute('zones', 'park', 'Which of two attested places contains a point', {
    geometry: { type: 'Point', coordinates: [13.35, 52.5145] },
    zones: { uids: [uids.park, uids.eiffelTower] },
  })
  await land(first.json())
  await service.compute('verify', 'landed', 'The first example of distance, once it has landed', answer)
}

async function recordAnswers(service: Asker): Promise<void> {
  await index()
  // A block of a local node has a different hash in each run.
  await rows(database.url, `UPDATE answer SET block_hash = '0x' || repeat('5e', 32)`)
  const list = '/api/v0/answers'
  const found = await service.ask('listAnswers', 'operation', 'Distances', get(`${list}?operation=distance`))
  await service.read([
    ['listAnswers', 'ndjson', 'As NDJSON', `${list}?format=ndjson`],
    ['listAnswers', 'csv', 'As CSV', `${list}?format=csv`],
    ['getAnswer', 'distance', 'A distance', `${list}/${found.json().data[0].uid}`],
    ['listAnswers', 'input', 'An input that is none', `${list}?input=Berlin`],
    ['getAnswer', 'format', 'A UID cut short', `${list}/0x12`],
    ['getAnswer', 'unknown', 'A UID of no answer', `${list}/${NO_UID}`],
  ])
}

/** Records errors of the Compute API. */
async function recordRefusals(service: Asker): Promise<void> {
  const refused = (name: string, summary: string, body: object, operation = 'distance') =>
    service.ask('Compute', name, summary, post(operation, body))
  const swapped = { type: 'Point', coordinates: [52.5163, 113.3777] }
  const changed = offchainAttestation({ recipient: testAccount(5).address })
  await refused('missing', 'A field is missing', { from: TOWER })
  await refused('swapped', 'Latitude and longitude are swapped', { from: TOWER, to: swapped })
  await refused('chain', 'The chain is not served', {
    ...{ chainId: 1, from: TOWER, to: GATE },
  })
  await refused('revoked', 'The attestation is revoked', { geometry: uids.revoked }, 'length')
  await refused('unknown', 'There is no such attestation', { from: NO_UID, to: GATE })
  await refused('changed', 'An offchain attestation was changed', {
    ...{ from: { attestation: changed }, to: GATE },
  })
}

async function recordRecords(service: Asker): Promise<void> {
  const { recorder, app } = service
  const near = 'near=13.3777,52.5163&radius=2000&revoked=false&total=true'
  await service.read([
    ['getLocationRecord', 'point', 'A point', `${LIST}/${uids.eiffelTower}`],
    ['listLocationRecords', 'box', 'In a box, one a page', `${LIST}?bbox=13,52,14,53&limit=1`],
    ['listLocationRecords', 'near', 'Within 2 km of a point, all counted', `${LIST}?${near}`],
    ['listLocationRecords', 'file', 'As a file', `${LIST}?format=geojson&limit=1`],
    ['listLocationRecords', 'file', 'As a file', `${LIST}?format=ndjson`],
    ['listLocationRecords', 'file', 'As a file', `${LIST}?format=csv`],
  ])
  for (const [format, letters] of [
    ['geoparquet', 4],
    ['flatgeobuf', 3],
  ] as const)
    await recorder.send(
      ...([app, 'listLocationRecords', 'file', 'As a file: how its bytes begin'] as const),
      get(`${LIST}?format=${format}`),
      (text) => `${text.slice(0, letters)}...`,
    )
  const park = get(`${LIST}/${uids.park}?format=geojson`)
  await service.ask('getLocationRecord', 'feature', 'A park as a Feature', park)
  recorder.examples.push({
    of: 'streamLocationRecords',
    name: 'events',
    summary: 'Two places are attested, another one too, and that one is revoked',
    status: 200,
    type: 'text/event-stream',
    response: await streamed(app, 4),
  })
  const stats = `${LIST}/stats`
  const answerStats = '/api/v0/answers/stats'
  const crossing = 'POLYGON((0 0,1 1,1 0,0 1,0 0))'
  await service.read([
    ['getTileJson', 'chain', 'Tiles of one chain', '/tiles/location-records.json?chain=base-sepolia'],
    ['getTileJson', 'chain', 'An unknown chain', '/tiles/location-records.json?chain=solana'],
    ['getTile', 'empty', 'A tile without records', '/tiles/location-records/4/0/12.mvt'],
    ['getTile', 'column', 'No such column', '/tiles/location-records/2/4/0.mvt'],
    ['getStatistics', 'counts', 'Counts', stats],
    ['getStatistics', 'groups', 'By chain, with areas', `${stats}?by=chain&sort=chain&sum=area`],
    ['getStatistics', 'csv', 'By chain, as CSV', `${stats}?by=chain&sort=chain&format=csv`],
    ['getAnswerStatistics', 'groups', 'By operation and chain', `${answerStats}?by=operation,chain`],
    [
      ...(['getAnswerStatistics', 'csv', 'By operation and chain, as CSV'] as const),
      `${answerStats}?by=operation,chain&format=csv`,
    ],
    ['getAnswerStatistics', 'dimension', 'No such dimension', `${answerStats}?by=memo`],
    ['getConfiguration', 'chains', 'Chains and schema', '/api/v0/config'],
    ['listSchemas', 'found', 'Schemas of the registries', '/api/v0/schemas'],
    ['listLocationRecords', 'chain', 'An unknown chain', `${LIST}?chain=solana`],
    ['listLocationRecords', 'bbox', 'A malformed box', `${LIST}?bbox=13,52,14`],
    ['listLocationRecords', 'ring', 'A ring that crosses itself', `${LIST}?intersects=${crossing}`],
    ['streamLocationRecords', 'position', 'An id that no event has', `${LIST}/stream?last_event_id=17`],
    ['getLocationRecord', 'format', 'A UID cut short', `${LIST}/0x12`],
    ['getLocationRecord', 'unknown', 'A UID that nothing has', `${LIST}/${NO_UID}`],
    ['getStatistics', 'parameter', 'A parameter it does not have', `${stats}?chain=celo`],
    ['getConfiguration', 'parameter', 'A parameter it does not have', '/api/v0/config?chain=celo'],
    ['listSchemas', 'parameter', 'A parameter it does not have', '/api/v0/schemas?chain=celo'],
  ])
}

async function recordGraphql(service: Asker): Promise<void> {
  await service.query('box', 'Places in a box', {
    query:
      'query ($bbox: [Float!]) { locationRecords(first: 2, filter: { bbox: $bbox }) { totalCount nodes { uid timestamp geometry } pageInfo { hasNextPage endCursor } } }',
    variables: { bbox: [-10, 35, 30, 60] },
  })
  await service.query('revocations', 'The latest revocation, and its record', {
    query:
      '{ attestationEvents(first: 1, filter: { kind: { equalTo: "REVOKED" } }) { nodes { uid attester blockTimestamp locationRecord { memo revoked } } } }',
  })
  await service.query('field', 'A field that does not exist', {
    query: '{ locationRecords { nodes { colour } } }',
  })
  await service.query('rows', 'Too many rows', {
    query: '{ locationRecords(first: 1000) { nodes { events { nodes { id } } } } }',
  })
  await service.query('large', 'A large body', {
    ...{ query: '{ __typename }', variables: { x: 'x'.repeat(70_000) } },
  })
  await service.ask('queryGraphql', 'type', 'No JSON', query('{ __typename }', 'application/graphql'))
  await service.read([['getGraphiql', 'program', 'For a program', '/graphql']])
}

async function recordMcp(service: Asker): Promise<void> {
  const asked = (name: string, summary: string, request: InjectOptions) =>
    service.ask('sendMcpMessage', name, summary, request)
  const near = { near: GATE.coordinates, radius: 2_000 }
  await asked('area', 'A question', MEASURE)
  await asked('records', 'Places near a place', tool('search_records', near))
  await asked('batch', 'Several messages', send([]))
  await asked('origin', "From another site's page", send({}, { origin: 'https://elsewhere.example' }))
  await asked('large', 'A large body', {
    ...{ method: 'POST', url: '/mcp' },
    headers: { 'content-type': 'application/json', 'content-length': '70000' },
  })
  await asked('type', 'No JSON', send('x', { 'content-type': 'text/plain' }))
}

async function recordService(service: Asker): Promise<void> {
  await service.read([
    ['getInformation', 'staging', 'A staging deployment', '/'],
    ['getHealth', 'healthy', 'All is well', '/health'],
    ['getReadiness', 'ready', 'Followed to the head', '/ready'],
  ])
  // The metrics of the process differ in each run.
  const some = (text: string) =>
    text
      .split('\n')
      .filter((line) => /geospatial_(database_up|chain_(head|indexed)_block)\b/.test(line))
      .join('\n')
  const metrics = get('/metrics')
  await service.recorder.send(service.app, 'getMetrics', 'some', 'Some of its lines', metrics, some)
  await service.read([
    ['getLlms', 'page', 'The page', '/llms.txt'],
    ['getErrorPage', 'page', 'As data', '/errors/rate-limited'],
    ['getErrorPage', 'unknown', 'An error that does not exist', '/errors/no-such'],
  ])
}

/** Records the responses of a service that is busy, lacks its node or its database, or has a fault. */
async function recordFailures({ recorder, app }: Asker): Promise<void> {
  const checkpoint = '/log/v0/checkpoint'
  const area = { geometry: PARK }
  const busy = new Asker(recorder, await serve({ rateLimitPerHour: 100 }))
  for (let i = 0; i < 100; i++)
    await Promise.all([
      ...['/compute/v0/nothing', '/api/v0/nothing'].map((url) => busy.app.inject(get(url))),
      busy.app.inject(send({})),
    ])
  await busy.ask('sendMcpMessage', 'limit', 'One message too many', send({}))
  await busy.ask('Compute', 'limit', 'One request too many', post('area', area))
  await busy.read([
    ['Records', 'limit', 'One request too many', '/api/v0/config'],
    ['Log', 'limit', 'One request too many', checkpoint],
  ])
  await busy.query('limit', 'One request too many')

  let broken = false
  const noNode = new Asker(
    recorder,
    await serve({ fault: () => (broken ? { error: { code: -32000, message: 'overloaded' } } : undefined) }),
  )
  await noNode.app.inject(get('/'))
  broken = true
  await noNode.ask('Compute', 'node', "The chain's node does not answer", post('area', area))
  const slow = await serve({
    timeouts: { request: 60_000, answer: 500 },
    fault: () => ({ ask: () => new Promise(() => {}) }),
  })
  await recorder.send(slow, 'sendMcpMessage', 'late', 'No answer in time', MEASURE)
  const none = new Asker(recorder, await serve({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }))
  await none.read([
    ['Records', 'database', 'The database does not respond', LIST],
    ['Log', 'database', 'The database does not respond', checkpoint],
  ])
  await none.query('database', 'The database does not respond')
  const fault = new Error('x')
  const schema = () => {
    throw fault
  }
  const faulty = { rowsOf: () => undefined, schema, run: () => Promise.reject(fault) }
  await new Asker(recorder, await serve({ graphql: faulty })).query('fault', 'The service has a fault')
  await none.read([
    ['getHealth', 'unhealthy', 'The database does not respond', '/health'],
    ['getReadiness', 'database', 'The database does not respond', '/ready'],
  ])
  for (const [of, url, table, column] of [
    ['Records', LIST, 'location_record', 'line'],
    ['Log', checkpoint, 'log_state', 'published'],
  ] as const) {
    await rows(database.url, `ALTER TABLE ${table} RENAME COLUMN ${column} TO renamed`)
    await recorder.send(app, of, 'fault', 'The service has a fault', get(url))
    await rows(database.url, `ALTER TABLE ${table} RENAME COLUMN renamed TO ${column}`)
  }
}

/**
 * Records examples of the admin API of webhooks. Ids, secrets and times that differ in each run are replaced.
 */
async function recordAdmin(recorder: Recorder, admin: FastifyInstance): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}` }
  const request = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object): InjectOptions => ({
    ...{ method, url: `/admin/v0/webhooks${path}`, headers },
    ...(payload && { payload }),
  })
  const replaced = (text: string) =>
    text
      .replace(/"wh_[0-9a-f]{24}"/g, '"wh_0f1e2d3c4b5a69788796a5b4"')
      .replace(/("(?:created_at|died_at)":)"[^"]*"/g, `$1"${new Date(NOW * 1000).toISOString()}"`)
      .replace(/"secret":"[^"]*"/g, `"secret":"whsec_${Buffer.alloc(24, 1).toString('base64')}"`)
      .replace(/"position":"[^"]*"/g, '"position":"cQ3xW0Zk,base-sepolia.1"')
      .replace(/"number":\d+/g, '"number":1')
  const asked = (of: string, name: string, summary: string, given: InjectOptions, by = admin) =>
    recorder.send(by, of, name, summary, given, replaced)
  const hook = { url: 'https://maps.example/hook', filter: { chain: 'base-sepolia', bbox: '13,52,14,53' } }
  const made = await asked('addWebhook', 'box', 'Final changes in a box', request('POST', '', hook))
  const { id } = made.json<{ id: string }>()
  await rows(
    database.url,
    `INSERT INTO webhook_dead_letter (subscription, message, body, attempts, error) VALUES ($1, $2, $3, 15, $4)`,
    [
      ...[id, 'msg_HpiVr26plDw5CLXmJMz1R2ZXqnc'],
      ...['{"type":"reset","timestamp":"2026-01-01T00:00:00.000Z","data":{"reason":"Changes were lost."}}'],
      'the receiver returned 503',
    ],
  )
  await asked('listWebhooks', 'page', 'A page', request('GET', ''))
  await asked('getWebhook', 'one', 'One of them', request('GET', `/${id}`))
  await asked('rotateWebhookSecret', 'new', 'A new secret', request('POST', `/${id}/rotate-secret`))
  const since = new Date((NOW - DAY) * 1000).toISOString()
  await asked('replayWebhook', 'day', 'From a time on', request('POST', `/${id}/replay`, { since }))
  await asked('listDeadLetters', 'one', 'One message', request('GET', `/${id}/dead-letters`))
  await rows(database.url, `UPDATE webhook_subscription SET source = 'file' WHERE id = $1`, [id])
  await asked('removeWebhook', 'file', 'One of the settings', request('DELETE', `/${id}`))
  await asked('rotateWebhookSecret', 'file', 'One of the settings', request('POST', `/${id}/rotate-secret`))
  await rows(
    database.url,
    `INSERT INTO webhook_subscription (id, source, url, finality, filter, secrets)
     SELECT 'x' || n, 'admin', 'https://x', 'final', '{}', '{}' FROM generate_series(1, 10000) AS n`,
  )
  await asked('addWebhook', 'full', 'One too many', request('POST', '', hook))
  await rows(database.url, 'DELETE FROM webhook_subscription')
  await asked('Admin', 'unknown', 'One that does not exist', request('GET', '/wh_0'))
  await asked('Admin', 'key', 'Without the key', { ...request('GET', ''), headers: {} })
  await asked('Admin', 'wrong', 'An address that is not allowed', request('POST', '', { url: 'http://x' }))
  const noDatabase = await administered('postgres://nobody@127.0.0.1:1/none')
  await asked('Admin', 'database', 'The database does not respond', request('GET', ''), noDatabase)
}

let examples: Example[]
/** Services without and with the admin API. */
let plain: FastifyInstance
let app: FastifyInstance
let checker: OpenApiChecker
beforeAll(async () => {
  // Removes ages, which depend on the clock of the database.
  const ageless = (key: string, value: unknown) => (key === 'lag_seconds' && value !== null ? 0 : value)
  ;[plain, app] = [await serve(), await administered()]
  examples = JSON.parse(JSON.stringify(await record(), ageless)) as Example[]
  checker = openApiChecker(app.swagger())
})

/** Every operation of the document. */
const operations = () =>
  Object.entries(checker.document.paths as Record<string, Record<string, any>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  )

test('the service returns the recorded examples', async () => {
  // An internal error must not be recorded as an example.
  const faults = examples.filter(({ status }) => status === 500).map(({ of }) => of)
  const recorded = ['Compute', 'Records', 'Log', 'queryGraphql']
  expect(faults.filter((of) => !recorded.includes(of))).toEqual([])
  await expect(`${packed(examples)}\n`).toMatchFileSnapshot('openapi-examples.json')
})

describe('the OpenAPI document', () => {
  test('is OpenAPI 3.1 and describes this deployment', async () => {
    const answer = await app.inject(get('/openapi.json'))
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(answer.json()).toEqual(JSON.parse(JSON.stringify(checker.document)))
    const { openapi, info, servers, tags } = answer.json()
    expect([openapi, servers]).toEqual(['3.1.0', [{ url: RECORDED_BASE_URL, description: 'staging' }]])
    expect(info.title).toEqual(expect.any(String))
    expect(info.version).toMatch(/^\d+\.\d+\.\d+$/)
    const names = new Set(tags.map(({ name }: { name: string }) => name))
    for (const { operation } of operations())
      expect(operation.tags.every((tag: string) => names.has(tag))).toBe(true)
  })
  test('has a description and all responses for every operation', () => {
    for (const { path, method, operation } of operations()) {
      const at = `${method} ${path}`
      expect(operation, at).toMatchObject({
        operationId: expect.stringMatching(/^[a-zA-Z]+$/),
        summary: expect.stringMatching(/./),
        description: expect.stringMatching(/\.\)?$/),
        tags: [expect.any(String)],
      })
      const responses = Object.entries<any>(operation.responses)
      expect(responses.filter(([status]) => /^2/.test(status)).length, at).toBeGreaterThan(0)
      for (const [status, { description, content = {}, headers = {} }] of responses) {
        expect(status).toMatch(/^[1-5]\d\d$/)
        expect(description, `${at} ${status}`).not.toMatch(/^Default Response$|^$/)
        if (!['202', '204', '304'].includes(status))
          expect(Object.keys(content), `${at} ${status}`).not.toEqual([])
        for (const header of Object.values(headers))
          expect(header).toMatchObject({
            schema: { type: expect.stringMatching(/^(integer|string)$/) },
            description: expect.any(String),
          })
      }
      if (path.startsWith('/compute/'))
        expect(Object.keys(operation.responses)).toEqual(
          ['200', ...Object.values(COMPUTE_ERRORS).map(({ status }) => String(status))].sort(),
        )
    }
    const ids = operations().map(({ operation }) => operation.operationId as string)
    expect(ids).toEqual([...new Set(ids)])
    expect(ids).toEqual(expect.arrayContaining(Object.keys(OPERATIONS)))
  })
  test('has unique parameter names, and path parameters that match the braces of the path', () => {
    for (const { path, operation } of operations()) {
      const all: any[] = operation.parameters ?? []
      expect(new Set(all.map((parameter) => `${parameter.in} ${parameter.name}`)).size).toBe(all.length)
      const documented = { schema: expect.any(Object), description: expect.stringMatching(/./) }
      for (const parameter of all) expect(parameter).toMatchObject(documented)
      const inPath = all.filter((parameter) => parameter.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      expect(inPath.every(({ required }) => required)).toBe(true)
    }
  })
  test(
    'has only valid schemas of strict JSON Schema 2020-12, and a target for every reference',
    { tags: ['slow'] },
    () => {
      const components = Object.keys(checker.document.components.schemas)
      const references = JSON.stringify(checker.document).matchAll(/"\$ref":"([^"]+)"/g)
      const targets = new Set([...references].map(([, to]) => to!))
      expect(targets).toEqual(new Set(components.map((name) => `#/components/schemas/${name}`)))
      const expectValid = (...parts: string[]) =>
        expect(() => checker.problems(pointerTo(...parts), '')).not.toThrow()
      for (const name of components) expectValid('components', 'schemas', name)
      for (const { path, method, operation } of operations()) {
        for (const i of (operation.parameters ?? []).keys())
          expectValid('paths', path, method, 'parameters', String(i), 'schema')
        for (const [status, { content = {} }] of Object.entries<{ content?: object }>(operation.responses))
          for (const type of Object.keys(content))
            expectValid('paths', path, method, 'responses', status, 'content', type, 'schema')
      }
    },
  )
  test('describes every route of the API, and no other route', () => {
    const documented = operations().map(
      ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    )
    // The tree shows the route of /assets as `GET /*`.
    const others =
      / \/(docs|manual|guide|ogc|r\/|\*|playground|attest|log$|local-nodes)|^OPTIONS | \/graphql\/graphiql\//
    const routes = routesOf(app).filter((route) => !others.test(route))
    expect(routes.sort()).toEqual(documented.sort())
  })
})

describe('the examples of the OpenAPI document', () => {
  test('exist for every request and response', () => {
    for (const { path, method, operation } of operations()) {
      if (operation.operationId === 'getOpenapi') continue
      const { examples: ofRequest = {} } = operation.requestBody?.content['application/json'] ?? {}
      if (operation.requestBody) expect(Object.keys(ofRequest), `request of ${path}`).not.toEqual([])
      for (const [status, { content = {} }] of Object.entries<{ content?: object }>(operation.responses))
        // HTML pages need no example, because no program reads them.
        for (const [type, media] of Object.entries(content).filter(([type]) => type !== 'text/html'))
          expect(Object.keys(media.examples ?? {}), `${method} ${path} ${status} ${type}`).not.toEqual([])
    }
  })
  test('match their schemas', () => {
    let count = 0
    const hold = (
      pointer: string,
      media: Record<string, { examples?: Record<string, { value: unknown }> }>,
    ) => {
      for (const [type, { examples = {} }] of Object.entries(media))
        for (const [name, { value }] of Object.entries(examples)) {
          const problems = checker.problems(`${pointer}${pointerTo('content', type, 'schema')}`, value)
          expect(problems, `${pointer} ${name}`).toBeUndefined()
          count++
        }
    }
    for (const { path, method, operation } of operations()) {
      if (operation.requestBody)
        hold(pointerTo('paths', path, method, 'requestBody'), operation.requestBody.content)
      for (const [status, response] of Object.entries<any>(operation.responses))
        if (response.content) hold(pointerTo('paths', path, method, 'responses', status), response.content)
    }
    expect(count).toBeGreaterThan(80)
  })
  test('are all shown in the document', () => {
    const shown = JSON.stringify(checker.document)
    for (const { of, name, summary, response } of examples)
      expect(shown.includes(JSON.stringify({ summary, value: response })), `${of}: ${name}`).toBe(true)
  })
  test(
    'contain the address of the deployment, even if the address has a path',
    { tags: ['slow'] },
    async () => {
      const other = await serve({ publicBaseUrl: 'https://other.example:8443/geo' })
      const { body } = await other.inject(get('/openapi.json'))
      expect(JSON.parse(body).servers[0].url).toBe('https://other.example:8443/geo')
      expect(body).toContain('https://other.example:8443/geo/errors/invalid-input')
      expect(body).not.toContain(RECORDED_BASE_URL)
      const page = await other.inject(get('/docs'))
      expect(page.body).toContain('<a href="docs/distance">POST /compute/v0/distance</a>')
      const { body: operation } = await other.inject(get('/docs/distance'))
      expect(operation).toContain('https://other.example:8443/geo/compute/v0/distance')
      const address = 'https://other.example:8443/geo/manual/reference/record-formats'
      expect((await other.inject(get('/docs/listLocationRecords'))).body).toContain(`<a href="${address}">`)
    },
  )
})

describe('the schemas of the OpenAPI document', () => {
  test('forbid only requests that the service rejects', async () => {
    const answer = await app.inject(post('distance', { chainId: '84532', from: TOWER, to: TOWER }))
    expect(answer.json().detail).toContain('chainId: expected a chain ID as a whole number')
    const list = await app.inject(get(`${LIST}?limit=x`))
    expect(list.json().message).toBe('Invalid limit parameter')
  })
  test('are compared by a checker that finds a missing, an incorrect and an unknown field', async () => {
    const { body } = await app.inject(get('/health'))
    const health = { method: 'GET', path: '/health', status: 200, type: 'application/json; charset=utf-8' }
    const check = (change: object) => () =>
      checker.check({ ...health, response: { ...JSON.parse(body), ...change } })
    expect(check({})).not.toThrow()
    expect(check({ version: undefined })).toThrow(/version/)
    expect(check({ status: 'fine' })).toThrow(/status must be equal to one of the allowed values/)
    expect(check({ more: 1 })).toThrow(/must NOT have additional properties/)
    const unknown = () => checker.check({ ...health, status: 418, type: 'application/json', response: {} })
    expect(unknown).toThrow('no application/json of status 418 is documented')
  })
  test('describe the rate-limit headers that the service sends', async () => {
    const { headers } = await app.inject(post('area', { geometry: PARK }))
    const documented = Object.keys(checker.document.paths['/compute/v0/area'].post.responses[200].headers)
    const sent = Object.keys(headers).filter((name) => name.includes('ratelimit'))
    expect(sent.sort()).toEqual(documented.sort())
  })
})

describe('the pages of the service', () => {
  const HTML = 'text/html; charset=utf-8'
  const page = (url: string, accept?: string) =>
    app.inject({ url, headers: accept === undefined ? {} : { accept } })
  test.each(Object.entries(COMPUTE_ERRORS))(
    'exist at %s, for browsers and for programs',
    async (slug, { status, title }) => {
      const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
      const html = await page(`/errors/${slug}`, browser)
      expect([html.statusCode, html.headers['content-type']]).toEqual([200, HTML])
      expect(html.headers.vary).toBe('accept, accept-encoding')
      expect(html.headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/,
      )
      expect(html.body).toContain(`<h1><bdi>${title}</bdi></h1>`)
      expect(html.body).not.toMatch(/<script|undefined|\bon\w+=/)
      for (const accept of [undefined, '*/*', 'application/json']) {
        const data = await page(`/errors/${slug}`, accept)
        const type = `${RECORDED_BASE_URL}/errors/${slug}`
        const explained = ERROR_PAGES[slug as keyof typeof ERROR_PAGES]
        expect(data.json()).toEqual({ type, title, status, ...explained })
      }
    },
  )
  test.each(['nothing', 'constructor', '%3Cscript%3E', '..%2F..%2Fetc', ''])(
    'do not exist at /errors/%s',
    async (slug) => {
      const answer = await page(`/errors/${slug}`)
      expect(answer.statusCode).toBe(404)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.json()).toMatchObject({ status: 'error', message: 'Not found' })
      const html = await page(`/errors/${slug}`, 'text/html')
      expect([html.statusCode, html.headers['content-type']]).toEqual([404, HTML])
      expect(html.body).not.toContain('<script')
    },
  )
  test('describe every operation at /docs, without scripts and without counting for the rate limit', async () => {
    const list = await page('/docs')
    for (const { operation } of operations()) {
      const shown = await page(`/docs/${operation.operationId}`)
      expect(list.body).toContain(`href="docs/${operation.operationId}"`)
      for (const each of [list, shown]) {
        expect([each.statusCode, each.headers['ratelimit-limit']]).toEqual([200, undefined])
        expect(each.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/)
        expect(each.body).not.toMatch(/<script|undefined|\[object/)
      }
      const { properties = {} } = operation.requestBody?.content['application/json']?.schema ?? {}
      for (const name of Object.keys(properties))
        expect(shown.body, `${operation.operationId} ${name}`).toContain(`<code>${name}</code>`)
    }
  })
  test('show at /docs a command with the method, the key and the body of each operation', async () => {
    const commandOf = async (operation: string) =>
      /<pre>(curl.*)<\/pre>/
        .exec((await page(`/docs/${operation}`)).body)?.[1]!
        .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    const [url, key] = [`${RECORDED_BASE_URL}/admin/v0/webhooks`, '-H "authorization: Bearer $ADMIN_KEY"']
    expect(await commandOf('removeWebhook')).toBe(`curl '${url}/{id}' -X DELETE ${key}`)
    expect(await commandOf('getWebhook')).toBe(`curl '${url}/{id}' ${key}`)
    expect(await commandOf('distance')).toMatch(/^curl '\S+' -H 'content-type: application\/json' -d '\{/)
  })
  test('find operations at /docs by all words of a search', async () => {
    const found = async (query: string) =>
      [...(await page(`/docs?q=${encodeURIComponent(query)}`)).body.matchAll(/href="docs\/(\w+)"/g)].map(
        ([, id]) => id,
      )
    expect(await found('RADIUS geometr')).toContain('within')
    expect(await found('RADIUS geometr')).not.toContain('area')
    expect(await found('no such words')).toEqual([])
    expect((await page('/docs?q=%3Cscript%3E')).body).not.toContain('<script')
  })
  test.each(['/docs/nothing'])('return 404 at %s, in the form of the Records API', async (url) => {
    const answer = await page(url)
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ status: 'error', message: 'Not found' })
  })
  test('exist for each link of /llms.txt', async () => {
    const { headers, body } = await page('/llms.txt')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    // The page has a title, a summary, important facts and lists of links (llmstxt.org).
    expect(body).toMatch(/^# .+\n\n> .+\n\n- [^]+\n\n## /)
    expect(body).toContain('Chains: base-sepolia (84532).')
    const links = [...body.matchAll(/^- \[.+?\]\((.+?)\): .{10}/gm)].map((match) => match[1]!)
    expect(links.length).toBeGreaterThan(12)
    for (const guide of ['client', 'cli', 'agents', 'contracts', 'first-steps', 'landing-an-answer'])
      expect(links.map((link) => link.replace(RECORDED_BASE_URL, ''))).toContain(`/manual/guide/${guide}.md`)
    for (const link of links) {
      const path = link.replace(RECORDED_BASE_URL, '') || '/'
      const { statusCode } = await page(path, path === '/graphql' ? 'text/html' : '*/*')
      expect([path, statusCode]).toEqual([path, path === '/mcp' ? 405 : 200])
    }
    const [, url, question] = /`POST https:\/\/geo\.example(\S+)` with `(.+?)`/.exec(body)!
    const answer = await app.inject({ method: 'POST', url: url!, payload: JSON.parse(question!) })
    expect([answer.statusCode, answer.json().result]).toEqual([200, 881329.94])
  })
  test('include GET / with the chains, their attesters, and why the service cannot sign for a chain', async () => {
    const attester = new Wallet(LOCAL_SIGNER_KEY).address
    const { body } = await page('/')
    const text: string = expect.any(String)
    const { id, slug, eas, schemaRegistry } = LOCAL_CHAIN
    const domain = { name: 'EAS', version: '1.2.0', chainId: id, verifyingContract: eas }
    const types = { Attest: ATTEST_FIELDS.v1 }
    expect(JSON.parse(body)).toMatchObject({
      ...{ name: text, deployment: 'staging', version: text, description: text },
      chains: [
        { id, slug, eas, schemaRegistry, attester, ready: true, domain, primaryType: 'Attest', types },
      ],
      endpoints: {
        compute: expect.arrayContaining([`POST ${RECORDED_BASE_URL}/compute/v0/distance`]),
        records: expect.arrayContaining([`GET ${RECORDED_BASE_URL}/api/v0/location-records/:uid`]),
      },
    })
    const lying = await serve({
      fault: ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : undefined),
    })
    expect((await lying.inject(get('/'))).json().chains).toMatchObject([
      { id: 84532, attester, ready: false, reason: 'its RPC endpoint is on chain 1', abi: [] },
    ])
  })
  test('include every endpoint that GET / names', async () => {
    const { endpoints } = (await page('/')).json()
    const all = Object.values<string | string[]>(endpoints).flat()
    expect(all.length).toBeGreaterThan(14)
    const routes = routesOf(app)
    for (const each of all) expect(routes).toContain(each.replace(RECORDED_BASE_URL, ''))
  })
})

/**
 * Reads the method and path of every route from the tree that Fastify prints, without HEAD and preflights.
 */
function routesOf(app: FastifyInstance): string[] {
  const branch: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const [, indent, part, , methods] = /^(.*?)[├└]── (\S+|\(empty root node\))( \(([A-Z, ]+)\))?$/.exec(
        line,
      )!
      const depth = indent!.length / 4
      branch.splice(depth, Infinity, part!.startsWith('(') ? '' : part!)
      return (
        (methods?.split(', ') ?? [])
          .filter((method) => method !== 'HEAD' && method !== 'OPTIONS')
          // The tree shows the wildcard of tiles below its parent.
          .map((method) => `${method} ${branch.join('').replace(/^\/log\/v0\*$/, '/log/v0/tile/:path')}`)
      )
    })
}
