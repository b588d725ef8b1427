import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Fastify from 'fastify'
import { Client } from 'pg'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { freePort } from '../../dev/services'
import { connect, createMigratedDatabase, type TestDatabase } from '../../test/database'
import { answers, distinct, startReceiver, type Receiver } from '../../test/receiver'
import { hunt } from '../../test/seed'
import { insertRecords, uidOf } from '../../test/records'
import { SafeSender } from '../outgoing'
import { Store } from '../store'
import { Deliverer, WebhookStore, type DelivererOptions, type GivenSubscription } from '.'
import { sentence, testSentences } from '../../test/sentences'

/** Tests deliverers in this process, with a real database and real receivers. */
const SECRETS = ['a', 'b'].map((each) => `whsec_${Buffer.from(each.repeat(32)).toString('base64')}`)
let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
})
const closing: (() => unknown)[] = []
beforeEach(async () => {
  await client.query(
    'TRUNCATE location_record; TRUNCATE webhook_message; TRUNCATE webhook_subscription, webhook_holder CASCADE',
  )
  // The epoch is that of the first record.
  await insert(0)
})
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0).reverse()) await close()
})

const insert = (...ns: number[]) =>
  insertRecords(
    client,
    ns.map((n) => ({ chain: 'celo', uid: uidOf(n), geometry: { type: 'Point', coordinates: [n % 90, 0] } })),
  )
const receiver = async (...given: Parameters<typeof startReceiver>): Promise<Receiver> => {
  const started = await startReceiver(...given)
  closing.push(() => started.close())
  return started
}
const subscription = (url: string, more: Partial<GivenSubscription> = {}): GivenSubscription => ({
  ...{ id: 'one', url, finality: 'final', filter: {}, secrets: SECRETS.slice(0, 1) },
  ...more,
})
const QUICK: Partial<DelivererOptions> = {
  ...{ pollMs: 10, leaseMs: 1_500, renewMs: 50, syncMs: 50, timeoutMs: 60_000, firstPauseMs: 20 },
}
/**
 * Duration of a lease that does not lapse on a busy machine. If the lease lapsed, messages would be sent
 * again.
 */
const KEPT = { leaseMs: 30_000 }
async function deliver(
  given: readonly GivenSubscription[] | undefined,
  options: Partial<DelivererOptions> = {},
  sender = new SafeSender(new Set(['127.0.0.1'])),
): Promise<Deliverer> {
  const store = new Store(database.url, () => {})
  const webhooks = new WebhookStore(store.servers)
  if (given) await webhooks.setFile(given)
  const deliverer = new Deliverer(store, webhooks, sender, Fastify().log, { ...QUICK, ...options })
  deliverer.start()
  closing.push(async () => {
    await deliverer.stop()
    await store.close()
  })
  // The subscription begins at the end of the changes.
  if (given) while ((await state('position IS NULL')).length) await pause(10)
  return deliverer
}
const state = async (where = 'true') =>
  (await client.query<Record<string, any>>(`SELECT * FROM webhook_subscription WHERE ${where} ORDER BY id`))
    .rows
const letters = async () =>
  (
    await client.query<{ message: string; attempts: number; error: string }>(
      'SELECT * FROM webhook_dead_letter ORDER BY number',
    )
  ).rows
const told = (received: readonly { body: string }[]) =>
  received.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { uid: string } }
    return data.uid ? `${type} ${parseInt(data.uid)}` : type
  })
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

test('the deliverer sends messages in order, signed by both secrets during a rotation', async () => {
  const target = await receiver()
  await deliver([subscription(`${target.url}/hook?x=1`, { secrets: SECRETS })])
  await insert(1, 2)
  await client.query('UPDATE location_record SET revoked = true WHERE uid = $1', [uidOf(1)])
  await client.query('DELETE FROM location_record WHERE uid = $1', [uidOf(2)])
  await target.until(() => told(target.received).at(-1) === 'record.corrected 2')
  // On a busy machine a response may arrive too late. The message is then sent again, with the same id.
  const once = target.received.filter(({ id }, i, all) => all.findIndex((each) => each.id === id) === i)
  expect(told(once).filter((each) => !each.endsWith(' 2'))).toEqual(['record.new 1', 'record.revoked 1'])
  // Ids and bodies correspond one to one.
  for (const key of ['id', 'body'] as const)
    expect(new Set(target.received.map((each) => each[key])).size).toBe(once.length)
  for (const { body, headers, path } of target.received) {
    for (const secret of SECRETS) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    expect([path, headers['content-type']]).toEqual(['/hook?x=1', 'application/json; charset=utf-8'])
  }
  const { data, type, timestamp } = JSON.parse(target.received[0]!.body) as Record<string, any>
  expect([type, data.uid, Math.abs(Date.now() - Date.parse(timestamp)) < 60_000]).toEqual([
    'record.new',
    uidOf(1),
    true,
  ])
})

