import { afterEach, expect, test, vi } from 'vitest'
import { SILENT } from '../../../test/rpc-proxy'
import { CHAINS } from '../../chains'
import { DatabaseError } from 'pg'
import { Lease, SilentDatabaseError, sessionName, type Database } from './connection'

afterEach(() => void vi.useRealTimers())

/** Lease of a database that responds to each statement with the result of `respond`. */
function leaseOf(respond: () => unknown) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const query = async () => respond()
  const transaction = (work: (own: typeof query) => unknown) => work(query)
  const lost: Error[] = []
  const lease = new Lease({ query, transaction } as unknown as Database, CHAINS[0]!, SILENT)
  return { lease, lost, taken: lease.take((error) => lost.push(error)) }
}
const FREE = [{ writer: '', held: false }]
const NEVER = new Promise(() => {})
const failing = (error: Error) => () => {
  throw error
}

test.each(['waits for', 'holds'])(
  'an indexer that %s its lease learns when the database does not respond any more',
  async (phase) => {
    let isFrozen = phase === 'waits for'
    const { lease, lost, taken } = leaseOf(() => (isFrozen ? NEVER : FREE))
    if (!isFrozen) await taken
    isFrozen = true
    await vi.advanceTimersByTimeAsync(240_000)
    expect(lost).toEqual([])
    await vi.advanceTimersByTimeAsync(120_000)
    expect(lost[0]).toBeInstanceOf(SilentDatabaseError)
    isFrozen = false
    await lease.release()
  },
)

const refused = new Error('connect ECONNREFUSED')
test.each<[string, () => unknown, Error | undefined]>([
  ['accepts', () => FREE, undefined],
  ['rejects', failing(new DatabaseError('too many connections', 1, 'error')), undefined],
  ['does not receive', failing(refused), refused],
])('an indexer keeps its lease unless the database %s its renewals', async (_, respond, cause) => {
  let current: () => unknown = () => FREE
  const { lease, lost, taken } = leaseOf(() => current())
  await taken
  current = respond
  await vi.advanceTimersByTimeAsync(360_000)
  expect(lost[0]).toEqual(cause && expect.objectContaining({ name: 'SilentDatabaseError', cause }))
  current = () => FREE
  await lease.release()
})

test('a batch that waits for an endpoint does not end an indexer of an embedded database', async () => {
  let isFrozen = false
  const { lease, lost, taken } = leaseOf(() => (isFrozen ? NEVER : FREE))
  await taken
  let resume = () => {}
  const batch = lease.transaction(async (query) => {
    isFrozen = true
    await new Promise<void>((resolve) => (resume = resolve))
    await query('')
  })
  void batch.catch(() => {})
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(lost).toEqual([])
  resume()
  await vi.advanceTimersByTimeAsync(360_000)
  expect(lost[0]).toBeInstanceOf(SilentDatabaseError)
  isFrozen = false
  await lease.release()
})

test('the name of a session identifies its writer within the 63 bytes that Postgres keeps', () => {
  for (const slug of ['celo', 'c'.repeat(35), 'c'.repeat(40)]) {
    const names = ['a', 'b'].map((writer) => sessionName({ slug }, writer).slice(0, 63))
    expect(new Set(names).size).toBe(2)
    expect(names).toEqual(['a', 'b'].map((writer) => sessionName({ slug }, writer)))
  }
})
