// SPDX-License-Identifier: MIT
import { beforeEach, describe, expect, test } from 'vitest'
import { recompute, verify, type CheckFlags } from './check'
import { NoEndpointError, UsageError } from './exit'
import type { Session } from './session'

const CELO = { id: 42220, slug: 'celo' }
const SIGNER = { index: 0, operator: '0x1' }
const answer = {
  ...{ chainId: 1, quorum: '0x1', signers: '0x1', signatures: '0x1', answer: { deadline: 1 } },
  ...{ operation: 'contains', result: true, timestamp: 1, inputRefs: ['0x1', '0x2'] },
}

describe('geo verify of an answer of a quorum', () => {
  let verified: object
  let printed: string[]
  let given: { provider?: unknown } | undefined
  let asked: unknown
  beforeEach(() => {
    verified = { valid: true, unknown: false, problems: [], operators: [SIGNER] }
    ;[printed, given] = [[], undefined]
  })
  const run = (
    content: object = answer,
    node: () => unknown = () => ({}),
    options: object = {},
    env: object = {},
  ) => {
    const same = (text: string) => text
    const geo = {
      chain: async (which: unknown) => (which === 'celo' ? CELO : { id: 1, slug: 'ethereum' }),
      verifyQuorum: async (read: unknown, options: { provider?: unknown }) => {
        ;[asked, given] = [read, options]
        return verified
      },
    }
    const print = (line: string) => void printed.push(line)
    const session = {
      ...{ geo, options, context: { env }, print, note: print, stdin: async () => JSON.stringify(content) },
      ...{ paint: { good: same, bad: same, bold: same }, node: async () => node() },
      printFields: (rows: [string, string | undefined][]) => rows.forEach((row) => print(row.join(': '))),
    }
    return verify(session as unknown as Session<CheckFlags>, '-')
  }

  test('prints the source of the operators, a deadline that has passed and logs that are not checked', async () => {
    expect(await run()).toBe(0)
    expect(printed).toEqual([
      ...['valid', expect.any(String), 'chain: ethereum (1)', 'quorum: 0x1', 'operators: from the contract'],
      'lands now: no: its deadline was 1970-01-01T00:00:01Z',
      'signed by: 0x1, log: not checked, the answer does not name the service',
    ])
  })

  test('reads the operators from the service only if no RPC endpoint is set', async () => {
    const node = (error: Error) => () => {
      throw error
    }
    expect(await run(answer, node(new NoEndpointError('none')))).toBe(0)
    expect(printed).toContain('operators: from the service')
    expect(given).not.toHaveProperty('provider')
    const invalid = new UsageError('not a URL')
    await expect(run(answer, node(invalid))).rejects.toBe(invalid)
  })

  test.each([
    ['operators that are unknown', 2, 'not verified', { unknown: true }],
    [
      'a log that cannot be read',
      4,
      'not verified',
      { unknown: true, operators: [{ ...SIGNER, problem: 'x' }] },
    ],
    ['a failed check', 1, 'not valid', {}],
  ])('reports %s with status %i', async (_, status, line, result) => {
    verified = { ...verified, valid: false, problems: ['x'], ...result }
    expect(await run()).toBe(status)
    expect(printed[0]).toBe(line)
  })

  test('reads the chain from --chain or GEO_CHAIN if the answer names none', async () => {
    const { chainId: _, ...raw } = answer
    expect(await run(raw, undefined, { chain: 'ethereum' })).toBe(0)
    expect(asked).toEqual(answer)
    const env = { GEO_CHAIN: 'celo' }
    for (const [content, options, chainId] of [
      [raw, {}, CELO.id],
      [raw, { chain: 'ethereum' }, 1],
      [answer, {}, 1],
    ] as const) {
      expect(await run(content, undefined, options, env)).toBe(0)
      expect(asked).toEqual({ ...answer, chainId })
    }
    await expect(run(raw)).rejects.toBeInstanceOf(UsageError)
    await expect(run({ ...answer, chainId: 2 }, undefined, { chain: 'ethereum' })).rejects.toBeInstanceOf(
      UsageError,
    )
  })

  test('rejects an answer without content', async () => {
    await expect(run({ ...answer, answer: null })).rejects.toBeInstanceOf(UsageError)
  })
})

test('geo verify computes the verdict whatever the response contains', async () => {
  const reasons = ['not signed by this service']
  const seen = { ours: false, reasons, submittable: false, valid: true, problems: [], log: { state: 'x' } }
  const printed: unknown[] = []
  const session = {
    geo: { chain: async () => CELO, verify: async () => seen, logged: async () => undefined },
    ...{ options: { json: true }, context: { env: {} }, printJson: (value: unknown) => printed.push(value) },
    stdin: async () => JSON.stringify({ chainId: CELO.id, attestation: {} }),
  }
  expect(await verify(session as unknown as Session<CheckFlags>, '-')).toBe(1)
  expect(printed).toEqual([{ ...seen, landed: null, valid: false, problems: reasons, log: undefined }])
})

test('geo verify names no landing of an altered answer, whose signed content has landed', async () => {
  const landed = { status: 'landed', uid: '0xuid', transactionHash: '0xhash', revoked: true }
  const seen = { ours: false, reasons: ['altered'], submittable: false, says: null, attester: '0x1', landed }
  const printed: string[] = []
  const same = (text: string) => text
  const options: { json?: boolean } = {}
  const session = {
    geo: { chain: async () => CELO, verify: async () => seen, logged: async () => undefined },
    ...{ options, context: { env: {} }, print: (line: string) => printed.push(line) },
    printJson: (value: unknown) => printed.push(JSON.stringify(value)),
    ...{ paint: { good: same, bad: same, bold: same } },
    printFields: (rows: [string, string | undefined][]) =>
      printed.push(...rows.flatMap(([name, value]) => (value === undefined ? [] : name))),
    stdin: async () => JSON.stringify({ chainId: CELO.id, attestation: {} }),
  }
  expect(await verify(session as unknown as Session<CheckFlags>, '-')).toBe(1)
  expect(printed).toEqual(['not valid', '- altered', 'chain', 'expected signer'])
  ;[options.json, printed.length] = [true, 0]
  expect(await verify(session as unknown as Session<CheckFlags>, '-')).toBe(1)
  expect(JSON.parse(printed[0]!)).toMatchObject({ valid: false, problems: ['altered'], landed: null })
})

test('geo recompute rejects an answer that is reduced to its signed parts', async () => {
  for (const reduced of [{ attestation: {} }, { ...answer, inputRefs: undefined }]) {
    const session = {
      ...{ geo: { chain: async () => CELO }, options: {}, context: { env: {} } },
      stdin: async () => JSON.stringify({ ...reduced, chainId: CELO.id }),
    }
    await expect(recompute(session as unknown as Session, '-', ['1,1', '2,2'])).rejects.toBeInstanceOf(
      UsageError,
    )
  }
})
