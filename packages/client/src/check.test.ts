// SPDX-License-Identifier: MIT
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { afterEach, expect, test, vi } from 'vitest'
import { encodeBooleanResult } from '../../../src/eas'
import { RECORDS_ERRORS } from '../../../src/errors'
import { createGeo, type Answer } from './index'
import { SKEW_SECONDS } from './says'

afterEach(() => void vi.useRealTimers())

const [EAS, KEY] = [`0x${'e'.repeat(40)}`, `0x${'a'.repeat(40)}`] as const
const [HASH, SCHEMA] = [`0x${'1'.repeat(64)}`, `0x${'2'.repeat(64)}`] as const

/** A client of a service without a log. */
const clientOf = (attester?: string) =>
  createGeo({
    ...{ url: 'https://geo.example', chain: 1, ...(attester && { attester }) },
    fetch: async (request) => {
      const chain = { id: 1, slug: 'ethereum', eas: EAS, proxy: null, attester: KEY }
      if (new URL((request as Request).url).pathname === '/')
        return Response.json({ chains: [chain], defaultSchemas: { boolean: SCHEMA } })
      const { status, message } = RECORDS_ERRORS['not-found']
      return Response.json({ status: 'error', message }, { status })
    },
  })

const CLAIMS = { operation: 'contains', timestamp: 1, inputRefs: [HASH, HASH] }
const ATTESTED = {
  ...{ uid: HASH, schema: SCHEMA, time: 1n, expirationTime: 0n, revocationTime: 0n, refUID: HASH },
  ...{ recipient: EAS, attester: KEY, revocable: true, data: encodeBooleanResult(false, CLAIMS) },
}
/** RPC endpoint of a chain with one attestation. */
const nodeWith = (attestation: object) => ({
  request: async ({ method }: { method: string }) =>
    method === 'eth_chainId'
      ? '0x1'
      : encodeAbiParameters(
          parseAbiParameters(
            '(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes)',
          ),
          [Object.values(attestation) as never],
        ),
})

const NOW = 1_800_000_000
const computedAt = (timestamp: number) => encodeBooleanResult(false, { ...CLAIMS, timestamp })
/** Fields that pass all checks, and the same fields that each fail one. */
const [PASSING, FAILING] = [
  { attester: KEY, schema: SCHEMA, revocationTime: 0n, expirationTime: BigInt(NOW + 1) },
  { attester: EAS, schema: HASH, revocationTime: 1n, expirationTime: BigInt(NOW) },
].map((fields) => Object.entries(fields)) as [[string, unknown][], [string, unknown][]]
/** Payloads, and the number of checks that each fails. */
const PAYLOADS = [
  ...([computedAt(NOW + SKEW_SECONDS), computedAt(NOW - 60)] as const).map((data) => [data, 0] as const),
  ...[computedAt(NOW + SKEW_SECONDS + 1), computedAt(NOW - 61), '0x'].map((data) => [data, 1] as const),
]

test.each([KEY, undefined])(
  'geo.check with the attester %s reports each fault, and no others',
  async (key) => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1_000 })
    const geo = clientOf(key)
    for (const [data, count] of PAYLOADS)
      for (let faults = 0; faults < 2 ** PASSING.length; faults++) {
        const failing = FAILING.filter((_, i) => (faults >> i) & 1)
        const fields = Object.fromEntries([...PASSING, ...failing])
        const provider = nodeWith({ ...ATTESTED, ...fields, data })
        const { valid, problems } = await geo.check(HASH, { provider, maxAge: 60 })
        const all = failing.length + count
        expect([faults, data, valid, problems.length]).toEqual([faults, data, all === 0, all])
      }
  },
)

test('geo.check rejects an answer for another chain or with another claim, although its content is attested', async () => {
  const geo = clientOf(KEY)
  const provider = nodeWith({ ...ATTESTED, schema: HASH })
  const { data } = ATTESTED
  const problemsOf = async (chainId: number, result: unknown = false) => {
    const content = {
      schema: HASH,
      recipient: EAS,
      refUID: HASH,
      data,
      revocable: true,
      expirationTime: 0,
    }
    const signed = { attestation: content, delegatedAttestation: {} }
    const answer = { ...CLAIMS, ...signed, result, chainId } as unknown as Answer
    return (await geo.check(HASH, { provider, answer, schemas: [HASH] })).problems.length
  }
  expect(await problemsOf(1)).toBe(0)
  for (const [chainId, result] of [[8453], [1, true], [1, 'false'], [1, null]] as const)
    expect(await problemsOf(chainId, result)).toBe(1)
})
