import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../dev/random'
import { ACTIVE_SLUGS } from '../../src/chains'
import { startApi, type TestApi, type TestApiOptions } from '../../test/api'
import { TEST_DATABASE_URL, createMigratedDatabase, type TestDatabase } from '../../test/database'
import { hunt } from '../../test/seed'
import { insertRecords, uidOf, type GivenRecord } from '../../test/records'
import { startRedisProxy } from '../../test/redis-proxy'
import { listen, type SseEvent, type SseListener } from '../../test/sse'
import { OWN_WORK } from '../http/work'
import { Store } from '../store'
import { currentPosition, eventBytes } from './changes'
import { LiveRecords } from './live'
import { sentence, testSentences } from '../../test/sentences'
import { withPostgres } from '../../test/needs'

/** Tests streams of a server in this process, on a real database that the tests write to directly. */
let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = new Client({ connectionString: database.url })
  client.on('error', () => {})
  await client.connect()
})
beforeEach(() => client.query('TRUNCATE location_record'))
const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(() => client?.end())

const PATH = '/api/v0/location-records/stream'
const start = async (options: TestApiOptions = {}): Promise<TestApi> => {
  const api = await startApi({ databaseUrl: database.url, ...options, live: { pollMs: 20, ...options.live } })
  closing.push(() => api.close())
  return api
}
const follow = async (
  api: TestApi,
  query = '',
  options?: Parameters<typeof listen>[1],
): Promise<SseListener> => {
  const listener = await listen(`${api.url}${PATH}${query}`, options)
  closing.push(() => listener.close())
  return listener
}
/** Record identified by its number. All have the same prover and place unless the test sets others. */
interface Fixture extends GivenRecord {
  n: number
  longitude?: number
  latitude?: number
}
const recordOf = ({ n, longitude = 13.4, latitude = 52.5, ...given }: Fixture): GivenRecord => ({
  uid: uidOf(n),
  timestamp: Date.UTC(2026, 0, 1),
  prover: `0x${'1'.repeat(40)}`,
  subject: given.prover ?? `0x${'1'.repeat(40)}`,
  schema: `0x${'a'.repeat(64)}`,
  locationType: 'geojson-point',
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  ...given,
})
const insertBy = (connection: Pick<Client, 'query'>, fixtures: readonly Fixture[]) =>
  insertRecords(connection, fixtures.map(recordOf))
const insert = (...fixtures: Fixture[]) => insertBy(client, fixtures)
const setRevoked = (ns: number[], revoked: boolean) =>
  client.query('UPDATE location_record SET revoked = $2 WHERE uid = ANY($1)', [ns.map(uidOf), revoked])
const remove = (...ns: number[]) =>
  client.query('DELETE FROM location_record WHERE uid = ANY($1)', [ns.map(uidOf)])
const json = async (url: string): Promise<any> => (await fetch(url)).json()
const told = ({ events }: SseListener) =>
  events.map(({ event, data }) => `${event} ${data.chain} ${parseInt(data.uid)}`)
const answered = async (api: TestApi, query: string, headers: Record<string, string> = {}) => {
  const listener = await follow(api, query, { headers })
  await listener.ended
  return [listener.status, JSON.parse(listener.body)]
}
/** The position before all changes. */
const BEGINNING = '47DEQpj8'

