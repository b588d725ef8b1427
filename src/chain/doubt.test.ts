import { expect, test } from 'vitest'
import { Doubt } from './doubt'
import { FollowedChain } from './followed'

const blocks = [1, 2, 3].map((height) => ({ height, hash: `0x${height}` })) as [
  { height: number; hash: string },
  ...{ height: number; hash: string }[],
]

test.each([0, 1, 12])('resumes with %i unproven blocks of an earlier process', (count) => {
  const before = new Doubt()
  before.contradicted('blocks 1 to 2 differ')
  before.unprovenAtHead = count
  before.repairsPending = 7
  const after = new Doubt()
  after.resume(before.reason()!)
  expect(after.unprovenAtHead).toBe(count)
})
test('resumes without unproven blocks if there was no doubt', () => {
  const doubt = new Doubt()
  doubt.resume(null)
  expect(doubt.reason()).toBeUndefined()
})
test('counts the blocks of an earlier process above the final one as unproven until they are proven', () => {
  const chain = new FollowedChain(blocks, true)
  expect(chain.unproven).toBe(2)
  chain.prove(3, 9)
  expect([chain.unproven, chain.has(blocks[2]!)]).toEqual([1, true])
  chain.prove(1, 2)
  expect(chain.unproven).toBe(0)
  expect(new FollowedChain(blocks, false).unproven).toBe(0)
})