test(
  'the deliverer applies the filters of the stream, for a thousand subscriptions',
  { tags: ['slow'] },
  async () => {
    const target = await receiver()
    await deliver(
      range(0, 1_000).map((i) =>
        subscription(`${target.url}/${i}`, {
          id: `s${i}`,
          filter: i % 2 ? { bbox: '0.5,-1,1.5,1' } : i % 4 ? { chain: 'sepolia' } : {},
        }),
      ),
      { pollMs: 100, ...KEPT },
    )
    await insert(1, 2)
    await target.until(() => target.received.length >= 500 + 2 * 250)
    await pause(200)
    const of = (rest: number) => target.received.filter(({ path }) => Number(path.slice(1)) % 4 === rest)
    expect([of(0).length, of(1).length, of(2).length, of(3).length]).toEqual([500, 250, 0, 250])
    expect(new Set(told(of(1)))).toEqual(new Set(['record.new 1']))
    const bodies = await client.query<{ count: number }>('SELECT count(*)::int FROM webhook_message')
    expect(bodies.rows[0]!.count).toBe(2)
  },
)

hunt(
  'the deliverer loses and reorders no message while receivers and deliverers fail',
  10,
  async ({ random, cases }) => {
    const kinds = [answers.status(500), answers.status(429), answers.reset, answers.hang, answers.slow]
    const target = await receiver(() =>
      random() < 0.4 ? kinds[Math.floor(random() * kinds.length)]! : answers.ok,
    )
    const other = await receiver()
    const given = [subscription(target.url), subscription(other.url, { id: 'two' })]
    const first = await deliver(given, { firstPauseMs: 5, timeoutMs: 100 })
    for (let n = 1; n <= cases; n++) {
      await insert(n)
      if (n === Math.ceil(cases / 2)) {
        await deliver(undefined, { firstPauseMs: 5, timeoutMs: 100 })
        await first.stop()
      }
    }
    const wanted = range(1, cases + 1).map((n) => `record.new ${n}`)
    await other.until(() => distinct(other.received).length === cases)
    await target.until(() => distinct(target.received).length === cases)
    expect(told(distinct(target.received))).toEqual(wanted)
    expect(told(distinct(other.received))).toEqual(wanted)
    // Only the last message that was tried may be repeated, and never an older one.
    let last = -1
    const order = distinct(target.received).map(({ id }) => id)
    for (const { id } of target.received) {
      expect(order.indexOf(id)).toBeGreaterThanOrEqual(last)
      last = order.indexOf(id)
    }
    // Each of a few messages may have arrived at the first try.
    if (cases >= 10) expect(target.received.length).toBeGreaterThan(cases)
  },
)

test('the deliverer ignores an invalid file entry, and deletes the subscription of a removed entry', async () => {
  const store = new Store(database.url, () => {})
  const webhooks = new WebhookStore(store.servers)
  const [one, two, three] = ['one', 'two', 'three'].map((id) => subscription('https://maps.example', { id }))
  await webhooks.setFile([one!, two!, three!])
  const before = await state(`id = 'two'`)
  await webhooks.setFile([one!], ['two'])
  expect((await state()).map(({ id }) => id)).toEqual(['one', 'two'])
  expect(await state(`id = 'two'`)).toEqual(before)
  await webhooks.setFile([one!])
  expect((await state()).map(({ id }) => id)).toEqual(['one'])
  await store.close()
})

