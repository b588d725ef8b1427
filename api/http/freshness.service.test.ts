import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertRecordsSql } from '../../bench/generated-records'
import { buildTestServer } from '../../test/api'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { hunt } from '../../test/seed'
import { Freshness } from './freshness'

/** Tests responses that are cached while no record changes. */

const COUNT = 500
let database: TestDatabase
/** Servers with a cache, without a cache, and with a small cache. */
let servers: Awaited<ReturnType<typeof buildTestServer>>[]
beforeAll(async () => {
  database = await createMigratedDatabase()
  await rows(database.url, insertRecordsSql(), [1, COUNT])
  // Responses of the OGC API contain the time at which they were created.
  const clock = () => 1_800_000_000_000
  servers = await Promise.all(
    [1_000_000, 0, 30_000].map((pageCacheBytes) =>
      buildTestServer({ databaseUrl: database.url, clock, pageCacheBytes }),
    ),
  )
})
afterAll(() => Promise.all((servers ?? []).map(({ close }) => close())))

type Headers = Record<string, string>
async function ask(
  url: string,
  headers: Headers = {},
  { app } = servers[0]!,
  method: 'GET' | 'HEAD' = 'GET',
) {
  const { statusCode, body, headers: answered } = await app.inject({ url, headers, method })
  return { statusCode, body, headers: { ...answered, date: undefined } }
}

const LIST = '/api/v0/location-records'
const ITEMS = '/ogc/collections/location-records/items'
const someUids = async (sql = '') =>
  (await rows<{ uid: string }>(database.url, `SELECT uid FROM location_record ${sql} LIMIT 5`)).map(
    ({ uid }) => uid,
  )

test('a response has another ETag where its links lead elsewhere', async () => {
  const other = await buildTestServer({ databaseUrl: database.url, publicBaseUrl: 'https://other.example' })
  const tags = await Promise.all([servers[0]!, servers[1]!, other].map((of) => ask(LIST, {}, of)))
  const [one, same, elsewhere] = tags.map(({ headers }) => String((headers as object as Headers).etag))
  expect(one).toBeDefined()
  expect([same, elsewhere === one]).toEqual([one, false])
})

hunt('the response cache never returns an outdated response', 20, async ({ random, cases }) => {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!
  const uids = await someUids('ORDER BY timestamp')
  const paths = [
    ...['', '?limit=3', '?limit=3&offset=2', '?sort=timestamp&limit=7', '?total=true&limit=1'],
    ...['?chain=celo', '?revoked=true', '?bbox=-180,-90,180,90&limit=20', '?limit=5000&format=ndjson'],
    ...['?near=0,0&radius=9000000&limit=5', '?chain=nowhere', '?limit=0'],
    ...uids.flatMap((uid) => [`/${uid}`, `/${uid}?chain=celo`]),
  ]
    .map((path) => `${LIST}${path}`)
    .concat(
      [ITEMS, `${ITEMS}?limit=2`, '/ogc/collections', '/ogc', '/ogc/collections/location-records'],
      uids.map((uid) => `${ITEMS}/celo-${uid}`),
    )
  const accepts = ['*/*', 'application/geo+json', 'text/csv', 'text/html']
  const changes = [
    (n: number) => `UPDATE location_record SET revoked = NOT revoked WHERE uid = '${uids[n % 5]}'`,
    (n: number) => `DELETE FROM location_record WHERE uid = '${uids[n % 5]}'`,
    (n: number) =>
      insertRecordsSql()
        .replace('$1', String(COUNT + n))
        .replace('$2', String(COUNT + n)),
  ]
  let [hits, long] = [0, 0]
  for (let n = 1; n <= cases; n++) {
    if (random() < 0.15) await rows(database.url, pick(changes)(n))
    const [path, accept] = [pick(paths), pick(accepts)]
    for (const server of [servers[0]!, servers[2]!]) {
      const [kept, made] = [await ask(path, { accept }, server), await ask(path, { accept }, servers[1])]
      expect(kept, `${n}: ${path} as ${accept}`).toEqual(made)
      const etag = made.headers.etag
      if (etag === undefined) continue
      // Every second request is answered from the cache: with 304, and without a body.
      expect(await ask(path, { accept }, server)).toEqual(made)
      expect((await ask(path, { accept, 'if-none-match': String(etag) }, server)).statusCode).toBe(304)
      const head = await ask(path, { accept }, server, 'HEAD')
      // Exports are streams, whose length is not known in advance.
      if (!made.headers['transfer-encoding']) expect(head).toEqual({ ...made, body: '' })
      hits++
      if (made.body.length > 1_000) long++
    }
  }
  expect([hits / cases > 0.7, long / cases > 0.4]).toEqual([true, true])
})

/** Starts a server with one route, which counts the responses that it computes. */
async function counted(keptBytes: number) {
  let revision = 1n
  const asked = { answers: 0 }
  const freshness = new Freshness(() => Promise.resolve(`state${revision}`), keptBytes)
  const app = Fastify()
  freshness.keepAnswersOf(app)
  app.get<{ Params: { length: string } }>('/:length', async (request, reply) => {
    if (await freshness.answers(request, reply)) return reply
    asked.answers++
    return reply.type('text/x').send(`${revision}`.repeat(Number(request.params.length)))
  })
  return { app, freshness, asked, change: () => revision++ }
}

test('the response cache computes a response once for each state of the data', async () => {
  const { app, asked, change } = await counted(1_000_000)
  for (let i = 0; i < 3; i++) {
    const answer = await app.inject('/3')
    expect([answer.body, answer.headers['content-type'], asked.answers]).toEqual(['111', 'text/x', 1])
  }
  change()
  expect([(await app.inject('/3')).body, asked.answers]).toEqual(['222', 2])
  expect([(await app.inject('/3')).body, asked.answers]).toEqual(['222', 2])
})

test('the response cache stays within its size, and caches no response above an eighth of that size', async () => {
  const { app, asked, freshness } = await counted(100_000)
  for (let length = 5_000; length < 5_050; length++) {
    await app.inject(`/${length}`)
    expect(freshness.size).toBeLessThanOrEqual(100_000)
  }
  expect(freshness.size).toBeGreaterThan(90_000)
  const madeBy = async (length: number) => {
    const before = asked.answers
    await app.inject(`/${length}`)
    return asked.answers - before
  }
  expect([await madeBy(5_049), await madeBy(5_000), await madeBy(5_000)]).toEqual([0, 1, 0])
  expect([await madeBy(13_000), await madeBy(13_000)]).toEqual([1, 1])
})
