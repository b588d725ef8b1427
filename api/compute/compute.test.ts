import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { expect, test } from 'vitest'
import { BOOLEAN_RESULT_FIELDS, fieldTypes } from '../../src/eas'
import { OWN_WORK } from '../http/work'
import { computeBatch, type ComputeParts } from './compute'
import type { BatchRequest } from './schemas'

test('a batch lets other requests run between its operations', async () => {
  const steps: string[] = []
  const measure = async () => {
    steps.push('operation')
    setImmediate(() => steps.push('other'))
    return { outcome: true, refs: [ZeroHash, ZeroHash] }
  }
  const types = fieldTypes(BOOLEAN_RESULT_FIELDS).join()
  const reader = { of: () => reader, schema: async () => ({ types, revocable: true }) }
  const direct = { submission: 'direct', address: ZeroAddress, refusal: async () => undefined }
  const attester = {
    ...{ chain: {}, direct, address: ZeroAddress, nonce: async () => 1, seal: () => '' },
    sign: async () => ({ signature: `0x${'11'.repeat(64)}1b` }),
  }
  const parts = {
    ...{ attesters: new Map([[1, { attester, reader }]]), defaultSchemas: { boolean: ZeroHash } },
    ...{ measurer: { measure }, resolver: { resolve: async () => ({ source: 'geojson' }) }, clock: Date.now },
  }
  const operation = { operation: 'contains', container: {}, geometry: {} }
  const request = { chainId: 1, operations: [operation, operation] }
  await computeBatch(parts as unknown as ComputeParts, request as BatchRequest, OWN_WORK)
  expect(steps).toEqual(['operation', 'other', 'operation', 'other'])
})