test('the streams of one client that catch up leave a database read for other clients', async () => {
  await insert(...Array.from({ length: 8 }, (_, i) => ({ chain: 'celo', n: i + 1 })))
  let [open, reads] = [() => {}, 0]
  const gate = new Promise<void>((resolve) => (open = resolve))
  /** Replays from the positions of the hostile client do not end before the gate opens. */
  const held = new Set<number>()
  class HeldStore extends Store {
    override async changesAfter(...[finality, after, upTo, limit]: Parameters<Store['changesAfter']>) {
      if (upTo && held.has(after.celo!)) {
        reads++
        await gate
      }
      return super.changesAfter(finality, after, upTo, limit)
    }
  }
  const store = new HeldStore(database.url, () => {})
  const live = new LiveRecords(store, Fastify().log, { pollMs: 20 })
  closing.push(
    () => store.close(),
    () => live.stop(),
  )
  const { epoch, ids } = await currentPosition(store, 'latest')
  const resume = async (client: string, missed: number) => {
    const out = new PassThrough()
    const seen = { text: '' }
    out.setEncoding('utf8').on('data', (chunk: string) => (seen.text += chunk))
    const from = { epoch, ids: { celo: ids.celo! - missed } }
    await live.add('latest', {}, from, { ...OWN_WORK, client }, () => out as unknown as ServerResponse)
    return seen
  }
  for (let missed = 2; missed <= 6; missed++) held.add(ids.celo! - missed)
  const hostile = await Promise.all([2, 3, 4, 5, 6].map((missed) => resume('hostile', missed)))
  const victim = await resume('victim', 1)
  await expect.poll(() => victim.text).toContain('event: new')
  expect([reads, hostile.filter(({ text }) => text.includes('event: new'))]).toEqual([1, []])
  open()
  for (const each of hostile) await expect.poll(() => each.text).toContain('event: new')
})

describe('the live stream', () => {
  test('reports new, revoked and reorged records, with headers, retry time and position', async () => {
    const api = await start()
    await insert({ chain: 'celo', n: 1 })
    const listener = await follow(api)
    expect(listener.status).toBe(200)
    expect(listener.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    })
    await listener.until(() => listener.lastEventId !== '')
    expect([listener.retryMs, listener.lastEventId]).toEqual([
      3000,
      expect.stringMatching(/^[\w-]{8},celo\.\d+$/),
    ])
    await insert({ chain: 'celo', n: 2, memo: 'line\nline\r\n\u2028"\\' }, { chain: 'sepolia', n: 3 })
    await setRevoked([2], true)
    await setRevoked([2], false)
    await listener.count(4)
    await remove(3)
    await listener.until(() => told(listener).at(-1) === 'reorged sepolia 3')
    // Events are ordered within a chain.
    expect(told(listener).filter((each) => each.includes('celo'))).toEqual([
      'new celo 2',
      'revoked celo 2',
      'reorged celo 2',
    ])
    expect(
      told(listener)
        .filter((each) => each.includes('sepolia'))
        .at(-1),
    ).toBe('reorged sepolia 3')
    const record = await json(`${api.url}/api/v0/location-records/${uidOf(2)}`)
    // The event contains the record in its state when the event is sent.
    expect(listener.events.filter(({ data }) => data.chain === 'celo').at(-1)!.data).toEqual(record)
    expect(listener.events.filter(({ data }) => data.chain === 'sepolia').at(-1)!.data).toEqual({
      uid: uidOf(3),
      chain: 'sepolia',
    })
  })
  test('reports a record removed before its first event as reorged, and a revoked record as new and revoked', async () => {
    const api = await start()
    await insert({ chain: 'celo', n: 1 }, { chain: 'celo', n: 2, revoked: true })
    await remove(1)
    const listener = await follow(api, '', { lastEventId: BEGINNING })
    await listener.count(3)
    expect(told(listener)).toEqual(['new celo 2', 'revoked celo 2', 'reorged celo 1'])
    expect(listener.events.map(({ data }) => data.revoked)).toEqual([true, true, undefined])
  })
  test('sends keep-alive comments and new positions while it is idle', async () => {
    const api = await start({ live: { heartbeatMs: 40 } })
    const listener = await follow(api, '?chain=arbitrum')
    await insert({ chain: 'celo', n: 1 })
    await listener.until(() => listener.comments > 3 && listener.lastEventId.includes('celo.'))
    expect(listener.events).toEqual([])
  })
  test('stays open beyond the timeouts of requests', async () => {
    const api = await start({ timeouts: { request: 1_000, answer: 1_000, idle: 1_000 } })
    const listener = await follow(api)
    await pause(1_500)
    await insert({ chain: 'celo', n: 1 })
    await listener.count(1)
  })
})