/** Runs a deliverer that loses its database at some moment, but not its receivers. */
async function deliverUntilCut(
  given: readonly GivenSubscription[],
  options: Partial<DelivererOptions> = {},
  sender = new SafeSender(new Set(['127.0.0.1'])),
) {
  const store = new Store(database.url, () => {})
  const webhooks = new WebhookStore(store.servers)
  await webhooks.setFile(given)
  let isCut = false
  // Reads the state from the database.
  const called: string[] = []
  const partitioned = new Proxy(webhooks, {
    get: (of, name) => {
      const method = Reflect.get(of, name) as (...args: unknown[]) => Promise<unknown>
      return (...args: unknown[]) => {
        if (isCut) return Promise.reject(new Error('cut off'))
        called.push(String(name))
        return method.apply(of, args)
      }
    },
  })
  const deliverer = new Deliverer(store, partitioned, sender, Fastify().log, { ...QUICK, ...options })
  deliverer.start()
  closing.push(async () => (await deliverer.stop(), await store.close()))
  while ((await state('position IS NULL')).length) await pause(10)
  return { deliverer, called, cut: () => (isCut = true), mend: () => (isCut = false) }
}
/** Requests a retry of dead letters, like their operator. */
const wantLetters = (subscription = 'one', letters = 1) =>
  client.query(
    `INSERT INTO webhook_dead_letter (subscription, message, body, attempts, error, wanted_at)
     SELECT $1, 'msg_dead' || n, '{}', 3, 'the receiver returned 503', now() FROM generate_series(1, $2) AS n`,
    [subscription, letters],
  )

test(
  'the deliverer of a subscription is replaced by a second deliverer if it is cut off',
  { tags: ['slow'] },
  async () => {
    const target = await receiver()
    const { cut } = await deliverUntilCut(
      range(0, 20).map((i) => subscription(`${target.url}/${i}`, { id: `s${i}` })),
      // After this time, the second deliverer takes over the subscriptions of the first one.
      { leaseMs: 4_000 },
    )
    await deliver(undefined, { leaseMs: 4_000 })
    await insert(1)
    await target.until(() => target.received.length >= 20)
    await pause(100)
    expect(target.received.length).toBe(20)
    cut()
    await insert(2)
    await target.until(() => distinct(target.received).length >= 40)
    for (const i of range(0, 20))
      expect(told(distinct(target.received.filter(({ path }) => path === `/${i}`)))).toEqual([
        'record.new 1',
        'record.new 2',
      ])
  },
)

test('the deliverer aborts a request when the lease ends, before another process sends it', async () => {
  const events: string[] = []
  const target = await receiver(() => (request, response) => {
    events.push('sent')
    if (events.length > 1) return response.writeHead(204).end()
    response.once('close', () => events.push('cut off'))
    cut()
  })
  const { cut } = await deliverUntilCut([subscription(target.url)], { timeoutMs: 600_000 })
  await deliver(undefined)
  await insert(1)
  await target.until(() => events.length >= 3)
  expect([events, distinct(target.received).length]).toEqual([['sent', 'cut off', 'sent'], 1])
})

test('the deliverer ends its lease if its timer fires early, so that no request starts afterwards', async () => {
  const sender = new SafeSender(new Set(['127.0.0.1']))
  const post = vi.spyOn(sender, 'post')
  const target = await receiver(() => {
    if (target.received.length > 1) return answers.ok
    cut()
    // The deliverer's clock stands still, so it never reaches the end of the lease. Timers still run.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    closing.push(() => clock.mockRestore())
    return answers.hang
  })
  const { cut } = await deliverUntilCut([subscription(target.url)], { timeoutMs: 600_000 }, sender)
  await deliver(undefined)
  await insert(1)
  await target.until(() => target.received.length > 1)
  expect(post).toHaveBeenCalledTimes(1)
})

