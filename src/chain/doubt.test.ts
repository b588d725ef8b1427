import { expect, test } from 'vitest'
import { Doubt } from './doubt'
import { FollowedChain } from './followed'

const blocks = [1, 2, 3].map((height) => ({ height, hash: `0x${height}` })) as [
  { height: number; hash: string },
  ...{ height: number; hash: string }[],
]

test('the doubt covers the blocks of an earlier process until they are proven', () => {
  const doubt = new Doubt()
  doubt.unprovenAtHead = [3, 4, 9]
  expect(doubt.reason()).toBeDefined()
  doubt.proven(4, 9)
  expect(doubt.unprovenAtHead).toEqual([3])
  doubt.proven(1, 3)
  expect(doubt.reason()).toBeUndefined()
})
test('the doubt counts the unproven blocks of an earlier process, final or not', () => {
  const chain = new FollowedChain(blocks, [-2, 0, 1, 3])
  expect(chain.unproven).toEqual([-2, 0, 1, 3])
  chain.prove(3, 9)
  expect([chain.unproven, chain.has(blocks[2]!)]).toEqual([[-2, 0, 1], true])
  chain.prove(0, 1)
  expect(chain.unproven).toEqual([-2])
  chain.replaceAbove(3, [], 998)
  expect(chain.unproven).toEqual([-2])
  chain.replaceAbove(3, [], 999)
  expect(chain.unproven).toEqual([])
})
