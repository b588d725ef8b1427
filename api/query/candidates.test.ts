import { expect, test } from 'vitest'
import { Candidates, costOf, MAX_CANDIDATES } from './candidates'
import { conditionIn } from './filter'
import { sentence, testSentences } from '../../test/sentences'

const cost = (filter: string, records = 1_000_000) => costOf(conditionIn(filter), records)
const likes = (count: number) => Array.from({ length: count }, (_, i) => `memo LIKE '%${i}%'`).join(' OR ')
const place = 'NOT S_INTERSECTS(geometry, POLYGON((0 0, 1 0, 1 1, 0 0)))'

test('the cost estimate is 0 in advance for conditions that an index answers', () => {
  expect(cost("prover IN ('0x0000000000000000000000000000000000000001') AND chain = 'celo'")).toBe(0)
  expect(cost('S_INTERSECTS(geometry, BBOX(0, 0, 1, 1))')).toBe(0)
})

test('the cost estimate charges each LIKE and place by its share of records, up to the timeout', () => {
  expect(cost(likes(1))).toBeGreaterThan(0)
  expect(cost(likes(3))).toBeCloseTo(3 * cost(likes(1)))
  expect(cost(likes(3), 100_000)).toBeCloseTo(cost(likes(3)) / 10)
  expect(cost(likes(199))).toBe(5_000)
  expect(cost(`${place} AND (${place} OR revoked = TRUE)`)).toBeCloseTo(2 * cost(place))
  // Only records that are measured count towards the limit.
  expect(cost(place)).toBe(cost(place, 20_000))
})

test.each([MAX_CANDIDATES, MAX_CANDIDATES + 1])(
  '%d candidates are measured up to the limit',
  async (count) => {
    const store = {
      placesAfter: (_: object, after: string, limit: number) => {
        const end = Math.min(Number(after) + limit, count)
        const rows = Array.from({ length: end - Number(after) }, (_, i) => ({
          ...{ id: String(Number(after) + i + 1), geometry: null },
        }))
        return Promise.resolve({ rows, isLast: end === count })
      },
      page: ({ limit, from }: { limit: number; from?: { id: string } }) => {
        const first = from ? Number(from.id) + 1 : 0
        const row = (i: number) => ({ chain: 'celo', uid: String(first + i), geometry: null })
        const rows = Array.from({ length: Math.min(limit, count - first) }, (_, i) => row(i))
        const last = first + rows.length - 1
        return Promise.resolve({ rows, ...(last < count - 1 && { next: { at: 0, id: String(last) } }) })
      },
    }
    const sieve = { sift: (rows: unknown[]) => Promise.resolve({ passed: rows, failed: [] }) }
    const candidates = new Candidates(store as never, sieve as never, {} as never)
    const measuring = candidates.measured({}, { reach: [] } as never)
    const read = async () => {
      let rows = 0
      for await (const part of candidates.places({})) rows += part.length
      return rows
    }
    if (count > MAX_CANDIDATES) {
      const refused = { name: 'RecordsError', status: 400, detail: sentence() }
      await expect(measuring).rejects.toMatchObject(refused)
      await expect(read()).rejects.toMatchObject(refused)
    } else expect([(await measuring).passed.length, await read()]).toEqual([count, count])
  },
)

testSentences()