test('the deliverer does not count a request that the end of a lease aborts as a failure', async () => {
  let sent = 0
  class Sender extends SafeSender {
    override async post(...[, , , signal]: Parameters<SafeSender['post']>) {
      if (++sent > 2) return { status: 204, retryAfter: undefined }
      if (sent === 2) cut()
      await once(signal, 'abort')
      mend()
      // The next renewal begins after the result of the previous one has arrived.
      const renewals = () => called.filter((name) => name === 'renew').length
      const before = renewals()
      while (renewals() < before + 2) await pause(5)
      throw signal.reason
    }
  }
  const options = { timeoutMs: 600_000 }
  const started = await deliverUntilCut([subscription('http://127.0.0.1')], options, new Sender(new Set()))
  const { deliverer, called, cut, mend } = started
  const registry = new Registry()
  deliverer.register(registry)
  await wantLetters()
  await insert(1)
  while (sent < 4 || (await letters()).length) await pause(10)
  const { values } = await registry.getSingleMetric('geospatial_webhook_messages_total')!.get()
  expect(values.map(({ labels, value }) => [labels.outcome, value])).toEqual([
    ['delivered', 2],
    ['failed', 0],
    ['dead', 0],
  ])
})

test('the deliverer remembers a requested redelivery that a stop aborts', async () => {
  const target = await receiver(() => answers.hang)
  const { deliverer, called } = await deliverUntilCut([subscription(target.url)], { timeoutMs: 600_000 })
  await wantLetters()
  await target.until(() => target.received.length === 1)
  await deliverer.stop()
  expect([called.includes('tried'), called.at(-1)]).toEqual([false, 'release'])
})

test('the deliverer sends requested redeliveries although another receiver hangs', async () => {
  const hanging = await receiver(() => answers.hang)
  const target = await receiver()
  await deliver([subscription(hanging.url, { id: 'hanging' }), subscription(target.url)], KEPT)
  await wantLetters('hanging', 60)
  await hanging.until(() => hanging.received.length > 0)
  await wantLetters()
  await target.until(() => target.received.length === 1)
  while ((await letters()).length > 60) await pause(10)
})

test('the deliverer resumes under another name after a lost lease, and loses no message', async () => {
  const target = await receiver()
  await deliver(range(0, 20).map((i) => subscription(`${target.url}/${i}`, { id: `s${i}` })))
  const names = new Set<string>()
  for (const n of range(1, 6)) {
    names.add((await client.query('DELETE FROM webhook_holder RETURNING holder')).rows[0]!.holder)
    await insert(n)
    await target.until(() => distinct(target.received).length >= 20 * n)
    while ((await client.query('SELECT FROM webhook_holder')).rowCount === 0) await pause(10)
  }
  expect(names.size).toBe(5)
  for (const i of range(0, 20))
    expect(told(distinct(target.received.filter(({ path }) => path === `/${i}`)))).toEqual(
      range(1, 6).map((n) => `record.new ${n}`),
    )
})

test('many deliverers that start at once take each subscription only once', async () => {
  const store = new Store(database.url, () => {})
  closing.push(() => store.close())
  const webhooks = new WebhookStore(store.servers)
  await webhooks.setFile(range(0, 500).map((i) => subscription('https://maps.example', { id: `s${i}` })))
  const holders = ['a', 'b', 'c']
  for (const holder of holders) await webhooks.enter(holder, 60_000)
  let taken = 0
  while ((await state('holder IS NULL')).length)
    for (const count of await Promise.all(holders.map((holder) => webhooks.take(holder)))) taken += count
  const versions = await Promise.all(holders.map((holder) => webhooks.versions(holder)))
  expect([taken, new Set(versions.flatMap((each) => [...each.keys()])).size]).toEqual([500, 500])
  // Each deliverer had its share of the subscriptions at all times.
  expect(Math.min(...versions.map(({ size }) => size))).toBeGreaterThan(50)
  // A deliverer's subscriptions become free when its lease ends, and not earlier.
  expect(await webhooks.take('b')).toBe(0)
  await client.query(`UPDATE webhook_holder SET held_until = now() - interval '1 s' WHERE holder = 'a'`)
  expect(await webhooks.take('b')).toBe(0)
  expect(await webhooks.renew('b', 60_000)).toBeInstanceOf(Date)
  expect(await webhooks.renew('a', 60_000)).toBeUndefined()
  const free = versions[0]!.size
  expect([await webhooks.take('b'), await webhooks.take('c')]).toEqual([
    Math.ceil(free / 2),
    Math.ceil(Math.floor(free / 2) / 2),
  ])
})

