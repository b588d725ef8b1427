import { readFileSync } from 'node:fs'
import { request, type RequestListener } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { serve } from './http-server'

const PAGE = readFileSync('docs/guide/streaming.md', 'utf8')
const [, PROGRAM] = /## In a browser[^]*?```js\n([^]*?)```/.exec(PAGE)!
const [, RECEIVER] = /## With webhooks[^]*?```js\n([^]*?)```/.exec(PAGE)!

interface Held {
  uid: string
  chain: string
  revoked: boolean
}

/** Runs the program of the page with a list of two records per page, and a stream that the test sends. */
function copy() {
  const records = new Map<string, Held>()
  const handlers = new Map<string, (event: object) => void>()
  /** milliseconds of the next requests, undefined for a request that fails */
  const requests: (number | undefined)[] = []
  const streams: EventSource[] = []
  class EventSource {
    static readonly CLOSED = 2
    readyState = 1
    constructor() {
      streams.push(this)
    }
    addEventListener(kind: string, handler: (event: object) => void) {
      handlers.set(kind, handler)
    }
  }
  async function fetch(url: string) {
    const all = [...records.values()]
    const at = Number(new URL(url).searchParams.get('cursor'))
    const delay = requests.length > 0 ? requests.shift() : 1
    if (delay === undefined) throw new TypeError('fetch failed')
    await pause(delay)
    const next = at + 2 < all.length ? `${at + 2}` : null
    return { ok: true, json: async () => ({ data: all.slice(at, at + 2), next_cursor: next }) }
  }
  const soon = (handler: () => void) => setTimeout(handler, 1)
  const known: Map<string, Held> = runInNewContext(`${PROGRAM}\nknown`, {
    ...{ EventSource, Error, fetch, JSON, Map, setTimeout: soon },
  })
  function fail(readyState: number) {
    streams.at(-1)!.readyState = readyState
    send('error')
  }
  const send = (kind: string, data: object = {}) => handlers.get(kind)!({ data: JSON.stringify(data) })
  function change(uid: string, revoked: boolean, kind?: string) {
    const record = { uid, chain: 'celo', revoked }
    records.set(uid, record)
    if (kind) send(kind, record)
  }
  const sorted = (of: Map<string, Held>) => [...of.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1))
  const settled = () => expect.poll(() => sorted(known), { timeout: 2_000 }).toEqual(sorted(records))
  return { requests, send, fail, change, settled, streams }
}

test('the browser copy of the guide reads all pages of the list', async () => {
  const { change, send, settled } = copy()
  for (const uid of ['a', 'b', 'c', 'd', 'e']) change(uid, false)
  send('open')
  await settled()
})

test.each([
  ['earlier', 30, 100],
  ['later', 100, 30],
])(
  'the browser copy holds all changes if the list of an earlier reset arrives %s',
  async (_, first, second) => {
    const { requests, change, send, settled } = copy()
    change('a', false)
    requests.push(first, second)
    send('reset')
    await pause(5)
    send('reset')
    await pause(50)
    change('a', true, 'revoked')
    change('b', false, 'new')
    await pause(70)
    await settled()
  },
)

test('the browser copy repeats a request that fails', async () => {
  const { requests, change, send, settled } = copy()
  change('a', false)
  requests.push(undefined, undefined)
  send('open')
  change('b', false, 'new')
  await settled()
})

test('the browser copy opens another stream and loads the list after a response that closes it', async () => {
  const { change, fail, send, settled, streams } = copy()
  send('open')
  await settled()
  fail(0)
  await pause(20)
  expect(streams).toHaveLength(1)
  fail(2)
  change('a', false)
  await expect.poll(() => streams).toHaveLength(2)
  send('open')
  await settled()
})

/** Runs the receiver of the page. Returns its URL, what it prints, and the results of its handler. */
async function receiver(secret: string) {
  const printed: unknown[][] = []
  const handled: Promise<void>[] = []
  let listener: RequestListener
  const createServer = (given: RequestListener) => {
    listener = given
    return { listen: () => {} }
  }
  runInNewContext(RECEIVER!.replace(/^import .*$/gm, ''), {
    ...{ createServer, Webhook, process: { env: { WEBHOOK_SECRET: secret } }, Error },
    console: { log: (...texts: unknown[]) => printed.push(texts) },
  })
  const url = await serve((...exchange) => handled.push(listener(...exchange) as unknown as Promise<void>))
  return { url, printed, handled }
}

test('the receiver of the guide accepts a message after a request that was cut and one that is too large', async () => {
  const secret = `whsec_${Buffer.from('x'.repeat(32)).toString('base64')}`
  const { url, printed, handled } = await receiver(secret)
  const unfinished = () => request(url, { method: 'POST' }).on('error', () => {})
  const [cut, large] = [unfinished(), unfinished()]
  cut.write('{')
  await expect.poll(() => handled).toHaveLength(1)
  cut.destroy()
  large.write('x'.repeat(11_000_000))
  await expect.poll(() => handled).toHaveLength(2)
  await Promise.all(handled)
  large.destroy()

  const message = JSON.stringify({ type: 'record.new', data: { uid: '0x1' } })
  const now = new Date()
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', now, message),
  }
  for (const body of [message, message, '{}'])
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(body === '{}' ? 401 : 204)
  expect(printed).toEqual([['record.new', { uid: '0x1' }]])
})
