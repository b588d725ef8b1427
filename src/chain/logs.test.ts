import { expect, test } from 'vitest'
import { ContradictionError } from './doubt'
import { uniqueLogs, type RpcLog } from './logs'

const LOG: RpcLog = {
  ...{ address: '0x1', topics: [], data: '0x', blockNumber: '0x1', blockHash: '0x1' },
  ...{ transactionHash: '0x1', transactionIndex: '0x0', logIndex: '0x0' },
}

test.each([null, {}, 'none', { ...LOG, topics: null }, { ...LOG, blockNumber: null }])(
  'the logs of a response contradict the chain if one of them is %j',
  (other) => {
    expect(uniqueLogs([LOG, LOG])).toEqual([LOG])
    expect(() => uniqueLogs([LOG, other as RpcLog])).toThrow(ContradictionError)
  },
)