test('the deliverer sends to the receiver of docs/guide/streaming.md', async () => {
  const [, program] = /## With webhooks[^]*?```js\n([^]*?)```/.exec(
    readFileSync('docs/guide/streaming.md', 'utf8'),
  )!
  // The file is in this folder so that it finds the packages that it imports.
  const file = `api/webhooks/receiver-${process.pid}.mjs`
  writeFileSync(file, program!)
  closing.push(() => rmSync(file))
  const port = await freePort()
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: SECRETS[0] }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  closing.push(async () => child.kill() && (await once(child, 'exit')))
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text))
  const url = `http://127.0.0.1:${port}`
  const signed = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /^(webhook-|content-type)/.test(name)))
  // A proxy between the deliverers and the receiver loses the first response to each message.
  const seen = new Set<string>()
  const statuses: number[] = []
  const target = await receiver(({ id, body, headers }) => async (_, response) => {
    const { status } = await fetch(url, { method: 'POST', body, headers: signed(headers) })
    statuses.push(status)
    if (seen.has(id)) return response.writeHead(status).end()
    seen.add(id)
    response.destroy()
  })
  while (!(await fetch(url).catch(() => undefined))) await pause(50)
  await deliver([subscription(target.url)])
  await insert(1, 2)
  while (statuses.length < 4 || !printed.includes(uidOf(2))) await pause(10)
  const { body, headers } = target.received[0]!
  const forged = await fetch(url, {
    method: 'POST',
    body: body.replace('record.new', 'record.old'),
    headers: signed(headers),
  })
  expect(forged.status).toBe(401)
  expect(new Set(statuses)).toEqual(new Set([204]))
  expect([statuses.length, printed.match(/record\.new/g)]).toEqual([4, ['record.new', 'record.new']])
})

