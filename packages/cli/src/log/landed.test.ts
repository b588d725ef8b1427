// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { recomputeLanded } from './landed'
import { prune, readState, REMEMBERED_SECONDS } from './state'

const NOW = 1_800_000_000

test('landed answers are recomputed on each chain, and again while they are unresolved', async () => {
  const state = readState(undefined)
  state.contents = { a: NOW, b: NOW }
  state.landed = {
    '0x1': { index: 1, chainId: 1, key: 'a' },
    '0x2': { index: 2, chainId: 1, key: 'a' },
    '0x3': { index: 3, chainId: 2, key: 'b' },
    '0x4': { index: 4, chainId: 2, key: 'b' },
  }
  const tried: string[] = []
  const differing: number[] = []
  const results: Record<string, Awaited<ReturnType<Parameters<typeof recomputeLanded>[2]>>> = {
    '0x3': { result: 'unresolved' },
    '0x4': { result: 'differs', reason: 'x' },
  }
  const recompute = (now: number) =>
    recomputeLanded(
      state,
      now,
      (uid) => (tried.push(uid), Promise.resolve(results[uid])),
      (index) => differing.push(index),
    )
  await recompute(NOW)
  // The first chain cannot be read, so its second answer is not tried.
  expect([tried.splice(0), Object.keys(state.landed)]).toEqual([
    ['0x1', '0x3', '0x4'],
    ['0x1', '0x2', '0x3'],
  ])
  results['0x1'] = { result: 'equal' }
  results['0x2'] = results['0x4']
  await recompute(NOW + 10)
  expect([tried.splice(0), differing]).toEqual([
    ['0x1', '0x2'],
    [4, 2],
  ])
  await recompute(NOW + 3_600)
  expect(tried).toEqual(['0x3'])
  prune(state, NOW + REMEMBERED_SECONDS, true)
  expect(Object.keys(state.landed)).toEqual(['0x3'])
  prune(state, NOW + REMEMBERED_SECONDS + 1, true)
  expect(state.landed).toEqual({})
})
