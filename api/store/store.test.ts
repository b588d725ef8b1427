import { expect, test } from 'vitest'
import { sentence, testSentences } from '../../test/sentences'
import { Store } from './store'
import { zoneCandidates } from './zones'

/** Returns the error of a read whose statement exceeds its time limit. */
function lateError(read: (store: Store) => Promise<unknown>): Promise<unknown> {
  const store = new Store('postgres://127.0.0.1:1', () => {})
  const late = () =>
    Promise.reject(
      Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }),
    )
  Object.assign(store.servers, { read: late, query: late })
  return read(store).catch((error: unknown) => error)
}
const UID = `0x${'ab'.repeat(32)}`
const zonesOf = (store: Store, zones: Parameters<typeof zoneCandidates>[2]) =>
  zoneCandidates(store, 'celo', zones, [[0, 0, 1, 1]] as never, 0, 10)

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['a record by UID', (store) => store.recordByUid(UID)],
  ['an unreadable attestation by UID', (store) => store.unreadable(UID)],
  ['the location schemas', (store) => store.foundSchemas()],
  ['zones by UID', (store) => zonesOf(store, { uids: [UID] })],
])('a read of %s that exceeds its time limit can be repeated', async (_, read) => {
  expect(await lateError(read)).toMatchObject({ name: 'UnavailableError', retryAfter: expect.any(Number) })
})

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['a search for zones of a schema', (store) => zonesOf(store, { schema: UID })],
  ['a list', (store) => store.page({ limit: 10 })],
  ['a list with a deep offset', (store) => store.page({ limit: 10, offset: 100_000 })],
])('%s that exceeds its time limit is refused with its own remedy', async (_, read) => {
  const error = await lateError(read)
  expect(error).toHaveProperty('name', 'TooExpensiveError')
  expect(error).toEqual(sentence())
})

testSentences()