describe('failures of a delivery', () => {
  test('turn each message into a dead letter at the age of three days, and then delivery resumes', async () => {
    let now = performance.now()
    const target = await receiver(() => answers.status(503))
    await deliver([subscription(target.url)], { elapsed: () => now })
    await insert(1)
    await target.until(() => target.received.length >= 1)
    await client.query('BEGIN')
    await insert(2)
    // This read waits for the first one, and runs when the first one has ended.
    await client.query(`UPDATE record_change SET changed_at = now() - interval '4 days' WHERE uid = $1`, [
      uidOf(2),
    ])
    await client.query('COMMIT')
    const failed = async (times: number) => {
      while ((await state(`failures = ${times}`)).length === 0) await pause(10)
    }
    await failed(1)
    // Tries continue at growing intervals.
    for (let i = 0; i < 5; i++) {
      now += 6 * 3_600_000 * 1.3
      await failed(i + 2)
    }
    expect(await letters()).toEqual([])
    now += 3 * 86_400_000
    while ((await letters()).length < 2) await pause(10)
    target.answer = () => answers.ok
    // The deliverer learns the time of the database again when it renews its lease.
    const leased = async () =>
      (await client.query('SELECT held_until FROM webhook_holder')).rows[0]!.held_until
    const before = await leased()
    await expect.poll(async () => (await leased()) > before).toBe(true)
    await insert(3)
    now += 7 * 3_600_000
    await target.until(() => told(target.received).at(-1) === 'record.new 3')
    const dead = await letters()
    expect(dead.map(({ error }) => error)).toEqual([503, 503].map((each) => sentence('', each)))
    expect([...new Set(told(distinct(target.received)))].sort()).toEqual(
      expect.arrayContaining(['record.new 1', 'record.new 3']),
    )
    // A requested dead letter is sent once more, unchanged.
    await client.query('UPDATE webhook_dead_letter SET wanted_at = now() WHERE message = $1', [
      dead[0]!.message,
    ])
    await target.until(() => target.received.at(-1)!.id === dead[0]!.message)
    while ((await letters()).length > 1) await pause(10)
    expect(distinct(target.received).filter(({ id }) => id === dead[0]!.message)).toHaveLength(1)
  })
  test('are retried as long and as often if the clock steps', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const start = Date.now()
    const target = await receiver(() => answers.status(503))
    const deliverer = await deliver([subscription(target.url)], KEPT)
    const failed = async (times: number) => {
      while ((await state(`failures >= ${times}`)).length === 0) await pause(10)
    }
    await insert(1)
    await failed(1)
    vi.setSystemTime(start + 10 * 86_400_000)
    await failed(2)
    vi.setSystemTime(start - 10 * 86_400_000)
    await failed(3)
    // Another process resumes from the progress that this process wrote.
    await deliverer.stop()
    expect(await state(`failing_since > now() OR next_try > now() + interval '1 hour'`)).toEqual([])
    vi.setSystemTime(start + 10 * 86_400_000)
    await deliver(undefined, KEPT)
    await failed(4)
    target.answer = () => answers.ok
    while ((await state('failures = 0')).length === 0) await pause(10)
    expect([await letters(), distinct(target.received).length]).toEqual([[], 1])
    // Receivers compare the time of a message with their own.
    for (const { headers } of target.received)
      expect(Math.abs(Number(headers['webhook-timestamp']) - start / 1000)).toBeLessThan(600)
  })
  test.each([
    ['still fails', 503],
    ['works again', 204],
  ])('turn a message into a dead letter after a stop of days only if the receiver %s', async (_, status) => {
    const target = await receiver(() => answers.status(503))
    const deliverer = await deliver([subscription(target.url)], KEPT)
    await insert(1)
    while ((await state('failures >= 1')).length === 0) await pause(10)
    await deliverer.stop()
    await client.query(`UPDATE webhook_subscription SET failing_since = failing_since - interval '4 days'`)
    await client.query(`UPDATE record_change SET changed_at = changed_at - interval '4 days'`)
    const before = target.received.length
    target.answer = () => answers.status(status)
    const { position } = (await state())[0]!
    await deliver(undefined, KEPT)
    while ((await state())[0]!.position === position) await pause(10)
    expect(target.received.length).toBe(before + 1)
    const errors = status === 503 ? [sentence('', status)] : []
    expect([(await letters()).map(({ error }) => error), (await state())[0]!.last_error]).toEqual([
      errors,
      errors[0] ?? null,
    ])
  })
  test('are retried as long and as often if the clock of the database steps', async () => {
    const target = await receiver(() => answers.status(503))
    const deliverer = await deliver([subscription(target.url)], KEPT)
    await insert(1)
    while ((await state('failures >= 2')).length === 0) await pause(10)
    await deliverer.stop()
    // The database's clock was ahead by ten days when this row was written.
    await client.query(
      `UPDATE webhook_subscription SET failing_since = failing_since + interval '10 days', next_try = next_try + interval '10 days'`,
    )
    target.answer = () => answers.ok
    await deliver(undefined, KEPT)
    while ((await state('failures = 0')).length === 0) await pause(10)
    expect(await letters()).toEqual([])
  })
  test('include a redirect, which is not followed, and 410, which disables the subscription', async () => {
    const elsewhere = await receiver()
    const gone = await receiver(() => answers.status(410))
    const moved = await receiver(() => answers.status(307, { location: elsewhere.url }))
    await deliver([subscription(gone.url), subscription(moved.url, { id: 'two' })], KEPT)
    await insert(1)
    await moved.until(() => moved.received.length >= 2)
    while ((await state('disabled IS NOT NULL')).length === 0) await pause(10)
    await insert(2)
    await pause(200)
    expect([gone.received.length, elsewhere.received.length]).toEqual([1, 0])
    const [one, two] = await state()
    expect([one!.disabled, one!.holder, two!.disabled]).toEqual([sentence(), null, null])
  })
  test('include a silent receiver after its time limit, despite garbage collection', async () => {
    const target = await receiver(() => answers.hang)
    await deliver([subscription(target.url)], { timeoutMs: 300 })
    await insert(1)
    await target.until(() => target.received.length === 1)
    while ((await state('failures > 0')).length === 0) {
      collectGarbage()
      await pause(10)
    }
    expect((await state())[0]!.last_error).toEqual(sentence())
  })
  test('are retried after the time in Retry-After', async () => {
    const target = await receiver(() => answers.status(503, { 'retry-after': '2' }))
    await deliver([subscription(target.url)])
    await insert(1)
    await target.until(() => target.received.length >= 2)
    expect(target.received[1]!.at - target.received[0]!.at).toBeGreaterThanOrEqual(1_990)
  })
  test('do not delay other receivers while some receivers hang', { tags: ['slow'] }, async () => {
    const hanging = await receiver(() => answers.hang)
    const target = await receiver()
    await deliver(
      [
        ...range(0, 300).map((i) => subscription(`${hanging.url}/${i}`, { id: `h${i}` })),
        subscription(target.url, { id: 'z' }),
      ],
      {
        timeoutMs: 5_000,
        leaseMs: 60_000,
        atOnce: { working: { all: 64, each: 32 }, failing: { all: 8, each: 8 } },
      },
    )
    const began = performance.now()
    await insert(1, 2)
    await target.until(() => target.received.length === 2)
    expect(performance.now() - began).toBeLessThan(4_000)
    // The number of requests equals the limit for one host.
    expect(hanging.received.length).toBeLessThanOrEqual(32)
  })
})

