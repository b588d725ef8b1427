import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority } from 'node:os'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { Client } from 'pg'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { MONOTONIC } from '../../src/clock'
import { COLUMNAR_WORKER, startApi, type TestApi } from '../../test/api'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from '../../test/database'
import { insertRecords } from '../../test/records'
import { sentence, testSentences } from '../../test/sentences'
import { OWN_WORK, beginWork } from '../http/work'
import { ColumnarFiles } from './columnar/file'
import { Exports } from './exports'

/**
 * Tests exports to slow and disconnecting clients, and with failures. The exports exceed the socket buffers,
 * so that the server has to wait.
 */
const COUNT = 4_500
const MEMO = 'A place that is described at length. '.repeat(80)
/** Response timeout of `hasty` in milliseconds. */
const ANSWER_MS = 1_500
const LIST = '/api/v0/location-records'
let database: TestDatabase
let api: TestApi
/** Instance for tests of timeouts. */
let hasty: TestApi
beforeAll(async () => {
  database = await createMigratedDatabase()
  const options = { databaseUrl: database.url, trustProxy: ['127.0.0.1/32'] }
  api = await startApi(options)
  hasty = await startApi({ ...options, timeouts: { request: 5_000, answer: ANSWER_MS } })
  await insertRecords(
    database.url,
    Array.from({ length: COUNT }, (_, i) => ({
      memo: MEMO,
      geometry: { type: 'Point', coordinates: [i % 180, i % 90] },
    })),
  )
})
/** Options of an API whose requests never time out. */
const PATIENT = { trustProxy: ['127.0.0.1/32'], timeouts: { request: 60_000, answer: 600_000 } }
const open: IncomingMessage[] = []
afterEach(() => {
  for (const response of open.splice(0)) response.destroy()
})

/** Sends a request without reading its response. */
async function start(
  query: string,
  client = '192.0.2.1',
  { method = 'GET', of = api } = {},
): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(
      `${of.url}${LIST}${query}`,
      { method, headers: { 'x-forwarded-for': client }, agent: false },
      resolve,
    )
      .on('error', reject)
      .end()
  })
  open.push(response)
  return response
}
/** Reads responses to their ends, and returns the errors of those that break. */
async function failuresOf(responses: readonly IncomingMessage[]): Promise<string[]> {
  const ends = responses.map((response) =>
    finished(response.resume()).then(
      () => [],
      ({ code }: NodeJS.ErrnoException) => [code!],
    ),
  )
  return (await Promise.all(ends)).flat()
}
async function textOf(response: IncomingMessage, betweenChunksMs = 0): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk
    if (betweenChunksMs) await pause(betweenChunksMs)
  }
  return text
}
const jsonOf = async (response: IncomingMessage) =>
  JSON.parse(await textOf(response)) as Record<string, unknown>
