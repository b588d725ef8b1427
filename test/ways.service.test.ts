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
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import { positions } from './positions'

/** Tests which source files a request runs through, by V8's counts of function calls. */

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

/**
 * Files of rooms that a request runs through. Files in http, service and src handle requests of all rooms.
 */
async function passedBy(request: string | InjectOptions): Promise<string[]> {
  // The first response fills caches that later ones use.
  expect((await server.app.inject(request)).statusCode).toBe(200)
  await profiler.post('Profiler.takePreciseCoverage')
  expect((await server.app.inject(request)).statusCode).toBe(200)
  const { result } = await profiler.post('Profiler.takePreciseCoverage')
  const called: typeof result = []
  for (const script of result.filter(({ url }) => url.includes('/api/'))) {
    const { scriptSource } = await profiler.post('Debugger.getScriptSource', { scriptId: script.scriptId })
    // Vite makes a getter of each export, which does not count as a call. V8 names it `get`, or not at all.
    const isCall = ({ startOffset, count }: { startOffset: number; count: number }) =>
      count > 0 && !scriptSource.startsWith('() => { try { return ', startOffset)
    if (script.functions.some(({ ranges }) => ranges.some(isCall))) called.push(script)
  }
  const files = called
    .map(({ url: file }) => (file.startsWith('file:') ? fileURLToPath(file) : file))
    .map((file) => path.relative(process.cwd(), file))
  return [...new Set(files)].filter((file) => /^api\/(?!http\/|service\/)[^/]+\//.test(file)).sort()
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
