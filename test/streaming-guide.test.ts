import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'

const [, PROGRAM] = /## In a browser[^]*?```js\n([^]*?)```/.exec(
  readFileSync('docs/guide/streaming.md', 'utf8'),
)!

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
  class EventSource {
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
    return { json: async () => ({ data: all.slice(at, at + 2), next_cursor: next }) }
  }
  const soon = (handler: () => void) => setTimeout(handler, 1)
  const known: Map<string, Held> = runInNewContext(`${PROGRAM}\nknown`, {
    ...{ EventSource, fetch, JSON, Map, setTimeout: soon },
  })
  const send = (kind: string, data: object = {}) => handlers.get(kind)!({ data: JSON.stringify(data) })
  function change(uid: string, revoked: boolean, kind?: string) {
    const record = { uid, chain: 'celo', revoked }
    records.set(uid, record)
    if (kind) send(kind, record)
  }
  const sorted = (of: Map<string, Held>) => [...of.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1))
  const settled = () => expect.poll(() => sorted(known), { timeout: 2_000 }).toEqual(sorted(records))
  return { requests, send, change, settled }
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
