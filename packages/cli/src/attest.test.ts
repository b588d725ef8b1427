// SPDX-License-Identifier: MIT
import path from 'node:path'
import { RateLimitedError } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { attest, type AttestFlags } from './attest'
import { EXIT, exitCodeOf } from './exit'
import type { Session } from './session'

test('prints the attestation if its record cannot be read', async () => {
  const printed: unknown[] = []
  const failure = new RateLimitedError({ status: 429, title: 'Too Many Requests', detail: 'limit' })
  const attested = {
    ...{ uid: '0xuid', transactionHash: '0xhash', blockNumber: 5, attestation: {} },
    indexed: async () => Promise.reject(failure),
  }
  const session = {
    options: { wait: true, json: true },
    chain: async () => ({ id: 1, slug: 'ethereum' }),
    wallet: async () => ({}),
    geo: { attest: async () => attested },
    printJson: (value: unknown) => printed.push(value),
  } as unknown as Session<AttestFlags>
  const error: Error = (await attest(session, '1,2').catch((thrown: Error) => thrown)) as Error
  expect(printed).toEqual([{ uid: '0xuid', chainId: 1, transactionHash: '0xhash', blockNumber: 5 }])
  expect(error.message).toMatch(/0xuid.*0xhash/)
  expect(await exitCodeOf(error)).toBe(EXIT.landing)
})

test('prints an offchain attestation that its file cannot hold', async () => {
  const printed: unknown[] = []
  const attestation = { sig: { uid: '0xuid' } }
  const session = {
    options: { offchain: true, output: 'none/file.json' },
    chain: async () => ({ id: 1, slug: 'ethereum' }),
    account: async () => ({}),
    at: (name: string) => path.join(import.meta.dirname, name),
    geo: { attest: async () => ({ uid: '0xuid', attestation }) },
    printJson: (value: unknown) => printed.push(value),
  } as unknown as Session<AttestFlags>
  await expect(attest(session, '1,2')).rejects.toMatchObject({ code: 'ENOENT' })
  expect(printed).toEqual([attestation])
})