test('a subscription that cannot be read stops no other, and resumes at its position', async () => {
  const target = await receiver()
  const deliverer = await deliver([subscription(`${target.url}/a`), subscription(target.url, { id: 'two' })])
  await deliverer.stop()
  const setChain = (chain: string) =>
    client.query(`UPDATE webhook_subscription SET filter = $1 WHERE id = 'one'`, [{ chain }])
  await setChain('gone')
  const held = vi.spyOn(WebhookStore.prototype, 'held')
  closing.push(() => held.mockRestore())
  await wantLetters('one', 100)
  const second = await deliver(undefined)
  await insert(1)
  await target.until(() => target.received.length === 1)
  await pause(200)
  expect([target.received.map(({ path }) => path), held.mock.calls.length]).toEqual([['/'], 1])
  const store = new Store(database.url, () => {})
  closing.push(() => store.close())
  const webhooks = new WebhookStore(store.servers)
  expect(await webhooks.get('one')).toMatchObject({ state: 'failing', last_error: sentence('filter') })
  await wantLetters('two')
  await target.until(() => target.received.length === 2)
  await second.stop()
  await client.query('TRUNCATE webhook_dead_letter')
  await setChain('celo')
  await deliver(undefined)
  await target.until(() => target.received.length === 3)
  await expect.poll(() => webhooks.get('one')).toMatchObject({ state: 'active', last_error: null })
})

describe('a changed subscription', () => {
  test('is sent to a new address immediately, even if the old one returned 410 days ago', async () => {
    const [gone, target] = [await receiver(() => answers.status(410)), await receiver()]
    const deliverer = await deliver([subscription(gone.url)], KEPT)
    await insert(1, 2)
    while ((await state('disabled IS NOT NULL')).length === 0) await pause(10)
    await deliverer.stop()
    await client.query(
      `UPDATE webhook_subscription SET failing_since = now() - interval '4 days', next_try = now() + interval '6 hours'`,
    )
    await client.query(`UPDATE record_change SET changed_at = changed_at - interval '4 days'`)
    await deliver([subscription(target.url)], KEPT)
    await target.until(() => target.received.length === 2)
    expect([told(target.received), await letters()]).toEqual([['record.new 1', 'record.new 2'], []])
  })
  test('is retried immediately if its secret changes', async () => {
    const store = new Store(database.url, () => {})
    closing.push(() => store.close())
    const webhooks = new WebhookStore(store.servers)
    const given = subscription('https://maps.example')
    await webhooks.setFile([given])
    await webhooks.add({ ...given, id: 'two' }, 'AAAAAAAA', 10)
    await client.query(
      `UPDATE webhook_subscription SET failures = 9, failing_since = now(), next_try = now(), last_error = 'the receiver returned 401'`,
    )
    await webhooks.setFile([{ ...given, secrets: [SECRETS[1]!] }])
    await webhooks.rotate('two', SECRETS[1]!)
    expect(await state()).toMatchObject(
      Array(2).fill({ failures: 0, failing_since: null, next_try: null, last_error: null }),
    )
  })
  test('stops after it is deleted during a request, and applies a new address and secret to the next request', async () => {
    const [one, two] = [await receiver(() => answers.slow), await receiver()]
    await deliver([subscription(one.url), subscription(one.url, { id: 'two' })], KEPT)
    const store = new Store(database.url, () => {})
    closing.push(() => store.close())
    await insert(1)
    await one.until(() => one.received.length === 2)
    await new WebhookStore(store.servers).setFile([
      subscription(two.url, { id: 'two', secrets: [SECRETS[1]!] }),
    ])
    await pause(200)
    await insert(2)
    await two.until(() => told(two.received).includes('record.new 2'))
    await pause(100)
    expect(one.received.length).toBe(2)
    expect((await state()).map(({ id }) => id)).toEqual(['two'])
    const last = two.received.at(-1)!
    expect(() => new Webhook(SECRETS[0]!).verify(last.body, last.headers)).toThrow()
    expect(new Webhook(SECRETS[1]!).verify(last.body, last.headers)).toBeTruthy()
  })
  test('is sent to a new address although its message waits behind hanging requests to the old one', async () => {
    const [hanging, target] = [await receiver(() => answers.hang), await receiver()]
    const slots = { all: 2, each: 1 }
    await deliver([subscription(hanging.url), subscription(hanging.url, { id: 'two' })], {
      ...KEPT,
      atOnce: { working: slots, failing: slots },
    })
    await insert(1)
    await hanging.until(() => hanging.received.length === 1)
    await client.query('UPDATE webhook_subscription SET url = $1, version = version + 1', [target.url])
    await target.until(() => target.received.length === 1)
    expect(hanging.received.length).toBe(1)
  })
  test('sends a reset, then new changes, from a position in a database that was rebuilt', async () => {
    const target = await receiver()
    await deliver([subscription(target.url)], KEPT)
    await client.query('TRUNCATE location_record')
    await target.until(() => target.received.length === 1)
    // Without this, the next deliverer would send the message again.
    const pending = () => client.query('SELECT FROM webhook_subscription WHERE reset_reason IS NOT NULL')
    await expect.poll(async () => (await pending()).rowCount, { timeout: 30_000 }).toBe(0)
    await insert(7)
    await target.until(() => target.received.length === 2)
    expect(told(target.received)).toEqual(['reset', 'record.new 7'])
  })
})