/** Waits until no export reads: all buffers are full. */
async function stalled(): Promise<void> {
  for (let quiet = 0; quiet < 4; quiet++) {
    await pause(100)
    if (await busyConnections()) quiet = -1
  }
}
/** Database connections of the API with an unfinished statement. */
async function busyConnections(): Promise<number> {
  const busy = await rows(
    database.url,
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'api' AND (state <> 'idle' OR xact_start IS NOT NULL)`,
  )
  return busy.length
}
/** Waits until an export of this client is accepted again. */
async function freed(client: string, of = api): Promise<void> {
  for (;;) {
    const [a, b] = [await start('?format=csv', client, { of }), await start('?format=csv', client, { of })]
    const areAccepted = a.statusCode === 200 && b.statusCode === 200
    for (const response of [a, b]) response.destroy()
    if (areAccepted) return
    await pause(50)
  }
}

test(
  'the service sends a slow client the whole export, beyond the timeout of other responses',
  { tags: ['slow'] },
  async () => {
    const response = await start('?format=geojson', undefined, { of: hasty })
    const started = performance.now()
    const { features } = JSON.parse(await textOf(response, 12)) as { features: { id: string }[] }
    expect(performance.now() - started).toBeGreaterThan(ANSWER_MS)
    expect(new Set(features.map(({ id }) => id)).size).toBe(COUNT)
  },
)

test(
  'the service uses one page and no connection for a client that stops reading, and disconnects it',
  { tags: ['slow'] },
  async () => {
    const before = process.memoryUsage()
    const response = await start('?format=ndjson', undefined, { of: hasty })
    response.pause()
    await stalled()
    expect(process.memoryUsage().heapUsed - before.heapUsed).toBeLessThan(150_000_000)
    const ended = new Promise((resolve) => response.once('close', resolve))
    // Waits longer than the timeout of an idle connection, or than twice that, because Node checks whether
    // any data was sent in between.
    await expect.poll(() => hasty.connections()).toBe(0)
    response.resume()
    response.on('error', () => {})
    await ended
    expect(response.complete).toBe(false)
  },
)

describe('a failure during an export, which must not look complete, breaks the connection', () => {
  test.each(['geojson', 'ndjson', 'csv'])('in the format %s', async (format) => {
    const response = await start(`?format=${format}`, '192.0.2.2')
    response.once('readable', () => {})
    await pause(200)
    await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN line TO lines')
    const failed = await textOf(response).then(
      (text) => ({ text }),
      (error: NodeJS.ErrnoException) => ({ code: error.code }),
    )
    await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN lines TO line')
    expect(failed).toEqual({ code: 'ECONNRESET' })
    expect([response.statusCode, response.complete]).toEqual([200, false])
    // Other requests are not affected.
    expect((await start('?limit=1')).statusCode).toBe(200)
  })
})

test('the service reports a failure before the first record as an ordinary error', async () => {
  await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN line TO lines')
  const response = await start('?format=csv', '192.0.2.3')
  await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN lines TO line')
  expect([
    response.statusCode,
    response.headers['content-type'],
    response.headers['content-disposition'],
    response.headers.etag,
  ]).toEqual([500, 'application/json; charset=utf-8', undefined, undefined])
  expect(await jsonOf(response)).toEqual({
    status: 'error',
    message: 'Internal error',
    detail: sentence(),
  })
  await freed('192.0.2.3')
})

test(
  'the service returns 503 for an export without a first record in time, and frees its slot',
  { tags: ['slow'] },
  async () => {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    await client.query('BEGIN; LOCK TABLE location_record IN ACCESS EXCLUSIVE MODE')
    const [a, b] = await Promise.all(
      ['csv', 'geojson'].map((format) => start(`?format=${format}`, '192.0.2.8', { of: hasty })),
    )
    await client.query('ROLLBACK')
    await client.end()
    for (const response of [a!, b!]) {
      expect([
        response.statusCode,
        response.headers['content-type'],
        response.headers['retry-after'],
      ]).toEqual([503, 'application/json; charset=utf-8', '5'])
      expect(await jsonOf(response)).toMatchObject({
        message: 'Temporarily unavailable',
        detail: sentence(),
      })
    }
    await freed('192.0.2.8', hasty)
  },
)

test('the service stops the export after a disconnect, and frees its slot', async () => {
  const client = '192.0.2.4'
  const [a, b] = [await start('?format=csv', client), await start('?format=geojson', client)]
  const refused = await start('?format=ndjson', client)
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '5'])
  expect(await jsonOf(refused)).toEqual({
    status: 'error',
    message: 'Rate limit exceeded',
    detail: sentence(),
  })
  // Meanwhile the service sends pages, and exports of other clients.
  expect((await start('?format=ndjson&limit=10', client)).statusCode).toBe(200)
  expect((await start('?format=ndjson', '192.0.2.5')).statusCode).toBe(200)
  for (const response of [a, b]) response.destroy()
  await freed(client)
  // Complete exports also release their slots.
  for (let i = 0; i < 3; i++) {
    let response = await start('?format=csv&limit=1001&fromTimestamp=2027', client)
    // The slots of aborted exports are released a moment later.
    while (response.statusCode === 429) {
      response.destroy()
      await pause(20)
      response = await start('?format=csv&limit=1001&fromTimestamp=2027', client)
    }
    expect((await textOf(response)).split('\r\n')).toHaveLength(2)
  }
})

test(
  'the service returns 503 for too many exports at once, and still serves pages, until one is an hour old',
  { tags: ['slow'] },
  async () => {
    let now = 0
    const of = await startApi({ ...PATIENT, databaseUrl: database.url, elapsed: () => now })
    const begin = (client: number) => start('?format=ndjson', `198.51.100.${client}`, { of })
    try {
      const all = await Promise.all(Array.from({ length: 17 }, (_, client) => begin(client)))
      expect(all.map(({ statusCode }) => statusCode).sort()).toEqual([...Array<number>(16).fill(200), 503])
      const refused = await begin(99)
      expect([refused.statusCode, refused.headers['retry-after'], (await jsonOf(refused)).message]).toEqual([
        503,
        '5',
        'Temporarily unavailable',
      ])
      expect((await start('?limit=10', '198.51.100.99', { of })).statusCode).toBe(200)
      now += 3_600_001
      expect((await begin(99)).statusCode).toBe(200)
      expect(await failuresOf(all)).toEqual(['ECONNRESET'])
      for (const response of open) response.destroy()
      await freed('198.51.100.98', of)
    } finally {
      for (const response of open) response.destroy()
      await of.close()
    }
  },
)

test(
  'the service ends slow readers of files in spatial order when another client waits for a slot',
  { tags: ['slow'] },
  async () => {
    let now = 0
    const of = await startApi({ ...PATIENT, databaseUrl: database.url, elapsed: () => now })
    const begin = (client: number) => start('?format=flatgeobuf', `203.0.113.${client}`, { of })
    try {
      const slow = await Promise.all([1, 2, 3, 4].map(begin))
      expect(slow.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200])
      // Whatever the workers still do for them, an hour is too long.
      now += 3_600_001
      expect((await begin(5)).statusCode).toBe(200)
      // A second one may be ended until the first has closed its file.
      expect(new Set(await failuresOf(slow))).toEqual(new Set(['ECONNRESET']))
    } finally {
      for (const response of open) response.destroy()
      await of.close()
    }
  },
)

test('the service reads no records for HEAD, and occupies no slot', async () => {
  for (let i = 0; i < 20; i++) {
    const response = await start('?format=csv', '192.0.2.6', { method: 'HEAD' })
    expect([response.statusCode, response.headers['content-type'], await textOf(response)]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
      '',
    ])
  }
})

test('the service exports each earlier record once while records arrive', async () => {
  const before = await rows<{ uid: string }>(database.url, 'SELECT uid FROM location_record')
  const response = await start('?format=ndjson')
  const asking = (async () => {
    for (let i = 0; i < 20; i++) {
      // Without a response in time, the status would be 503.
      expect((await start('?limit=1', '192.0.2.7')).statusCode).toBe(200)
      await insertRecords(database.url, [{ timestamp: Date.UTC(2026, 5, 1) + i * 1000 }], 900_000 + i)
    }
  })()
  const uids = (await textOf(response, 2))
    .trimEnd()
    .split('\n')
    .map((each) => (JSON.parse(each) as { uid: string }).uid)
  await asking
  expect(new Set(uids).size).toBe(uids.length)
  expect(uids.filter((uid) => before.some((row) => row.uid === uid))).toHaveLength(before.length)
})

test('the service disconnects exports immediately when it stops', async () => {
  const stopped = await startApi({ databaseUrl: database.url })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${stopped.url}${LIST}?format=ndjson`, { agent: false }, resolve).on('error', reject).end()
  })
  const started = performance.now()
  await stopped.close()
  // An idle connection is closed after 30 s.
  expect(performance.now() - started).toBeLessThan(20_000)
  await expect(textOf(response)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('the service exports exactly the records that match a place', async () => {
  const text = await textOf(await start('?near=10.5,10.5&radius=80000&format=ndjson'))
  const found = text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as { longitude: number; latitude: number })
  expect(new Set(found.map(({ longitude, latitude }) => `${longitude} ${latitude}`))).toEqual(
    new Set(['10 10', '11 11']),
  )
  expect(found.length).toBe(
    ((await jsonOf(await start('?near=10.5,10.5&radius=80000&limit=1&total=true'))) as { total: number })
      .total,
  )
})

