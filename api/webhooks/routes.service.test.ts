import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import { startApi, type TestApi } from '../../test/api'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from '../../test/database'
import { openApiChecker } from '../../test/openapi'
import { answers, startReceiver, type Receiver } from '../../test/receiver'
import { insertRecords, uidOf } from '../../test/records'
import { SafeSender } from '../outgoing'
import { Store } from '../store'
import { currentPosition, positionText } from '../stream'
import { Deliverer, readWebhooksFile, WebhookStore } from '.'
import { sentence, testSentences } from '../../test/sentences'

/** Tests the admin API of webhooks, with a real database, a deliverer and a receiver. */
const KEY = 'k'.repeat(40)
const sender = new SafeSender(new Set(['127.0.0.1']))
let database: TestDatabase
let store: Store
let api: TestApi
let deliverer: Deliverer
const OPTIONS = {
  ...{ pollMs: 10, renewMs: 30, syncMs: 30, leaseMs: 20_000, firstPauseMs: 20, timeoutMs: 5_000 },
}
let receiver: Receiver
const registry = new Registry()
beforeAll(async () => {
  database = await createMigratedDatabase()
  store = new Store(database.url, () => {})
  const webhooks = new WebhookStore(store.servers)
  api = await startApi({ databaseUrl: database.url, webhookAdmin: { webhooks, sender, adminKey: KEY } })
  deliverer = new Deliverer(store, webhooks, sender, Fastify().log, OPTIONS)
  deliverer.register(registry)
  deliverer.start()
})
beforeEach(async () => {
  await rows(database.url, 'DELETE FROM webhook_subscription')
  // Each test has its own receiver, so that messages that are on their way to the previous receiver do not
  // count.
  receiver = await startReceiver()
})
afterEach(() => receiver?.close())
afterAll(async () => {
  await deliverer?.stop()
  await store?.close()
})

