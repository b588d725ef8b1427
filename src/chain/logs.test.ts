import { expect, test } from 'vitest'
import { ContradictionError } from './doubt'
import { uniqueLogs, type RpcLog } from './logs'

const LOG: RpcLog = {
  ...{ address: `0x${'1'.repeat(40)}`, topics: [], data: '0x', blockNumber: '0x1', blockHash: '0x1' },
  ...{ transactionHash: `0x${'1'.repeat(64)}`, transactionIndex: '0x0', logIndex: '0x0' },
}

test.each([
  ...[null, {}, 'none', { ...LOG, topics: null }, { ...LOG, blockNumber: null }],
  // The database stores these members, and no other response corrects them.
  ...[{ logIndex: 'x' }, { logIndex: '0x80000000' }, { blockNumber: 'x' }, { transactionHash: '0x1' }].map(
    (change) => ({ ...LOG, ...change }),
  ),
  // The bloom filter is tested with these members.
  ...[{ address: 'x' }, { topics: ['x'] }, { topics: ['0x2'] }].map((change) => ({
    ...{ ...LOG, logIndex: '0x1', ...change },
  })),
  { ...LOG, topics: [`0x${'2'.repeat(64)}`] },
])('the logs of a response contradict the chain if one of them is %j', (other) => {
  expect(uniqueLogs([LOG, { ...LOG }])).toEqual([LOG])
  expect(() => uniqueLogs([LOG, other as RpcLog])).toThrow(ContradictionError)
})
