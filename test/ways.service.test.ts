import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildTestServer } from './api'
import { createMigratedDatabase, type TestDatabase } from './database'
import { insertRecords } from './records'
import { startTestChain } from './chains'
import { freePort } from '../dev/services'
import { LOCAL_CHAIN, attest, locationRequest, type LocalChain } from '../dev/chain'
import { positions } from './positions'
import { SILENT } from './rpc-proxy'
import { BlockReader, Doubt, HeadReader } from '../src/chain'
import { rpcLimits } from '../src/chains'
import { BodyReader } from '../src/indexer/bodies'
import { IndexerMetrics } from '../src/indexer/metrics'
import { runProcessor } from '../src/indexer/processor'
import { Registry } from '../src/indexer/registry'
import { Database, Lease } from '../src/indexer/store'
import { ALL_SCHEMAS } from '../src/location'
import { Rpc } from '../src/rpc'

/** Tests which source files a request or a block runs through, by V8's counts of function calls. */

let database: TestDatabase
let chain: LocalChain
let server: Awaited<ReturnType<typeof buildTestServer>>
const profiler = new Session()
beforeAll(async () => {
  database = await createMigratedDatabase()
  const square = positions('0 40, 10 40, 10 50, 0 50, 0 40')
  await insertRecords(database.url, [
    { geometry: { type: 'Point', coordinates: [2, 50] } },
    { geometry: { type: 'Polygon', coordinates: [square] } },
  ])
  chain = await startTestChain({ port: await freePort() })
  server = await buildTestServer({
    databaseUrl: database.url,
    rpcUrl: chain.url,
    pageCacheBytes: 0,
    tileCacheBytes: 0,
  })
  profiler.connect()
  await profiler.post('Profiler.enable')
  await profiler.post('Debugger.enable')
  await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
afterAll(async () => {
  await profiler.post('Profiler.stopPreciseCoverage')
  await profiler.post('Debugger.disable')
  profiler.disconnect()
})

/** Returns the calls of each script since the last time, and forgets them. */
const takeCalls = async () => (await profiler.post('Profiler.takePreciseCoverage')).result

/** Files of rooms with a function that was called. Files in http, service and src itself serve all rooms. */
async function filesOf(calls: Awaited<ReturnType<typeof takeCalls>>): Promise<string[]> {
  const called: typeof calls = []
  for (const script of calls.filter(({ url }) => /\/(api|src)\//.test(url))) {
    const { scriptSource } = await profiler.post('Debugger.getScriptSource', { scriptId: script.scriptId })
    // Vite makes a getter of each export, which does not count as a call. V8 names it `get`, or not at all.
    const isCall = ({ startOffset, count }: { startOffset: number; count: number }) =>
      count > 0 && !scriptSource.startsWith('() => { try { return ', startOffset)
    if (script.functions.some(({ ranges }) => ranges.some(isCall))) called.push(script)
  }
  const files = called
    .map(({ url: file }) => (file.startsWith('file:') ? fileURLToPath(file) : file))
    .map((file) => path.relative(process.cwd(), file))
  return [...new Set(files)].filter((file) => /^(api|src)\/(?!http\/|service\/)[^/]+\//.test(file)).sort()
}

/** Files of rooms of the API that a request runs through. */
async function passedBy(request: string | InjectOptions): Promise<string[]> {
  // The first response fills caches that later ones use.
  expect((await server.app.inject(request)).statusCode).toBe(200)
  await takeCalls()
  expect((await server.app.inject(request)).statusCode).toBe(200)
  return (await filesOf(await takeCalls())).filter((file) => file.startsWith('api/'))
}

/** Files of a row in the table of flows in docs/architecture/README.md. */
function documented(flow: string): string[] {
  const row = readFileSync('docs/architecture/README.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`| ${flow} |`))!
  let folder = ''
  return [...row.matchAll(/`([^`]+)`/g)]
    .map(([, name]) => {
      if (name!.includes('/')) folder = path.posix.dirname(name!)
      return `${name!.includes('/') ? name! : `${folder}/${name!}`}.ts`
    })
    .sort()
}

test.each([
  ['a page of the list', ''],
  ['filters', 'chain=celo&prover=0x0000000000000000000000000000000000000001&location_type=h3,geojson-point'],
  ['a box and times', 'bbox=0,40,20,60&fromTimestamp=2020-01-01&toTimestamp=2100'],
  ['a total', 'revoked=false&total=true&limit=1'],
])('a record query passes 7 files: %s', async (_name, query) => {
  const files = await passedBy(`/api/v0/location-records?${query}`)
  expect(files).toEqual(documented('a record query'))
  expect(files.length).toBeLessThanOrEqual(7)
})

test('a tile request passes 6 files of its room', async () => {
  const files = (await passedBy('/tiles/location-records/0/0/0.mvt')).filter((file) =>
    file.startsWith('api/tiles/'),
  )
  expect(files).toEqual(documented('a tile'))
  expect(files.length).toBeLessThanOrEqual(6)
})

test('a computation passes 7 files of its room', async () => {
  const point = { type: 'Point', coordinates: [13, 50] }
  const payload = { chainId: LOCAL_CHAIN.id, from: point, to: point }
  const files = (await passedBy({ method: 'POST', url: '/compute/v0/distance', payload })).filter((file) =>
    file.startsWith('api/compute/'),
  )
  expect(files).toEqual(documented('a computation'))
  expect(files.length).toBeLessThanOrEqual(7)
})

test('a block of history passes 9 files of the rooms that read and write it', async () => {
  const indexed = { ...LOCAL_CHAIN, finality: 1 }
  for (let longitude = 0; longitude < 6; longitude++) {
    await attest(chain, locationRequest({ type: 'Point', coordinates: [longitude, 2] }))
    await chain.provider.send('anvil_mine', ['0x64'])
  }
  const stop = new AbortController()
  const common = { chain: indexed, log: SILENT, signal: stop.signal, doubt: new Doubt() }
  const rpc = new Rpc({ ...common, urls: [chain.url], ...rpcLimits(indexed) })
  const written = new Database((await createMigratedDatabase()).url, () => {})
  try {
    const lease = new Lease(written, indexed, SILENT)
    await lease.take(() => {})
    const registry = new Registry({ ...common, rpc, database: written, policy: ALL_SCHEMAS, lease })
    await registry.load()
    await registry.note(true)
    const blocks = new BlockReader(rpc, registry, common.doubt)
    const head = new HeadReader({ ...common, blocks, finality: indexed.finality, pollMs: 1_000 })
    const bodies = new BodyReader(rpc, indexed.eas)
    // The first range creates and connects parts. The count is that of the next ranges, up to the head.
    const prefetch = bodies.prefetch.bind(bodies)
    let ranges = 0
    bodies.prefetch = (times) => {
      if (ranges++ === 0) void takeCalls()
      prefetch(times)
    }
    let calls: Awaited<ReturnType<typeof takeCalls>> | undefined
    const end = new Error('the history has ended')
    head.follow = async () => {
      calls = await takeCalls()
      throw end
    }
    await expect(
      runProcessor({
        ...{ ...common, rpc, registry, blocks, head, bodies, lease, batches: written },
        ...{ gatewayUrl: undefined, stored: undefined, metrics: new IndexerMetrics(undefined) },
        ...{ storedAtOrBelow: () => Promise.resolve(undefined), requireSameChain: () => Promise.resolve() },
      }),
    ).rejects.toBe(end)
    expect(ranges).toBeGreaterThan(1)
    expect(await written.query('SELECT count(*)::int AS records FROM location_record')).toEqual([
      { records: 6 },
    ])
    const files = (await filesOf(calls!)).filter((file) => /^src\/(chain|indexer)\//.test(file))
    expect(files).toEqual(documented('a block'))
    expect(files.length).toBeLessThanOrEqual(9)
    await lease.release()
  } finally {
    stop.abort()
    rpc.close()
    await written.close()
  }
})