test.skipIf(process.platform !== 'linux')(
  'the service sorts long files, but not short ones, at a lower priority than the event loop',
  async () => {
    const files = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER)
    const tasks = () => readdirSync('/proc/self/task').map(Number)
    const before = new Set(tasks())
    /** Niceness of the threads that this test has started. */
    const niceness = () => new Set(tasks().flatMap((task) => (before.has(task) ? [] : getPriority(task))))
    const row = { uid: '', chain: '', text: '{}', geometry: null }
    const normal = getPriority()
    const short = files.small('geoparquet', OWN_WORK)
    await short.add([row])
    expect(niceness()).toEqual(new Set([normal]))
    const long = await files.begin('geoparquet', OWN_WORK)
    await long.add([row])
    expect(niceness()).toEqual(new Set([normal, normal + 10]))
    await Promise.all([short.close(), long.close()])
    await files.close()
  },
)

/** Serves exports without a database; `ask` sends requests of a client, and `onSend` delays the responses. */
async function serve(
  send: (asked: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  onSend?: (asked: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
) {
  const app = Fastify()
  app.addHook('onSend', async (asked, reply) => {
    await onSend?.(asked, reply)
  })
  app.addHook('onRequest', (asked, reply, done) => {
    beginWork(asked, reply, String(asked.headers.client))
    done()
  })
  app.get('*', send)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    ask: (path: string, client: string, signal: AbortSignal | null = null) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers: { client }, signal }),
    close: () => {
      app.server.closeAllConnections()
      return app.close()
    },
  }
}

