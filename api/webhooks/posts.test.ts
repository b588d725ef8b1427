import { expect, test } from 'vitest'
import { SafeSender } from '../outgoing'
import { Posts } from './posts'
import type { HeldRow } from './store'

const atOnce = { all: 1, each: 1 }
const OPTIONS = { timeoutMs: 1_000, atOnce: { working: atOnce, failing: atOnce } }

test('the error of a post is a text that Postgres stores, whatever the certificate of the receiver names', async () => {
  class Sender extends SafeSender {
    override post() {
      // Node quotes the common name of a certificate as it is.
      return Promise.reject(new Error(`${'x'.repeat(298)}\0\u{1f5fa}`))
    }
  }
  const posts = new Posts(new Sender(new Set()), OPTIONS, { isHeld: true, time: new Date(0) })
  const row = { url: 'https://maps.example', secrets: [], oldUntil: null } as object as HeldRow
  const outcome = await posts.try(row, { id: 'msg_1', body: '{}' }, 'working', new AbortController().signal)
  expect(outcome?.error).toBe(`${'x'.repeat(298)}\ufffd\u{1f5fa}`)
})

test('a post is signed by a replaced secret until its end, in one read of the row', async () => {
  const signed: number[] = []
  class Sender extends SafeSender {
    override post(...[, headers]: Parameters<SafeSender['post']>) {
      signed.push(headers['webhook-signature']!.split(' ').length)
      return Promise.resolve({ status: 204, retryAfter: undefined })
    }
  }
  const lease = { isHeld: true, time: new Date(0) }
  const posts = new Posts(new Sender(new Set()), OPTIONS, lease)
  const secrets: HeldRow['secrets'] = ['a', 'b'].map(
    (each) => `whsec_${Buffer.from(each.repeat(32)).toString('base64')}`,
  )
  const post = async (oldUntil: number | null, time: number) => {
    lease.time = new Date(time)
    const row = { url: 'https://maps.example', secrets, oldUntil } as HeldRow
    await posts.try(row, { id: 'msg_1', body: '{}' }, 'working', new AbortController().signal)
  }
  await post(1_000, 999)
  await post(1_000, 1_000)
  await post(null, 0)
  await post(Infinity, 8e15)
  expect(signed).toEqual([2, 1, 1, 2])
})
