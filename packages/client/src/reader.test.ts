// SPDX-License-Identifier: MIT
import { BrowserProvider, Network } from 'ethers'
import { createPublicClient, custom } from 'viem'
import { describe, expect, test } from 'vitest'
import { RevertedError } from './reader'
import { readerOf, walletOf, type Provider } from './signer'

const CALL = { to: `0x${'1'.repeat(40)}`, data: '0x' } as const
const DATA = '0x12345678'
/** Provider whose calls fail with this error. */
const failing = (error: object) => ({
  request: async ({ method }: { method: string }) => {
    if (method === 'eth_chainId') return '0x1'
    throw Object.assign(new Error('x'), error)
  },
})
type Failing = ReturnType<typeof failing>
const LIBRARIES: [string, (provider: Failing) => Provider][] = [
  ['EIP-1193', (provider) => provider],
  ['viem', (provider) => createPublicClient({ transport: custom(provider, { retryCount: 0 }) })],
  ['ethers', (provider) => new BrowserProvider(provider, undefined, { staticNetwork: Network.from(1) })],
]

test.each([
  ['0x7', { blockNumber: 7 }],
  [null, undefined],
])('a receipt counts once its transaction is in a block: %s', async (blockNumber, expected) => {
  const receipt = { status: '0x1', blockNumber, logs: [] }
  const found = await readerOf({ request: async () => receipt }).receipt(DATA)
  expect(found && { blockNumber: found.blockNumber }).toEqual(expected)
})

test.each([
  ['no account', async () => []],
  ['null', async () => null],
  ['a rejection', () => Promise.reject(Object.assign(new Error('User rejected'), { code: 4001 }))],
])('a wallet that responds with %s has no account', async (_, request) => {
  const wallet = walletOf({ request })
  await expect(wallet.address()).rejects.toMatchObject({ name: 'SignerError' })
})

describe.each(LIBRARIES)('a call through %s', (_, providerOf) => {
  const failureOf = (error: object) =>
    readerOf(providerOf(failing(error)))
      .call(CALL)
      .catch((reason: unknown) => reason)

  test.each<[string, object, string | undefined]>([
    ['geth', { code: 3, message: 'execution reverted', data: DATA }, DATA],
    ['geth without data', { code: -32_000, message: 'execution reverted' }, undefined],
    ['Nethermind', { code: -32_015, message: 'VM execution error.', data: `Reverted ${DATA}` }, DATA],
    ['a wallet', { code: -32_603, message: 'Internal error', data: { code: 3, data: DATA } }, DATA],
    ['a contract that halts', { code: -32_000, message: 'invalid opcode: INVALID' }, undefined],
  ])('reverts with the error of %s', async (_name, error, data) => {
    const failure = await failureOf(error)
    expect(failure).toBeInstanceOf(RevertedError)
    expect((failure as RevertedError).data).toBe(data)
  })

  test.each([
    ['its limit', { code: -32_005, message: 'rate limit exceeded' }],
    ['a block that it lacks', { code: -32_000, message: 'header not found' }],
    [
      'an internal error',
      { code: -32_603, message: 'Internal error', data: { code: -32_000, message: 'x' } },
    ],
  ])('does not revert if the endpoint refuses it for %s', async (_name, error) => {
    const failure = await failureOf(error)
    expect(failure).toBeInstanceOf(Error)
    expect(failure).not.toBeInstanceOf(RevertedError)
    expect((failure as Error).message).not.toMatch(/revert/)
  })
})
