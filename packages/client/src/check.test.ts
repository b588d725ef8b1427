// SPDX-License-Identifier: MIT
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { expect, test } from 'vitest'
import { encodeBooleanResult } from '../../../src/eas'
import { RECORDS_ERRORS } from '../../../src/errors'
import { createGeo, type Answer } from './index'

const [EAS, KEY] = [`0x${'e'.repeat(40)}`, `0x${'a'.repeat(40)}`] as const
const HASH = `0x${'1'.repeat(64)}` as const

test('geo.check rejects an answer for another chain or with another claim, although its content is attested', async () => {
  const claims = { operation: 'contains', timestamp: 1, inputRefs: [HASH, HASH] }
  const data = encodeBooleanResult(false, claims) as `0x${string}`
  const chain = { id: 1, slug: 'ethereum', eas: EAS, proxy: null, attester: KEY }
  const info = { chains: [chain], defaultSchemas: {} }
  const geo = createGeo({
    ...{ url: 'https://geo.example', chain: 1, attester: KEY },
    fetch: async (request) => {
      if (new URL((request as Request).url).pathname === '/') return Response.json(info)
      // The service has no log.
      const { status, message } = RECORDS_ERRORS['not-found']
      return Response.json({ status: 'error', message }, { status })
    },
  })
  const attestation = encodeAbiParameters(
    parseAbiParameters('(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes)'),
    [[HASH, HASH, 1n, 0n, 0n, HASH, EAS, KEY, true, data] as never],
  )
  const provider = {
    request: async ({ method }: { method: string }) => (method === 'eth_chainId' ? '0x1' : attestation),
  }
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
    const answer = { ...claims, ...signed, result, chainId } as unknown as Answer
    return (await geo.check(HASH, { provider, answer, schemas: [HASH] })).problems.length
  }
  expect(await problemsOf(1)).toBe(0)
  for (const [chainId, result] of [[8453], [1, true], [1, 'false'], [1, null]] as const)
    expect(await problemsOf(chainId, result)).toBe(1)
})