const ask = async (method: string, path: string, body?: unknown, key = KEY) => {
  const answer = await fetch(`${api.url}/admin/v0/webhooks${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    body: text ? JSON.parse(text) : undefined,
    headers: answer.headers,
  }
}
let n = 0
const insert = () =>
  insertRecords(database.url, [{ chain: 'celo', uid: uidOf(++n), columns: { log_index: n } }])
/** Returns the number of messages that the metric of delays has counted. */
const delays = async () => {
  const { values } = await registry.getSingleMetric('geospatial_webhook_delay_seconds')!.get()
  return (values as { metricName?: string; value: number }[]).find(({ metricName }) =>
    metricName?.endsWith('_count'),
  )!.value
}
/** Resolves when the deliverer has the subscription as it is stored, and none that was deleted. */
const synced = async (id: string) => {
  const { held } = deliverer as object as { held: ReadonlyMap<string, { row: { version: string } }> }
  const stored = async () =>
    (
      await rows<{ version: string }>(
        database.url,
        'SELECT version::text FROM webhook_subscription WHERE id = $1',
        [id],
      )
    )[0]?.version
  while (held.get(id)?.row.version !== (await stored())) await pause(5)
}
const added = async (more: object = {}) => {
  const { status, body } = await ask('POST', '', { url: `${receiver.url}/hook`, ...more })
  expect(status).toBe(201)
  await synced(body.id)
  return body as { id: string; secret: string; position: string }
}

test('the webhook API adds, lists and deletes a subscription, and shows it without its secret', async () => {
  await insert()
  const { id, secret } = await added({ filter: { chain: 'celo' } })
  await insert()
  await receiver.until(() => receiver.received.length === 1)
  const [{ body, headers }] = receiver.received as [Receiver['received'][number]]
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({
    type: 'record.new',
    data: { uid: uidOf(n) },
  })
  const list = await ask('GET', '')
  expect(list.headers.get('cache-control')).toBe('no-store')
  expect(list.body).toEqual([
    expect.objectContaining({
      id,
      source: 'admin',
      finality: 'final',
      filter: { chain: 'celo' },
      state: 'active',
    }),
  ])
  expect(JSON.stringify([list.body, (await ask('GET', `/${id}`)).body])).not.toContain(secret.slice(6))
  expect((await ask('DELETE', `/${id}`)).status).toBe(204)
  expect((await ask('GET', `/${id}`)).status).toBe(404)
  await synced(id)
  const other = await added()
  await insert()
  await receiver.until(() => receiver.received.length > 1)
  expect(receiver.received.length).toBe(2)
  const last = receiver.received[1]!
  expect(new Webhook(other.secret).verify(last.body, last.headers)).toBeTruthy()
})

test('the webhook API signs with a new secret in addition to the old secret', async () => {
  const { id, secret } = await added()
  // A message may arrive twice if the response to its first try was late.
  const messages = () => new Set(receiver.received.map((each) => each.id)).size
  const { body } = await ask('POST', `/${id}/rotate-secret`)
  expect(body.secret).not.toBe(secret)
  await synced(id)
  await insert()
  await receiver.until(() => messages() === 1)
  for (const each of [secret, body.secret as string])
    expect(new Webhook(each).verify(receiver.received[0]!.body, receiver.received[0]!.headers)).toBeTruthy()
  await rows(database.url, `UPDATE webhook_subscription SET old_until = now(), version = version + 1`)
  await synced(id)
  await insert()
  await receiver.until(() => messages() === 2)
  const { body: text, headers } = receiver.received.at(-1)!
  expect(() => new Webhook(secret).verify(text, headers)).toThrow()
})

test('the webhook API replays messages from a position or a time, without counting it as a delay', async () => {
  const counted = await delays()
  const { id } = await added()
  const { position } = (await ask('GET', `/${id}`)).body
  const since = new Date()
  await insert()
  await insert()
  await receiver.until(() => receiver.received.length === 2)
  for (const from of [{ position }, { since: since.toISOString() }]) {
    const before = receiver.received.length
    expect((await ask('POST', `/${id}/replay`, from)).status).toBe(202)
    await receiver.until(() => receiver.received.length === before + 2)
    const ofEach = (list: Receiver['received']) => list.map((each) => [each.id, each.body])
    expect(ofEach(receiver.received.slice(-2))).toEqual(ofEach(receiver.received.slice(0, 2)))
  }
  // Only the two messages that were sent when their changes were logged count.
  expect(await delays()).toBe(counted + 2)
})

test('the webhook API replays a change whose id is lower than that of a change logged before the time', async () => {
  const { id } = await added()
  const since = new Date()
  await insert()
  await insert()
  await receiver.until(() => receiver.received.length === 2)
  // The transaction of the second change began before that of the first one, but got the chain's lock later.
  await rows(
    database.url,
    `UPDATE record_change SET changed_at = $1 WHERE id = (SELECT max(id) FROM record_change)`,
    [new Date(since.getTime() - 1_000)],
  )
  expect((await ask('POST', `/${id}/replay`, { since: since.toISOString() })).status).toBe(202)
  await receiver.until(() => receiver.received.length >= 4)
  expect(receiver.received.slice(2).map((each) => each.id)).toEqual(
    receiver.received.slice(0, 2).map((each) => each.id),
  )
})

test('bodies of old messages are deleted, however many there are', async () => {
  const webhooks = new WebhookStore(store.servers)
  await rows(
    database.url,
    `INSERT INTO webhook_message (finality, chain, since, change, body, created_at)
     SELECT 'latest', 'sepolia', 0, n, '{}', now() - make_interval(days => CASE WHEN n <= 5001 THEN 12 ELSE 10 END)
     FROM generate_series(1, 5003) AS n`,
  )
  expect([await webhooks.forget(), await webhooks.forget()]).toEqual([true, false])
  const left = await rows(
    database.url,
    `SELECT change::int FROM webhook_message WHERE chain = 'sepolia' ORDER BY change`,
  )
  expect(left).toEqual([{ change: 5_002 }, { change: 5_003 }])
})

test('the webhook API reports a receiver without TLS with a clear message', async () => {
  const { id } = await added({ url: `${receiver.url.replace('http:', 'https:')}/hook` })
  await insert()
  const failed = async () => (await ask('GET', `/${id}`)).body.last_error as string | null
  while ((await failed()) === null) await pause(10)
  expect(await failed()).toEqual(sentence())
})

test('the webhook API disables a subscription after 410, and enables it by a replay', async () => {
  receiver.answer = () => answers.status(410)
  const { id } = await added()
  const { position } = (await ask('GET', `/${id}`)).body
  await insert()
  while ((await ask('GET', `/${id}`)).body.state !== 'disabled') await pause(10)
  await rows(database.url, 'UPDATE webhook_subscription SET next_try = now()')
  expect((await ask('GET', `/${id}`)).body.next_try).toBeNull()
  receiver.answer = () => answers.ok
  await ask('POST', `/${id}/replay`, { position })
  await receiver.until(() => receiver.received.length === 2)
  await rows(
    database.url,
    `INSERT INTO webhook_dead_letter (subscription, message, body, attempts, error) VALUES ($1, 'msg_x', '{}', 9, 'no')`,
    [id],
  )
  const letters = await ask('GET', `/${id}/dead-letters`)
  expect(letters.body).toMatchObject([
    { message: 'msg_x', body: '{}', attempts: 9, error: 'no', wanted_at: null },
  ])
  expect((await ask('POST', `/${id}/dead-letters/msg_x/redeliver`)).status).toBe(202)
  await receiver.until(() => receiver.received.at(-1)!.id === 'msg_x')
  while ((await ask('GET', `/${id}/dead-letters`)).body.length) await pause(10)
  expect((await ask('POST', `/${id}/dead-letters/msg_x/redeliver`)).status).toBe(404)
})

test('the webhook API accepts a content type on a request without a body', async () => {
  const { id } = await added()
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const at = `${api.url}/admin/v0/webhooks/${id}`
  expect((await fetch(`${at}/rotate-secret`, { method: 'POST', headers })).status).toBe(200)
  const replay = await fetch(`${at}/replay`, { method: 'POST', headers })
  expect([replay.status, await replay.json()]).toEqual([400, expect.objectContaining({ detail: sentence() })])
  expect((await fetch(at, { method: 'DELETE', headers })).status).toBe(204)
})

test.each([
  ['GET', '/%00'],
  ['GET', '?after=%00'],
  ['GET', '/%00/dead-letters'],
  ['POST', '/%00/rotate-secret'],
  ['POST', '/wh_1/dead-letters/%00/redeliver'],
  ['DELETE', '/%00'],
])('the webhook API refuses %s %s', async (method, path) => {
  const { status, body } = await ask(method, path)
  expect([status, body.detail]).toEqual([400, sentence()])
})

test('the webhook API refuses a body that the route would ignore, because it may be secret', async () => {
  const { id } = await added()
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const refused = await ask('POST', `/${id}/rotate-secret`, { secret })
  expect([refused.status, refused.body.detail]).toEqual([400, sentence('body')])
  expect((await ask('POST', `/${id}/rotate-secret`, {})).status).toBe(200)
})

describe('the admin API of webhooks', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 'Ä').toString('base64')
  test.each<[string | number, boolean]>([
    ...[24, 25, 26, 64].map((bytes): [string, boolean] => [`whsec_${base64(bytes)}`, true]),
    ...[23, 65].map((bytes): [string, boolean] => [`whsec_${base64(bytes)}`, false]),
    [`whsec_${base64(25).replaceAll('=', '')}`, true],
    [`whsec_${base64(25)}=`, false],
    [`whsec_${base64(24)}\n`, false],
    [`whsec_-_${base64(24)}`, false],
    [base64(24), false],
    [1e32, false],
  ])('agrees with WEBHOOKS_FILE if the secret %j is valid', async (secret, isValid) => {
    const url = 'https://maps.example/'
    const file = path.join(temporaryFolder(), 'webhooks.json')
    writeFileSync(file, JSON.stringify([{ id: 'maps', url, secret }]))
    const { refused } = readWebhooksFile(file, sender)
    const { status } = await ask('POST', '', { url, secret })
    expect([status, refused.length]).toEqual(isValid ? [201, 0] : [400, 1])
    if (isValid) expect(new Webhook(`${secret}`).sign('id', new Date(), '{}')).toContain('v1,')
  })
  test.each([
    ['', 401],
    ['x'.repeat(40), 401],
    [`${KEY}k`, 401],
  ])('refuses the key %j', async (key, status) => {
    const answer = await ask('GET', '', undefined, key)
    expect([answer.status, answer.body.message]).toEqual([status, 'Unauthorized'])
    expect((await ask('POST', '', { url: receiver.url }, key)).status).toBe(status)
  })
  test.each<[object, unknown]>([
    [{}, sentence()],
    [[], sentence('body')],
    [{ url: 'https://10.0.0.1/' }, sentence()],
    [{ url: 'http://good.example/' }, sentence()],
    [{ url: 'https://good.example/', filter: { chain: 'solana' } }, sentence()],
    [{ url: 'https://good.example/', filter: { limit: '3' } }, sentence()],
    [{ url: 'https://good.example/', finality: 'safe' }, sentence('finality')],
    [{ url: 'https://good.example/', secret: 'whsec_short' }, sentence()],
    [{ url: 'https://good.example/', more: 1 }, sentence('more')],
    [{ url: 'https://good.example/', filter: { bbox: [1, 2, 3, 4] } }, sentence()],
  ])('refuses the body %j', async (body, detail) => {
    const answer = await ask('POST', '', body)
    expect([answer.status, answer.body.detail]).toEqual([400, detail])
  })
  test('refuses a replay from an unknown position, unknown ids, and changes of file entries', async () => {
    const { id } = await added()
    for (const body of [
      {},
      { position: 'x' },
      { since: 'yesterday' },
      // Date.parse accepts this form, and reads one without an offset as a time of the server's zone.
      { since: new Date().toString() },
      { since: '2020-01-01' },
      { since: '2999-01-01' },
      { position: 'a', since: 'b' },
      { position: 'AAAAAAAA,celo.1' },
    ])
      expect((await ask('POST', `/${id}/replay`, body)).status).toBe(400)
    expect((await ask('POST', `/${id}/replay`, { since: '2020-01-01' })).body.detail).toMatch(
      /7 days. Expected 2/,
    )
    // A request with an unknown position must not lose undelivered messages.
    await insert()
    for (const [finality, other] of [
      ['latest', 'final'],
      ['final', 'latest'],
    ] as const) {
      const subscribed = await added({ finality })
      const { epoch, ids } = await currentPosition(store, finality)
      for (const [position, detail] of [
        [positionText(await currentPosition(store, other)), sentence('', `finality=${finality}`)],
        [positionText({ epoch, ids: { celo: ids.celo! + 1_000 } }), sentence()],
      ] as const)
        expect(await ask('POST', `/${subscribed.id}/replay`, { position })).toMatchObject({
          status: 400,
          body: { detail },
        })
    }
    expect((await ask('GET', '?foo=1')).body.detail ?? '').toEqual(sentence())
    expect((await ask('GET', `/${id}?foo=1`)).status).toBe(400)
    expect((await ask('PUT', `/${id}`)).headers.get('allow')).toBe('GET, DELETE')
    expect((await ask('POST', '/none/replay', { since: '2026-01-01' })).status).toBe(404)
    await rows(database.url, `UPDATE webhook_subscription SET source = 'file'`)
    expect((await ask('DELETE', `/${id}`)).status).toBe(409)
    expect((await ask('POST', `/${id}/rotate-secret`)).status).toBe(409)
  })
  test('exists and is in OpenAPI only with its setting, and its responses match their schemas', async () => {
    const without = await startApi({ databaseUrl: database.url })
    const answer = await fetch(`${without.url}/admin/v0/webhooks`, {
      headers: { authorization: `Bearer ${KEY}` },
    })
    expect(answer.status).toBe(404)
    expect(await (await fetch(`${without.url}/openapi.json`)).text()).not.toContain('/admin/')
    await without.close()
    const checker = openApiChecker(await (await fetch(`${api.url}/openapi.json`)).json())
    const { id } = await added()
    for (const path of [
      '/admin/v0/webhooks',
      `/admin/v0/webhooks/${id}`,
      `/admin/v0/webhooks/${id}/dead-letters`,
    ]) {
      const response = await fetch(api.url + path, { headers: { authorization: `Bearer ${KEY}` } })
      const type = response.headers.get('content-type')!
      checker.check({
        method: 'GET',
        path,
        request: undefined,
        status: response.status,
        type,
        response: await response.json(),
      })
    }
  })
})

test('the webhook API adds a subscription for all changes since then, before a process delivers it', async () => {
  await deliverer.stop()
  await insert()
  const { body } = await ask('POST', '', { url: `${receiver.url}/hook` })
  expect(body.position).toBe(positionText(await currentPosition(store, 'final')))
  await insert()
  const own = new SafeSender(new Set(['127.0.0.1']))
  deliverer = new Deliverer(store, new WebhookStore(store.servers), own, Fastify().log, OPTIONS)
  deliverer.start()
  await receiver.until(() => receiver.received.length > 0)
  expect(JSON.parse(receiver.received[0]!.body).data.uid).toBe(uidOf(n))
})

test('the webhook API replays messages after a reset that the receiver has not accepted', async () => {
  receiver.answer = () => answers.status(500)
  const { id } = await added()
  const since = new Date()
  await insert()
  await rows(
    database.url,
    `UPDATE webhook_subscription SET reset_reason = 'rebuilt', reset_at = now(), version = version + 1 WHERE id = $1`,
    [id],
  )
  const types = (list = receiver.received) =>
    list.map(({ body }) => (JSON.parse(body) as { type: string }).type)
  await receiver.until(() => types().includes('reset'))
  expect((await ask('POST', `/${id}/replay`, { since: since.toISOString() })).status).toBe(202)
  const before = receiver.received.length
  receiver.answer = () => answers.ok
  await receiver.until(() => types(receiver.received.slice(before)).includes('record.new'))
  expect([...new Set(types(receiver.received.slice(before)))]).toEqual(['reset', 'record.new'])
})

test('the webhook API replays messages from a time without a reset although a chain gets its first record', async () => {
  const { id } = await added()
  const since = new Date()
  await insert()
  await receiver.until(() => receiver.received.length === 1)
  const webhooks = new WebhookStore(store.servers)
  const spy = vi.spyOn(WebhookStore.prototype, 'changesUntil').mockImplementationOnce(async (time) => {
    await insertRecords(database.url, [{ chain: 'arbitrum', uid: uidOf(++n), columns: { log_index: n } }])
    return webhooks.changesUntil(time)
  })
  onTestFinished(() => spy.mockRestore())
  expect((await ask('POST', `/${id}/replay`, { since: since.toISOString() })).status).toBe(202)
  const later = () => receiver.received.slice(1)
  const resets = () => later().filter(({ body }) => (JSON.parse(body) as { type: string }).type === 'reset')
  await receiver.until(
    () => resets().length > 0 || later().some((each) => each.id === receiver.received[0]!.id),
  )
  expect(resets()).toEqual([])
})

testSentences()
