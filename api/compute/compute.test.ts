import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { expect, test } from 'vitest'
import { BOOLEAN_RESULT_FIELDS, fieldTypes } from '../../src/eas'
import { OWN_WORK } from '../http/work'
import { computeBatch, type ComputeParts } from './compute'
import type { BatchRequest } from './schemas'

/** Runs a batch of two operations with these inputs, measurements and clock. */
function batchWith(mocked: { resolve?: () => Promise<unknown>; measure?: () => void; clock?: () => number }) {
  const measure = async () => {
    mocked.measure?.()
    return { outcome: true, refs: [ZeroHash, ZeroHash] }
  }
  const types = fieldTypes(BOOLEAN_RESULT_FIELDS).join()
  const reader = { of: () => reader, schema: async () => ({ types, revocable: true }) }
  const direct = { submission: 'direct', address: ZeroAddress, refusal: async () => undefined }
  const attester = {
    ...{ chain: {}, direct, address: ZeroAddress, nonce: async () => 1, seal: () => '' },
    sign: async () => ({ signature: `0x${'11'.repeat(64)}1b` }),
  }
  const { resolve = async () => ({ source: 'geojson' }), clock = Date.now } = mocked
  const parts = {
    ...{ attesters: new Map([[1, { attester, reader }]]), defaultSchemas: { boolean: ZeroHash } },
    ...{ measurer: { measure }, resolver: { resolve }, clock },
  }
  const operation = { operation: 'contains', container: {}, geometry: {} }
  const request = { chainId: 1, operations: [operation, operation] }
  return computeBatch(parts as unknown as ComputeParts, request as BatchRequest, OWN_WORK)
}

test('a batch lets other requests run between its operations', async () => {
  const steps: string[] = []
  const measure = () => {
    steps.push('operation')
    setImmediate(() => steps.push('other'))
  }
  await batchWith({ measure })
  expect(steps).toEqual(['operation', 'other', 'operation', 'other'])
})

test('an answer states no time later than the check of its inputs, which may expire in the meantime', async () => {
  let now = 1_000_999
  const checked: number[] = []
  const resolve = async () => {
    checked.push(Math.floor(now / 1000))
    return { source: 'geojson' }
  }
  const { results } = await batchWith({ resolve, measure: () => (now += 1), clock: () => now })
  expect(results.map(({ timestamp }) => timestamp)).toEqual([1000, 1001])
  expect(checked).toEqual([1000, 1000, 1001, 1001])
})