describe('a resumed stream', () => {
  test('sends missed events once and in order, after the id of any event at any API instance', async () => {
    const [one, other] = [await start(), await start()]
    const all = await follow(one)
    for (let n = 1; n <= 12; n++) await insert({ chain: ACTIVE_SLUGS[n % 3]!, n })
    await setRevoked([3, 4, 5], true)
    await all.count(15)
    const missed = [...told(all)]
    const back: SseListener[][] = []
    for (const { id } of all.events)
      back.push(
        await Promise.all([
          follow(other, `?last_event_id=${all.events.at(-1)!.id}`, { lastEventId: id }),
          follow(other, `?last_event_id=${id}`),
        ]),
      )
    for (const [i, both] of back.entries()) for (const each of both) await each.count(missed.length - i - 1)
    await insert({ chain: 'celo', n: 100 })
    // An API instance that reads more changes at once may send those of another chain first.
    const byChain = (list: string[]) =>
      ACTIVE_SLUGS.map((slug) => list.filter((each) => each.split(' ')[1] === slug))
    for (const [i, both] of back.entries())
      for (const each of both) {
        await each.count(missed.length - i)
        expect(byChain(told(each))).toEqual(byChain([...missed.slice(i + 1), 'new celo 100']))
      }
  })
  test('sends all changes from the beginning in pages, then new changes', async () => {
    const api = await start()
    for (let from = 0; from < 1_000; from += 250)
      await insert(
        ...Array.from({ length: 250 }, (_, i) => ({ chain: i % 2 ? 'celo' : 'sepolia', n: from + i })),
      )
    const listener = await follow(api, `?last_event_id=${BEGINNING}`)
    await listener.count(1_000)
    await insert({ chain: 'base', n: 1_000 })
    await listener.count(1_001)
    expect(new Set(told(listener)).size).toBe(1_001)
    for (const slug of ['celo', 'sepolia'])
      expect(
        told(listener)
          .filter((each) => each.includes(` ${slug} `))
          .map((each) => Number(each.split(' ')[2])),
      ).toEqual(Array.from({ length: 500 }, (_, i) => 2 * i + (slug === 'celo' ? 1 : 0)))
  })
  test.each([
    ['an unknown id', async () => 'gone'],
    [
      'a database that was refilled',
      // Runs in one transaction, for the same reason as the following case.
      async (before: string) => (
        await client.query('BEGIN'),
        await client.query('TRUNCATE location_record'),
        await insert({ chain: 'celo', n: 9 }),
        await client.query('COMMIT'),
        before
      ),
    ],
    [
      'changes that are no longer kept',
      // Runs in one transaction: an API instance that reads the change before it is deleted would correctly
      // send it.
      async (before: string) => (
        await client.query('BEGIN'),
        await insert({ chain: 'celo', n: 8 }),
        await client.query('DELETE FROM record_change'),
        await client.query(`UPDATE record_state SET forgotten = 1000000`),
        await client.query('COMMIT'),
        before
      ),
    ],
  ])('sends a reset, then new events: %s', async (_, change) => {
    const api = await start()
    await insert({ chain: 'celo', n: 1 }, { chain: 'sepolia', n: 2 })
    const before = await follow(api)
    await before.until(() => before.lastEventId !== '')
    before.close()
    const listener = await follow(api, '', { lastEventId: await change(before.lastEventId) })
    await listener.count(1)
    expect(listener.events[0]).toMatchObject({
      event: 'reset',
      data: { reason: expect.stringMatching(/\.$/) },
    })
    await pause(60)
    const resets = listener.events.length
    await insert({ chain: 'arbitrum', n: 3 })
    await listener.until(() => told(listener).at(-1) === 'new arbitrum 3')
    expect(listener.events.slice(0, -1).every(({ event }) => event === 'reset') && resets <= 2).toBe(true)
  })
  test('repeats no event to a client that is ahead of an API instance', async () => {
    const [often, seldom] = [await start(), await start({ live: { pollMs: 600 } })]
    await insert({ chain: 'celo', n: 1 })
    const [listener, behind] = [await follow(often), await follow(seldom)]
    await Promise.all([listener, behind].map((each) => each.until(() => each.lastEventId !== '')))
    await insert({ chain: 'celo', n: 2 }, { chain: 'sepolia', n: 3 })
    await listener.count(2)
    const back = await follow(seldom, '', { lastEventId: listener.lastEventId })
    await behind.count(2)
    await insert({ chain: 'celo', n: 4 })
    await Promise.all([back.count(1), behind.count(3)])
    expect(told(back)).toEqual(['new celo 4'])
  })
  test('sends a reset to resumed and open streams after the database is restored from a backup', async () => {
    // The system clock stands still, so this test must not wait for it.
    vi.useFakeTimers({ toFake: ['Date'] })
    const api = await start({ live: { aheadMs: 200 } })
    await insert({ chain: 'celo', n: 1 }, { chain: 'celo', n: 2 })
    const listener = await follow(api)
    await listener.until(() => listener.lastEventId !== '')
    const [epoch, id] = [listener.lastEventId.split(',')[0]!, Number(listener.lastEventId.split('.')[1])]
    const back = await follow(api, '', { lastEventId: `${epoch},celo.${id + 5}` })
    await client.query('DELETE FROM record_change WHERE id >= $1', [id])
    await Promise.all([listener.count(1), back.count(1)])
    expect([listener.events[0]!.event, back.events[0]!.event]).toEqual(['reset', 'reset'])
    // A restored database assigns the same ids again.
    await client.query(
      `INSERT INTO record_change (chain, id, kind, uid) OVERRIDING SYSTEM VALUE VALUES ('celo', $1, 'new', $2)`,
      [id, uidOf(2)],
    )
    await listener.until(() => told(listener).at(-1) === 'new celo 2')
    await back.until(() => told(back).at(-1) === 'new celo 2')
  })
  test('sends a reset, then new events, after the database is rebuilt while streams are open', async () => {
    const api = await start()
    await insert({ chain: 'celo', n: 1 })
    const listener = await follow(api)
    await listener.until(() => listener.lastEventId !== '')
    await client.query('TRUNCATE location_record')
    await listener.count(1)
    await insert({ chain: 'celo', n: 2 })
    await listener.until(() => told(listener).at(-1) === 'new celo 2')
    expect(listener.events.map(({ event }) => event)).toEqual(['reset', 'new'])
  })
})

