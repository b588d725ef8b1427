import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { afterEach, expect, test, vi } from 'vitest'
import { BOOLEAN_RESULT_FIELDS, fieldTypes } from '../../src/eas'
import { compileCheck } from '../http/validation'
import { OWN_WORK } from '../http/work'
import type { ChainReader } from '../contracts'
import { computeBatch, reference, type ComputeParts } from './compute'
import { Measurer, ReadGeometry, referenceOf } from './measure'
import { Resolver, type ResolverOptions } from './resolve'
import { ZONES_ROUTE, type BatchRequest } from './schemas'

afterEach(() => void vi.useRealTimers())

/** Runs a batch of two operations with these inputs, measurements and clock. */
function batchWith(mocked: {
  resolve?: () => Promise<unknown>
  checkValid?: () => Promise<void>
  measure?: () => void
  clock?: () => number
}) {
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
  const { resolve = async () => ({ source: 'geojson' }), checkValid, clock = Date.now } = mocked
  const parts = {
    ...{ attesters: new Map([[1, { attester, reader }]]), defaultSchemas: { boolean: ZeroHash } },
    ...{ measurer: { measure }, resolver: { resolve, checkValid }, clock },
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

test('an input is checked again if a second has passed since, because it may have expired', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const clock = () => 1_000_998 + performance.now()
  const checked: number[] = []
  const { results } = await batchWith({
    ...{ resolve: async () => ({ source: 'onchain' }), measure: () => vi.advanceTimersByTime(2), clock },
    checkValid: async () => void checked.push(Math.floor(clock() / 1000)),
  })
  expect(results.map(({ timestamp }) => timestamp)).toEqual([1001, 1001])
  // Both inputs of the first operation, which ended in another second.
  expect(checked).toEqual([1001, 1001])
})

test('the reference of an input is that of its operations, which refuse mixed forms', async () => {
  const point = { type: 'Point', coordinates: [1, 2] }
  const foreign = { attestation: {}, uid: ZeroHash, uri: 'https://x.example', foreign: 1 }
  const salt = `0x${'5a'.repeat(32)}`
  /** Objects with each selection of these fields. */
  const selected = (fields: object): object[] =>
    Object.entries(fields).reduce<object[]>(
      (list, [name, value]) => list.flatMap((each) => [each, { ...each, [name]: value }]),
      [{}],
    )
  const plain = selected({ ...foreign, salt }).map((each) => ({ ...point, ...each }))
  const salted = plain.flatMap((geometry) => selected({ ...foreign, geometry, salt }))
  const measurer = new Measurer()
  const resolver = new Resolver({ measurer } as unknown as ResolverOptions)
  const accepted: object[] = []
  for (const input of [...plain, ...salted]) {
    const found = await resolver.resolve(input, 'from', {} as ChainReader).catch(() => undefined)
    const ref = found && (found.ref ?? (await referenceOf(found.reading)))
    const same = await reference({ measurer } as ComputeParts, { geometry: input }).catch(() => undefined)
    expect([input, same?.inputRef]).toEqual([input, ref])
    if (found) accepted.push(input)
  }
  const { attestation: _, ...ignored } = foreign
  const geometries = selected(ignored).map((each) => ({ ...point, ...each }))
  expect(new Set(accepted)).toEqual(
    new Set([...geometries, ...geometries.map((geometry) => ({ geometry, salt }))]),
  )
})

test('the check of a request finds no field in a geometry that a worker read', () => {
  const zones = new ReadGeometry({ path: 'zones', problem: '' })
  expect(compileCheck(ZONES_ROUTE.body)({ chainId: 1, geometry: {}, zones })).toBeUndefined()
})