describe('a short file in spatial order', () => {
  test('does not wait for the workers of long files', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder()
    const stuck = path.join(folder, 'worker.js')
    // Pages of long files are never sorted.
    writeFileSync(
      stuck,
      `const real = require(${JSON.stringify(COLUMNAR_WORKER)})
      module.exports = { ...real, lines: (rows) => (rows.length < 200 ? real.lines(rows) : new Promise(() => {})) }`,
    )
    const other = await startApi({
      ...{ databaseUrl: database.url, trustProxy: ['127.0.0.1/32'] },
      columnarFiles: new ColumnarFiles(2 ** 30, stuck),
    })
    try {
      for (const client of ['192.0.2.20', '192.0.2.21', '192.0.2.22'])
        void start('?format=geoparquet', client, { of: other }).catch(() => {})
      const short = '?format=geoparquet&near=10.5,10.5&radius=80000'
      await expect.poll(busyConnections).toBe(0)
      for (let i = 0; i < 3; i++) {
        const response = await start(short, '192.0.2.23', { of: other })
        expect(response.statusCode).toBe(200)
        expect((await textOf(response)).slice(0, 4)).toBe('PAR1')
      }
    } finally {
      await other.close()
    }
  })

  test('is sent while long files wait for their pages', async () => {
    const exports = new Exports(new ColumnarFiles(2 ** 30, COLUMNAR_WORKER), () => 0)
    const written = { type: 'text/plain', file: '', head: '', separator: ' ', tail: '' }
    async function* pagesOf(path: string) {
      for (let page = 1; page <= 2 || path === '/long'; page++) {
        if (page > 2) await new Promise(() => {})
        yield [page]
      }
    }
    const { ask, close } = await serve((asked, reply) =>
      exports.send(asked, reply, pagesOf(asked.url), {
        ...written,
        write: (page: readonly number[]) => page.join(),
      }),
    )
    const begun = await Promise.all(['a', 'b', 'c'].map((client) => ask('/long', client)))
    expect(begun.map(({ status }) => status)).toEqual([200, 200, 200])
    const { value } = await (await ask('/short', 'd')).body!.getReader().read()
    expect(Buffer.from(value).toString()).toMatch(/^1/)
    exports.stop()
    await close()
  })
})

test('a file in spatial order that fails while it is filled has an error or a truncated body', async () => {
  const files = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER)
  const signOfLifeMs = 400
  const exports = new Exports(files, MONOTONIC.now, signOfLifeMs)
  async function* pages() {
    for (let page = 1; page <= 2; page++) yield []
    // The first byte is due, but not the second one.
    await pause(signOfLifeMs * 1.5)
    throw new Error('full')
  }
  const { ask, close } = await serve((asked, reply) =>
    exports.send(asked, reply, pages(), {
      ...{ columnar: 'flatgeobuf', type: '', file: '' },
    }),
  )
  for (const client of ['a', 'b', 'c']) {
    const response = await ask('/', client)
    if (response.status === 200) await expect(response.arrayBuffer()).rejects.toThrow()
    else expect(response.status).toBe(500)
  }
  await close()
  await files.close()
})

test('an export whose client disconnects before its first byte releases its pages and its slot', async () => {
  const files = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER)
  const exports = new Exports(files, MONOTONIC.now)
  let ended = 0
  async function* pages() {
    try {
      for (let page = 1; page <= 3; page++) yield []
    } finally {
      ended++
    }
  }
  const text = { ...{ head: '', separator: '', tail: '' }, write: () => '' }
  let left = new AbortController()
  const { ask, close } = await serve(
    (asked, reply) =>
      exports.send(asked, reply, pages(), {
        ...{ type: 'text/plain', file: '' },
        ...(asked.url === '/text' ? text : { columnar: 'flatgeobuf' }),
      }),
    async (_asked, { raw }) => {
      if (left.signal.aborted) return
      const closed = once(raw, 'close')
      left.abort()
      await closed
    },
  )
  for (const path of ['/text', '/columnar']) {
    ended = 0
    left = new AbortController()
    await expect(ask(path, 'a', left.signal)).rejects.toThrow()
    await expect.poll(() => ended).toBe(1)
    expect((await ask(path, 'a')).status).toBe(200)
  }
  await close()
  await files.close()
})

testSentences()