test('the live stream escapes characters in a memo that some parsers treat as line ends', () => {
  const position = { epoch: 'e', ids: { celo: 1 } } as unknown as Parameters<typeof eventBytes>[1]
  const memo = 'a\u2028b\u2029c\u0085d'
  const text = eventBytes('new', position, JSON.stringify({ memo })).toString()
  const lines = text.split(/[\n\r\v\f\u0085\u2028\u2029]/)
  expect(lines.length).toBe(5)
  expect(JSON.parse(lines[2]!.slice('data: '.length))).toEqual({ memo })
})

describe('the filters of a stream', () => {
  test('match those of the list, alone and combined, except that reorged events pass all but chain', async () => {
    const api = await start()
    const random = seededRandom(7)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const [people, schemas, types] = [
      ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`),
      ['a', 'b'].map((digit) => `0x${digit.repeat(64)}`),
      ['geojson-point', 'H3', 'wkt'],
    ]
    const queries = [
      ...['chain=celo', `prover=${people[0]}`, `subject=${people[1]!.toUpperCase().replace('X', 'x')}`],
      ...['bbox=-10,-10,10,10', 'bbox=170,-90,-170,90', 'bbox=-180,-90,180,90', 'bbox=5,5,5,5'],
      `chain=eth-sepolia&prover=${people[2]}&bbox=0,0,180,90`,
    ]
    const byColumn = [
      `schema=${schemas[1]}`,
      'location_type=h3',
      `location_type=GEOJSON-point&schema=${schemas[0]}&bbox=-90,-45,90,45`,
    ]
    const listeners = new Map<string, SseListener>()
    for (const query of [...queries, ...byColumn]) {
      const listener = await follow(api, `?${query}`)
      if (listener.status === 200) listeners.set(query, listener)
    }
    const fixtures = Array.from({ length: 300 }, (_, n) => ({
      ...{
        chain: pick(ACTIVE_SLUGS),
        n,
        prover: pick(people),
        subject: pick(people),
        schema: pick(schemas),
        locationType: pick(types),
      },
      ...(n % 50 === 0
        ? { longitude: 5, latitude: 5 }
        : { longitude: Math.floor(random() * 360 - 180), latitude: Math.floor(random() * 180 - 90) }),
    }))
    const last = await follow(api)
    await insert(...fixtures)
    await last.count(300)
    for (const [query, listener] of listeners) {
      const inBox = (f: (typeof fixtures)[number]) =>
        query.includes('location_type=GEOJSON')
          ? Math.abs(f.longitude) <= 90 &&
            Math.abs(f.latitude) <= 45 &&
            f.locationType === 'geojson-point' &&
            f.schema === schemas[0]
          : undefined
      const expected = queries.includes(query)
        ? (await json(`${api.url}/api/v0/location-records?limit=1000&${query}`)).data.map(
            ({ uid }: { uid: string }) => parseInt(uid),
          )
        : fixtures
            .filter(
              (f) =>
                inBox(f) ?? (query.startsWith('schema') ? f.schema === schemas[1] : f.locationType === 'H3'),
            )
            .map(({ n }) => n)
      await listener.count(expected.length)
      expect(listener.events.map(({ data }) => parseInt(data.uid)).sort(), query).toEqual(expected.sort())
      expect(expected.length, query).toBeGreaterThan(0)
    }
    await remove(7)
    await last.count(301)
    const { chain } = fixtures[7]!
    for (const [query, listener] of listeners) {
      const named = /chain=([\w-]+)/.exec(query)?.[1]?.replace('eth-', '')
      await pause(named === undefined || named === chain ? 0 : 50)
      if (named === undefined || named === chain)
        await listener.until(() => told(listener).at(-1) === `reorged ${chain} 7`)
      else expect(told(listener).at(-1)).not.toBe(`reorged ${chain} 7`)
    }
  })
  test('report a record that they exclude as gone, if a reorg undoes its revocation', async () => {
    const api = await start()
    await insert({ n: 1, longitude: 5, latitude: 5 })
    await setRevoked([1], true)
    const [inside, outside] = [await follow(api, '?bbox=4,4,6,6'), await follow(api, '?bbox=50,50,60,60')]
    await setRevoked([1], false)
    for (const listener of [inside, outside]) await listener.count(1)
    expect(inside.events[0]!.data).toMatchObject({ uid: uidOf(1), revoked: false })
    const { chain } = inside.events[0]!.data
    expect(outside.events.map(({ event, data }) => [event, data])).toEqual([
      ['reorged', { uid: uidOf(1), chain }],
    ])
  })
  test.each([
    ['?chain=solana', 'Invalid chain parameter'],
    ['?prover=0x12', 'Invalid prover parameter'],
    ['?schema=0x12', 'Invalid schema parameter'],
    ['?location_type=', 'Invalid location_type parameter'],
    ['?bbox=1,2,3', 'Invalid bbox format'],
    ['?limit=3', 'Invalid query parameter'],
    ['?chain=celo&chain=celo', 'Invalid chain parameter'],
    ['?last_event_id=17', 'Invalid last_event_id parameter'],
  ])('reject %s: %s', async (query, message) => {
    expect(await answered(await start(), query)).toEqual([
      400,
      { status: 'error', message, detail: expect.stringMatching(/./) },
    ])
  })
})

describe('concurrent clients of a stream', { tags: ['slow'] }, () => {
  withPostgres.test(
    'miss no transaction that commits out of order, on one or several chains (Postgres only)',
    async () => {
      const api = await start()
      await insert({ chain: 'celo', n: 1 }, { chain: 'sepolia', n: 2 })
      const listener = await follow(api)
      const [slow, same, quick] = [
        new Client({ connectionString: database.url }),
        new Client({ connectionString: database.url }),
        new Client({ connectionString: database.url }),
      ]
      await Promise.all([slow, same, quick].map((each) => each.connect()))
      try {
        await slow.query('BEGIN')
        await insertBy(slow, [{ chain: 'celo', n: 10 }])
        // A later id of another chain is sent at once, and must not hide the earlier one.
        await insertBy(quick, [{ chain: 'sepolia', n: 11 }])
        await listener.count(1)
        // On the same chain the insert waits, so that its id is not seen before the earlier one.
        let done = false
        const waiting = insertBy(same, [{ chain: 'celo', n: 12 }]).then(() => (done = true))
        await pause(150)
        expect([done, told(listener)]).toEqual([false, ['new sepolia 11']])
        await slow.query('COMMIT')
        await waiting
        await listener.count(3)
        expect(told(listener)).toEqual(['new sepolia 11', 'new celo 10', 'new celo 12'])
      } finally {
        await Promise.all([slow, same, quick].map((each) => each.end()))
      }
    },
  )

  hunt(
    'get all events of four chains once and in order while they switch between two API instances',
    8,
    async ({ random, cases, skip }) => {
      // A database with one session has no races.
      skip(!TEST_DATABASE_URL, 'needs Postgres')
      const below = (end: number) => Math.floor(random() * end)
      const copies = [await start({ live: { heartbeatMs: 25 } }), await start({ live: { heartbeatMs: 25 } })]
      const first = await follow(copies[0]!)
      await first.until(() => first.lastEventId !== '')
      let writing = true
      let n = 0
      /** By chain, in commit order. */
      const written = new Map<string, string[]>(ACTIVE_SLUGS.map((slug) => [slug, []]))
      const write = async (chain: string) => {
        const connection = new Client({ connectionString: database.url })
        await connection.connect()
        const known: number[] = []
        for (let i = 0; i < cases; i++) {
          const mine = Array.from({ length: 1 + below(4) }, () => ++n)
          const revoked = known.length && below(3) === 0 ? [known[below(known.length)]!] : []
          const gone =
            known.length > 5 && below(4) === 0
              ? known.splice(below(known.length), 1).filter((each) => !revoked.includes(each))
              : []
          await connection.query('BEGIN')
          const log: string[] = []
          await insertBy(
            connection,
            mine.map((each) => ({ chain, n: each })),
          )
          log.push(...mine.map((each) => `new ${each}`))
          const { rowCount } = await connection.query(
            'UPDATE location_record SET revoked = true WHERE uid = ANY($1) AND chain = $2 AND NOT revoked',
            [revoked.map(uidOf), chain],
          )
          if (rowCount) log.push(...revoked.map((each) => `revoked ${each}`))
          await connection.query('DELETE FROM location_record WHERE uid = ANY($1) AND chain = $2', [
            gone.map(uidOf),
            chain,
          ])
          log.push(...gone.map((each) => `reorged ${each}`))
          await pause(below(15))
          if (below(5) === 0) {
            await connection.query('ROLLBACK')
            known.push(...gone)
          } else {
            await connection.query('COMMIT')
            known.push(...mine)
            written.get(chain)!.push(...log)
          }
          await pause(below(10))
        }
        await connection.end()
      }
      const hear = async () => {
        const heard: SseEvent[] = []
        let lastEventId = first.lastEventId
        let connections = 0
        for (let last = false; ;) {
          const listener = await listen(`${copies[below(2)]!.url}${PATH}`, {
            lastEventId,
            onEvent: (event) => heard.push(event),
          })
          connections++
          if (last) return { heard, close: () => listener.close() }
          await pause(below(120))
          listener.close()
          lastEventId = listener.lastEventId
          // Reconnects often enough even if the writers are faster.
          last = !writing && connections >= 5
        }
      }
      const listening = Promise.all(Array.from({ length: 12 }, hear))
      await Promise.all(ACTIVE_SLUGS.map(write))
      writing = false
      const heard = await listening
      const gone = new Set(
        [...written.values()]
          .flat()
          .filter((each) => each.startsWith('reorged'))
          .map((each) => each.split(' ')[1]),
      )
      for (const { heard: events, close } of heard) {
        for (const [slug, log] of written) {
          const mine = () => events.filter(({ data }) => data.chain === slug)
          // A record that was removed before its event was sent has only a reorged event.
          const sure = log.filter((each) => each.startsWith('reorged') || !gone.has(each.split(' ')[1]))
          const textOf = ({ event, data }: SseEvent) => `${event} ${parseInt(data.uid)}`
          // If a chain has few transactions, all of them may be rolled back.
          while (mine().map(textOf).at(-1) !== log.at(-1)) await pause(10)
          const told = mine().map(textOf)
          expect(told.filter((each) => sure.includes(each))).toEqual(sure)
          expect(told.filter((each) => !log.includes(each))).toEqual([])
          expect(new Set(told).size).toBe(told.length)
        }
        close()
      }
    },
  )

  test('open at most 50 streams per address and a limited number per process, until a stream closes', async () => {
    const api = await start({ trustProxy: ['127.0.0.1'], live: { maxListeners: 60 } })
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    const fifty = await Promise.all(Array.from({ length: 50 }, () => follow(api, '', from('10.0.0.1'))))
    expect(await answered(api, '', { 'x-forwarded-for': '10.0.0.1' })).toEqual([
      429,
      {
        status: 'error',
        message: 'Rate limit exceeded',
        detail: sentence(),
      },
    ])
    fifty[0]!.close()
    // The service notices the disconnection a moment later.
    while ((await follow(api, '', from('10.0.0.1'))).status === 429) await pause(5)
    for (let i = 0; i < 10; i++) expect((await follow(api, '', from(`10.0.1.${i}`))).status).toBe(200)
    const refused = await follow(api, '', from('10.0.2.1'))
    await refused.ended
    expect([refused.status, refused.headers['retry-after'], JSON.parse(refused.body).message]).toEqual([
      503,
      '5',
      'Temporarily unavailable',
    ])
  })
  test('get 405 with Allow for HEAD and other methods', async () => {
    const { url } = await start()
    for (const method of ['HEAD', 'POST', 'DELETE']) {
      const { status, headers } = await fetch(`${url}${PATH}`, { method })
      expect([status, headers.get('allow'), headers.get('access-control-allow-origin')], method).toEqual([
        405,
        'GET',
        '*',
      ])
    }
  })
  test('use one request of the rate limit per stream, and get its headers', async () => {
    const api = await start({ rateLimitPerHour: 3 })
    const statuses: [number, unknown][] = []
    for (let i = 0; i < 4; i++) {
      const { status, headers } = await follow(api)
      statuses.push([status, headers['x-ratelimit-remaining']])
    }
    expect(statuses).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ])
  })
  test('are not delayed by a client that does not read and is disconnected', { tags: ['slow'] }, async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const api = await start({ live: { patienceMs: 2_000 } })
    await insert({ chain: 'celo', n: 0 })
    const [reader, slow] = [await follow(api), await follow(api)]
    await Promise.all([reader, slow].map((each) => each.until(() => each.lastEventId !== '')))
    slow.response.pause()
    // The memo is larger than the socket buffers.
    const memo = 'x'.repeat(100_000)
    for (let n = 1; n <= 130; n += 10)
      await insert(...Array.from({ length: 10 }, (_, i) => ({ chain: 'celo', n: n + i, memo })))
    await reader.count(130)
    const listeners = async () =>
      (await (await fetch(`${api.url}/metrics`)).text()).match(/^geospatial_stream_listeners (\d+)/m)![1]
    while ((await listeners()) !== '1') await pause(50)
    slow.response.resume()
    await slow.ended
    expect(slow.events.length).toBeLessThan(130)
    const back = await follow(api, '', { lastEventId: slow.lastEventId })
    await back.count(130 - slow.events.length)
    expect([...told(slow), ...told(back)]).toEqual(told(reader))
  })
  test('stay connected after a short pause, and miss no event', { tags: ['slow'] }, async () => {
    const api = await start({ live: { patienceMs: 600_000 } })
    const slow = await follow(api)
    const memo = 'x'.repeat(100_000)
    slow.response.pause()
    for (let n = 0; n < 130; n += 10)
      await insert(...Array.from({ length: 10 }, (_, i) => ({ chain: 'celo', n: n + i, memo })))
    await pause(200)
    slow.response.resume()
    await slow.count(130)
    await insert({ chain: 'celo', n: 130 })
    await slow.count(131)
    expect(told(slow)).toEqual(Array.from({ length: 131 }, (_, n) => `new celo ${n}`))
  })
})

describe('a stream during an outage', () => {
  test('stays open while the database is down, and sends all events after the recovery', async () => {
    const proxy = await startRedisProxy(database.url)
    closing.push(() => proxy.close())
    const way = new URL(database.url)
    way.port = new URL(proxy.url).port
    const api = await start({ databaseUrl: way.toString(), live: { heartbeatMs: 50 } })
    const listener = await follow(api)
    await insert({ chain: 'celo', n: 1 })
    await listener.count(1)
    await proxy.cut()
    await insert({ chain: 'celo', n: 2 })
    const heard = listener.comments
    await listener.until(() => listener.comments > heard + 3)
    const back = await follow(api, '', { lastEventId: listener.lastEventId })
    expect(listener.events.length).toBe(1)
    await proxy.restore()
    await Promise.all([listener.count(2), back.count(1)])
    expect([told(listener), told(back)]).toEqual([['new celo 1', 'new celo 2'], ['new celo 2']])
  })
  test('returns 503 if the database is down from the start', async () => {
    const api = await start({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' })
    expect(await answered(api, '')).toEqual([
      503,
      {
        status: 'error',
        message: 'Temporarily unavailable',
        detail: sentence(),
      },
    ])
  })
  test('ends at once when the service stops, also for clients that do not read', async () => {
    // `patienceMs` never elapses here: a stop that depended on it would exceed the test's timeout.
    const api = await startApi({ databaseUrl: database.url, live: { pollMs: 20, patienceMs: 3_600_000 } })
    const listeners = await Promise.all([follow(api), follow(api)])
    listeners[1].response.pause()
    await insert(...Array.from({ length: 90 }, (_, n) => ({ chain: 'celo', n, memo: 'x'.repeat(100_000) })))
    await listeners[0].count(90)
    await api.close()
    await listeners[0].ended
  })
})

test('the statistics equal a full scan at any moment', { tags: ['slow'] }, async () => {
  const random = seededRandom(3)
  const at = () => Date.UTC(2026, 0, 1) + Math.floor(random() * 45 * 86_400_000)
  const edges = [0, 1, 999, 3_599_999].map((ms) => Date.UTC(2026, 0, 20) + ms)
  const fixtures = Array.from({ length: 3_000 }, (_, n) => ({
    chain: [...ACTIVE_SLUGS, 'base'][n % 5]!,
    n,
    timestamp: n < 40 ? edges[n % 4]! : at(),
    revoked: n % 7 === 0,
  }))
  await insert(...fixtures)
  await client.query('DELETE FROM location_record WHERE block_number = 1 AND uid = ANY($1)', [
    [1, 2, 3, 1_500].map(uidOf),
  ])
  const counted = await client.query<{ chain: string; count: number }>(
    'SELECT chain, count(*)::int AS count FROM location_record GROUP BY 1',
  )
  let now = 0
  const api = await start({ clock: () => now })
  const moments = [
    ...edges.flatMap((edge) =>
      [1, 7, 30].flatMap((days) => [-1, 0, 1].map((ms) => edge + days * 86_400_000 + ms)),
    ),
    ...Array.from({ length: 30 }, at),
  ]
  for (now of moments) {
    const body = await json(`${api.url}/api/v0/location-records/stats`)
    const scan = await client.query<object>(
      `SELECT count(*)::int AS total, count(*) FILTER (WHERE revoked)::int AS revoked, json_build_object('last_24_hours', count(*) FILTER (WHERE timestamp > $1), 'last_7_days', count(*) FILTER (WHERE timestamp > $2), 'last_30_days', count(*) FILTER (WHERE timestamp > $3)) AS by_time FROM location_record`,
      [1, 7, 30].map((days) => new Date(now - days * 86_400_000)),
    )
    expect(body, new Date(now).toISOString()).toMatchObject(scan.rows[0]!)
    expect(body.by_chain).toEqual({
      'base-sepolia': 599,
      sepolia: 599,
      arbitrum: 599,
      celo: 600,
      base: 600,
      ...Object.fromEntries(counted.rows.map(({ chain, count }) => [chain, count])),
    })
  }
  await client.query(`DELETE FROM location_record WHERE chain IN ('base', 'celo')`)
  expect((await json(`${api.url}/api/v0/location-records/stats`)).by_chain).toMatchObject({ celo: 0 })
  expect((await json(`${api.url}/api/v0/location-records/stats`)).by_chain).not.toHaveProperty('base')
})

testSentences()
