// SPDX-License-Identifier: MIT
import { encodeErrorResult, hashTypedData, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, test, vi } from 'vitest'
import { encodeNumericResult } from '../../../../src/eas'
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import { quorumOf } from '.'
import { selector, ZERO_HASH } from '../eas'
import { ZERO_ADDRESS } from '../says'
import type { Context } from '../context'
import type { InvalidInputError } from '../errors'

const OPERATOR = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const QUORUM = `0x${'9'.repeat(40)}` as const
const START = 1_700_000_000
let reads = 0

/** Operator of two epochs, of which the second one starts when the first one ends. */
const operator: typeof fetch = async (input) => {
  const request = input as Request
  const json = { headers: { 'content-type': 'application/json' } }
  const [epoch1, epoch2] = [START, START + 30].map((validFrom, i) => ({
    ...{ epoch: i + 1, validFrom, validUntil: i === 0 ? START + 30 : START + 9_999, threshold: 1 },
    operators: [OPERATOR.address],
  }))
  if (request.method === 'GET') {
    reads++
    return new Response(JSON.stringify([{ chainId: 1, quorum: QUORUM, epochs: [epoch1, epoch2] }]), json)
  }
  const { timestamp, deadline, epoch, expirationTime } = (await request.json()) as Record<string, number>
  const context = { timestamp: timestamp!, operation: 'area', inputRefs: [`0x${'4'.repeat(64)}`] }
  const answer = {
    ...{ schema: ZERO_HASH, recipient: ZERO_ADDRESS, revocable: true, refUID: ZERO_HASH },
    ...{ expirationTime, data: encodeNumericResult(1n, 'square_centimeters', context), deadline, epoch },
  }
  const domain = { name: 'GeoQuorum', version: '1', chainId: 1, verifyingContract: QUORUM }
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message: answer } as never
  const signature = await OPERATOR.signTypedData(typed)
  return new Response(JSON.stringify({ answer, index: 0, digest: hashTypedData(typed), signature }), json)
}

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['http://one', 'http://one/'],
  ['http://localhost:3001', 'http://LOCALHOST:3001'],
  ['https://one.example', 'https://one.example:443'],
  ['http://127.0.0.1', 'http://127.1'],
  ['http://one/x', 'http://one/x?'],
  ['http://one/x', 'http://one/x/#y'],
])('a quorum rejects an operator that is named twice: %s, %s', (first, second) => {
  const operators = [first, 'http://two', second]
  expect(() => quorumOf({ options: { url: 'http://x' } } as Context, { operators, k: 2 })).toThrow(
    expect.objectContaining({
      name: 'InvalidInputError',
      detail: expect.stringContaining(`'${first}'`) as unknown,
    }),
  )
})

test.each(['one', 'https://me:secret@one'])('a quorum names its option for the URL %s', (url) => {
  let refused: Partial<InvalidInputError> = {}
  try {
    quorumOf({ options: {} } as Context, { operators: [url], k: 1 })
  } catch (error) {
    refused = error as InvalidInputError
  }
  const { name, detail = '' } = refused
  expect([name, detail.split(':')[0], detail.includes('secret')]).toEqual([
    'InvalidInputError',
    'operators',
    false,
  ])
})

test('a quorum reads its operator set again once the epoch has ended', async () => {
  const clock = vi.spyOn(Date, 'now')
  const context = { options: { url: 'http://x', chain: 1, fetch: operator } } as unknown as Context
  const quorum = quorumOf(context, { operators: ['http://one'], k: 1 })
  const seen: unknown[] = []
  // Just before the end of an epoch, the next one is awaited.
  for (const after of [0, 24, 29.95, 31]) {
    const begun = performance.now()
    clock.mockImplementation(() => (START + after) * 1000 + performance.now() - begun)
    const { answer, operators } = await quorum.area([0, 0] as never)
    expect(operators).toEqual([{ url: 'http://one', index: 0, operator: OPERATOR.address }])
    seen.push([answer.epoch, answer.deadline - START])
  }
  expect(seen).toEqual([
    [1, 29],
    [1, 29],
    [2, 630],
    [2, 631],
  ])
})

test('a quorum reads its operator set again once its contract has refused an answer', async () => {
  vi.spyOn(Date, 'now').mockReturnValue((START + 31) * 1000)
  const chain = async () => ({ id: 1, slug: 'ethereum', eas: QUORUM })
  const context = { options: { url: 'http://x', chain: 1, fetch: operator }, chain } as unknown as Context
  const quorum = quorumOf(context, { operators: ['http://one'], k: 1 })
  const abi = parseAbi(['error WrongSignature(uint256 index)'])
  const wallet = {
    request: async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_chainId') return '0x1'
      if (params?.[0]?.data === selector('eas()')) return QUORUM.replace('0x', `0x${'0'.repeat(24)}`)
      if (method === 'eth_requestAccounts') return [OPERATOR.address]
      if (method !== 'eth_call') throw new Error(method)
      throw Object.assign(new Error('execution reverted'), { data: encodeErrorResult({ abi, args: [0n] }) })
    },
  }
  const asked = async () => {
    reads = 0
    return { answer: await quorum.area([0, 0] as never), reads }
  }
  await asked()
  const { answer, reads: before } = await asked()
  await expect(quorum.land(answer, wallet as never)).rejects.toMatchObject({
    contractError: 'WrongSignature',
  })
  expect([before, (await asked()).reads]).toEqual([0, 1])
})
