import { expect, test } from 'vitest'
import type { DelegatedRequest } from '../../src/eas'
import { multiAttestRequests } from './answers'

test('adjacent answers of one schema, attester and deadline form a request of a batch', () => {
  const first = { schema: '0x1', attester: '0xa', deadline: 1, data: 'data', signature: 'signature' }
  const requests = [
    first,
    first,
    ...[{ ...first, schema: '0x2' }, first],
    ...[{ ...first, attester: '0xb' }, first],
    ...[{ ...first, deadline: 2 }, first],
  ] as unknown as DelegatedRequest[]
  const groups = multiAttestRequests(requests).map(({ schema, attester, deadline, data, signatures }) => {
    expect(signatures).toHaveLength(data.length)
    return [schema, attester, deadline, data.length]
  })
  expect(groups).toEqual([
    ['0x1', '0xa', 1, 2],
    ['0x2', '0xa', 1, 1],
    ['0x1', '0xa', 1, 1],
    ['0x1', '0xb', 1, 1],
    ['0x1', '0xa', 1, 1],
    ['0x1', '0xa', 2, 1],
    ['0x1', '0xa', 1, 1],
  ])
})