test('requests to one host do not wait for connections, in which time they would count as failed', async () => {
  const hanging = await receiver(() => answers.hang)
  const sender = new SafeSender(new Set(['127.0.0.1']))
  closing.push(() => sender.close())
  for (let i = 0; i < 100; i++) sender.post(hanging.url, {}, '', new AbortController().signal).catch(() => {})
  await hanging.until(() => hanging.received.length === 100)
})

describe('addresses of webhooks', () => {
  const sender = new SafeSender(new Set(['hooks.internal:8080']))
  closing.push(() => sender.close())
  test.each([
    ...[
      'http://good.example/',
      'ftp://good.example/',
      'https://good.example:8443/',
      'https://u:p@good.example/',
    ],
    ...[
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://[::1]/',
      'https://[::ffff:7f00:1]/',
    ],
    ...['https://localhost/', 'https://kubernetes/', 'https://①②⑦.⓪.⓪.①/', 'https://169.254.169.254/latest'],
    ...['http://hooks.internal/', 'https://hooks.internal.example:8080/', 'https://good.example/ x'],
  ])('are refused: %s', async (url) => {
    expect(sender.problemOf(url)).toBeTruthy()
    await expect(sender.post(url, {}, '', AbortSignal.timeout(1_000))).rejects.toThrow()
  })
  test('are unrestricted if a setting names them', () => {
    expect(sender.problemOf('http://hooks.internal:8080/x')).toBeUndefined()
    expect(sender.problemOf('https://good.example/x?y')).toBeUndefined()
  })
  test.each([
    ['private', ['10.0.0.1']],
    ['one private among public', ['93.184.216.34', '127.0.0.1']],
    ['of IPv6 that holds one', ['::ffff:127.0.0.1']],
    ['none', []],
  ])('are not connected to if they resolve to %s', async (_, addresses) => {
    const dialled: unknown[] = []
    const world = {
      resolve: () => Promise.resolve(addresses),
      dial: (...args: unknown[]) => {
        dialled.push(args)
        throw new Error('dialled')
      },
    }
    const checked = new SafeSender(new Set(), world)
    await expect(checked.post('https://good.example/', {}, '', AbortSignal.timeout(2_000))).rejects.toThrow(
      /address/,
    )
    expect(dialled).toEqual([])
    await checked.close()
  })
})

testSentences()
