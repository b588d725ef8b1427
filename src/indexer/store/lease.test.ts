import { afterEach, expect, test, vi } from 'vitest'
import { SILENT } from '../../../test/rpc-proxy'
import { CHAINS } from '../../chains'
import { Lease, LeaseLostError, sessionName, type Database } from './connection'

afterEach(() => void vi.useRealTimers())

test.each(['waits for', 'holds', 'keeps'])(
  'an indexer that %s its lease learns when the database does not respond any more',
  async (phase) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    let isFrozen = phase === 'waits for'
    const query = () => (isFrozen ? new Promise(() => {}) : Promise.resolve([{ writer: '', held: false }]))
    const transaction = (work: (own: typeof query) => unknown) => work(query)
    const lease = new Lease({ query, transaction } as unknown as Database, CHAINS[0]!, SILENT)
    const lost: Error[] = []
    const taken = lease.take((error) => lost.push(error))
    if (!isFrozen) await taken
    isFrozen = phase !== 'keeps'
    await vi.advanceTimersByTimeAsync(240_000)
    expect(lost).toEqual([])
    await vi.advanceTimersByTimeAsync(120_000)
    if (isFrozen) expect(lost[0]).toBeInstanceOf(LeaseLostError)
    else expect(lost).toEqual([])
    isFrozen = false
    await lease.release()
  },
)

test('the name of a session identifies its writer within the 63 bytes that Postgres keeps', () => {
  for (const slug of ['celo', 'c'.repeat(35), 'c'.repeat(40)]) {
    const names = ['a', 'b'].map((writer) => sessionName({ slug }, writer).slice(0, 63))
    expect(new Set(names).size).toBe(2)
    expect(names).toEqual(['a', 'b'].map((writer) => sessionName({ slug }, writer)))
  }
})
