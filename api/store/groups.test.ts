import { expect, test } from 'vitest'
import { sentence, testSentences } from '../../test/sentences'
import { TooExpensiveError } from '../http/problems'
import { groups, recordGroups } from './groups'
import { shownError } from './pool'
import { RECORD_DIMENSIONS, scanned, type GroupQuery, type GroupsRow } from './sql-groups'
import type { Store } from './store'

const by = (...names: string[]): GroupQuery => ({
  by: names.map((name) => ({ name, dimension: RECORD_DIMENSIONS[name]!, argument: 3 })),
  ...{ sums: [], sort: { by: 'records', descending: true }, top: 10 },
})
/** A store whose statement for groups returns a row with these fields, or fails. */
const storeOf = (read: () => Partial<GroupsRow>): Store =>
  ({
    run: (_statement: unknown, heavy: boolean, remedy: string) => {
      try {
        const none: GroupsRow = { incomplete: false, groups: 0, total: [0], keys: [null], measures: [null] }
        return Promise.resolve([{ ...none, ...read() }])
      } catch (error) {
        return Promise.reject(shownError(error as Error & { code: string }, heavy, remedy))
      }
    },
  }) as unknown as Store
const refusalOf = (store: Store, query: GroupQuery): Promise<unknown> =>
  recordGroups(store, query, {}).catch((error: unknown) => error)

test('groups that take too long are refused with a remedy other than a retry', async () => {
  const late = storeOf(() => {
    throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  })
  const error = await refusalOf(late, by('subject'))
  expect(error).toBeInstanceOf(TooExpensiveError)
  expect(error).toEqual(sentence())
  const ofOthers = groups(late, by('chain'), () => scanned('answer', []), 'Narrow it by operation.')
  expect(await ofOthers.catch((refused: unknown) => refused)).toEqual(sentence())
})

test('sums of older records can be read later', async () => {
  const unmeasured = storeOf(() => ({ incomplete: true }))
  const error = await refusalOf(unmeasured, { ...by('chain'), sums: ['area'] })
  expect(error).toMatchObject({ name: 'UnavailableError', retryAfter: 600 })
})

test('groups by H3 cell of too many positions are refused with a remedy other than a retry', async () => {
  const positions = Array(50_001).fill('0 0').join()
  const places = ['a', 'b'].map((other) => ({ other, positions, measures: '' }))
  for (const query of [by('h3'), by('h3', 'subject')]) {
    const error = await refusalOf(
      storeOf(() => ({ places })),
      query,
    )
    expect(error).toBeInstanceOf(TooExpensiveError)
    expect(error).toEqual(sentence())
  }
})

testSentences()
