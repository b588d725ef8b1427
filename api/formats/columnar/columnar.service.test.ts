// @module-tag slow
import { readlinkSync, readdirSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import path from 'node:path'
import { deserialize } from 'flatgeobuf/lib/mjs/generic.js'
import { parseProperties } from 'flatgeobuf/lib/mjs/generic/feature.js'
import { parquetReadObjects } from 'hyparquet'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../../dev/random'
import { COLUMNAR_WORKER, startApi, type TestApi } from '../../../test/api'
import { createMigratedDatabase, temporaryFolder, type TestDatabase } from '../../../test/database'
import { insertRecords, somePlaces } from '../../../test/records'
import { sentence, testSentences } from '../../../test/sentences'
import { OWN_WORK } from '../../http/work'
import { ColumnarFiles } from './file'

/**
 * Tests requests for GeoParquet and FlatGeobuf files, and the temporary files in which they are built.
 * columnar.system.test.ts reads the files with other programs.
 */
const LIST = '/api/v0/location-records'
const FORMATS = [
  ['geoparquet', 'application/vnd.apache.parquet', 'location-records.parquet'],
  ['flatgeobuf', 'application/vnd.flatgeobuf', 'location-records.fgb'],
] as const
type Format = (typeof FORMATS)[number][0]
const SEED = 2_511
const random = seededRandom(SEED)
/** Their memos, which no format compresses, fill the buffers of a connection. */
const given = somePlaces(2_400, SEED).map((place) => ({
  ...place,
  memo: Array.from({ length: 160 }, () => Math.floor(random() * 2 ** 48).toString(36)).join(''),
}))

let database: TestDatabase
let api: TestApi
beforeAll(async () => {
  database = await createMigratedDatabase()
  await insertRecords(database.url, given)
  api = await startApi({ databaseUrl: database.url, trustProxy: ['127.0.0.1/32'] })
})
const open: IncomingMessage[] = []
afterEach(() => {
  for (const response of open.splice(0)) response.destroy()
})

let clients = 0
/** Sends a request as a separate client, because a client may run only two exports at a time. */
const ask = (query: string, { headers, ...init }: RequestInit = {}) =>
  fetch(`${api.url}${LIST}${query}`, {
    ...init,
    headers: { ...headers, 'x-forwarded-for': `198.51.100.${clients++ % 250}` },
  })
/** Requests a file and reads the UIDs of its records. */
async function uidsIn(format: Format, query: string): Promise<string[]> {
  const response = await ask(`?format=${format}${query}`)
  expect(response.status, await response.clone().text()).toBe(200)
  const file = await response.arrayBuffer()
  if (format === 'geoparquet')
    return (await parquetReadObjects({ file, columns: ['uid'] })).map(({ uid }) => uid as string).sort()
  const uids: string[] = []
  // The reader's own features need a geometry.
  const fromFeature = (_: number, feature: never, { columns }: { columns: never }) =>
    void uids.push((parseProperties(feature, columns) as { uid: string }).uid)
  for await (const _ of deserialize(new Uint8Array(file), {
    fromFeature,
  } as never) as AsyncIterable<unknown>);
  return uids.sort()
}

describe('a columnar format over HTTP,', () => {
  test.each(FORMATS)(
    '%s is available by name or by Accept, for HEAD, and as 304',
    async (format, type, name) => {
      for (const response of [
        await ask(`?format=${format}&chain=celo`),
        await ask('?chain=celo', { headers: { accept: `${type}, application/json;q=0.5` } }),
        await ask(`?format=${format}`, { method: 'HEAD' }),
        await ask(`?format=${format}&limit=3`),
      ]) {
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toBe(type)
        expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`)
        expect(response.headers.get('etag')).toMatch(new RegExp(`-${format}"$`))
        await response.arrayBuffer()
      }
      const etag = (await ask(`?format=${format}`, { method: 'HEAD' })).headers.get('etag')!
      expect((await ask(`?format=${format}`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    },
  )
  test.each(FORMATS)('%s rejects parameters that it cannot represent', async (format) => {
    for (const [query, message] of [
      ['near=1,2&sort=distance', 'Invalid sort parameter'],
      ['include=provenance', 'Invalid include parameter'],
      ['geometry=wkt', 'Invalid geometry parameter'],
      ['total=true', 'Invalid total parameter'],
    ]) {
      const response = await ask(`?format=${format}&${query}`)
      expect([response.status, await response.json()]).toEqual([400, expect.objectContaining({ message })])
    }
  })
  test('GeoParquet alone accepts the parameter version', async () => {
    for (const query of ['?version=2', '?format=flatgeobuf&version=2', '?format=geoparquet&version=3']) {
      const response = await ask(query)
      expect([response.status, ((await response.json()) as { message: string }).message], query).toEqual([
        400,
        'Invalid version parameter',
      ])
    }
  })
  test.each(FORMATS)(
    '%s contains a part of the records, by limit, cursor or filters, or no records',
    async (format) => {
      const inJson = async (query: string) => {
        const { data } = (await (await ask(`?format=json${query}`)).json()) as { data: { uid: string }[] }
        return data.map(({ uid }) => uid).sort()
      }
      for (const query of [
        '&limit=7&offset=20',
        '&revoked=true&limit=300',
        '&near=13.4,52.5&radius=400000&limit=900',
      ])
        expect(await uidsIn(format, query)).toEqual(await inJson(query))
      const first = (await (await ask('?limit=1000&sort=timestamp')).json()) as { next_cursor: string }
      const rest = `&sort=timestamp&cursor=${encodeURIComponent(first.next_cursor)}`
      expect(await uidsIn(format, `${rest}&limit=500`)).toEqual(await inJson(`${rest}&limit=500`))
      expect(await uidsIn(format, '&fromTimestamp=2030')).toEqual([])
      expect(await uidsIn(format, '&fromTimestamp=2030&limit=5')).toEqual([])
      // Records without a geometry are left out, because some readers do not support them.
      const located = given.filter(({ geometry }) => geometry).map(({ uid }) => uid)
      expect(await uidsIn(format, '&bbox=-180,-90,180,90')).toEqual(located.sort())
    },
  )
})

describe('an export to a temporary file,', () => {
  /** Lists the temporary files that this process has open. */
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).includes('geo-export-')
      } catch {
        return false
      }
    })
  const begun = (format: string, client: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request(
        `${api.url}${LIST}?format=${format}`,
        { headers: { 'x-forwarded-for': client }, agent: false },
        resolve,
      )
      asked.on('error', reject).end()
    })
  test.skipIf(process.platform !== 'linux').each(['geoparquet', 'flatgeobuf'])(
    '%s leaves no file when a client disconnects, and frees its slots',
    { timeout: 180_000 },
    async (format) => {
      for (let i = 0; i < 2; i++) {
        const client = `192.0.2.${i}`
        const asked = request(`${api.url}${LIST}?format=${format}`, {
          headers: { 'x-forwarded-for': client },
          agent: false,
        })
        asked.on('error', () => {}).end()
        // The client disconnects while its file is being filled,
        await expect.poll(() => openFiles().length, { interval: 10, timeout: 30_000 }).toBeGreaterThan(0)
        asked.destroy()
        await expect.poll(() => openFiles().length, { timeout: 30_000 }).toBe(0)
        // and then while its file is being sent.
        const response = await begun(format, client)
        open.push(response)
        response.once('data', () => response.destroy())
        await new Promise((resolve) => response.once('close', resolve))
        await expect.poll(() => openFiles().length, { timeout: 30_000 }).toBe(0)
      }
      const response = await begun(format, '192.0.2.0')
      expect(response.statusCode).toBe(200)
      response.resume()
      await new Promise((resolve) => response.once('end', resolve))
    },
  )
  test('reports a full disk with a clear message, and releases its budget', async () => {
    const small = await startApi({
      databaseUrl: database.url,
      columnarFiles: new ColumnarFiles(2_000_000, COLUMNAR_WORKER),
    })
    for (let i = 0; i < 2; i++) {
      const refused = await fetch(`${small.url}${LIST}?format=flatgeobuf`)
      // On a busy machine the file may begin after ten seconds. It is then truncated.
      if (refused.status === 200) await expect(refused.arrayBuffer()).rejects.toThrow()
      else
        expect([refused.status, await refused.json()]).toEqual([
          503,
          {
            status: 'error',
            message: 'Temporarily unavailable',
            detail: sentence(),
          },
        ])
      const smaller = await fetch(`${small.url}${LIST}?format=flatgeobuf&chain=celo`)
      expect(smaller.status).toBe(200)
      await smaller.arrayBuffer()
    }
  })
  test('reports a folder without write access, which small files do not need', async () => {
    vi.stubEnv('TMPDIR', path.join(temporaryFolder(), 'missing'))
    const refused = await ask('?format=geoparquet')
    expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([503, sentence()])
    expect((await ask('?format=geoparquet&limit=1500')).status).toBe(200)
    vi.unstubAllEnvs()
  })
  test('is built one at a time per client and four in total, and otherwise queued', async () => {
    const makes = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER)
    const leave = new AbortController()
    const begin = (client: string) => makes.begin('flatgeobuf', { ...OWN_WORK, client, signal: leave.signal })
    const made = await Promise.all(['a', 'b', 'c', 'd'].map(begin))
    const [fifth, second] = [begin('e'), begin('a')]
    await expect(begin('a')).rejects.toMatchObject({ status: 429, detail: sentence() })
    await made[1]!.close()
    await (await fifth).close()
    leave.abort(new Error('gone'))
    await expect(second).rejects.toThrow('gone')
    for (const each of made) await each.close()
    await makes.close()
  })
})

testSentences()
