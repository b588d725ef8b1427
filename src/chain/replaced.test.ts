import { expect, test } from 'vitest'
import { VirtualClock } from '../../test/simulation'
import type { BlockReader } from './blocks'
import { StoredBlockCheck } from './replaced'

const BLOCK = { height: 7, hash: '0xa' }
const OTHER = '0xb'

/** Returns a checker of BLOCK, whose method `look` reads these hashes from two endpoints. */
function checkOf() {
  const clock = new VirtualClock()
  let hashes: (string | null)[] = []
  const blocks = { endpoints: 2, hashesAt: () => Promise.resolve(hashes) } as unknown as BlockReader
  const check = new StoredBlockCheck(blocks, clock)
  const look = (...reported: (string | null)[]) => {
    hashes = reported
    return check.look(BLOCK)
  }
  return { look, pass: (ms: number) => clock.pass(ms, () => {}) }
}

test('the indexer believes another block after four polls in which every endpoint reports it', async () => {
  const { look } = checkOf()
  for (let i = 0; i < 3; i++) expect(await look(OTHER, OTHER)).toBe('doubted')
  expect(await look(OTHER, OTHER)).toEqual({ block: BLOCK, hash: OTHER })
})

test('the indexer restarts its count of polls once an endpoint confirms the block', async () => {
  const { look } = checkOf()
  for (let i = 0; i < 3; i++) expect(await look(OTHER, OTHER)).toBe('doubted')
  expect(await look(OTHER, BLOCK.hash)).toBe('confirmed')
  for (let i = 0; i < 3; i++) expect(await look(OTHER, OTHER)).toBe('doubted')
})

test('the indexer waits a minute for endpoints that lack the block or do not respond', async () => {
  const { look, pass } = checkOf()
  for (let i = 0; i < 9; i++) expect(await look(OTHER, null)).toBe('doubted')
  for (let i = 0; i < 9; i++) expect(await look(OTHER)).toBe('doubted')
  expect([await look(), await look(null, null)]).toEqual(['absent', 'absent'])
  await pass(60_001)
  for (let i = 0; i < 3; i++) expect(await look(OTHER, null)).toBe('doubted')
  expect(await look(OTHER)).toEqual({ block: BLOCK, hash: OTHER })
})
