// SPDX-License-Identifier: MIT
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Context } from './context'
import { ATTESTED, REVOKED, REVOKED_OFFCHAIN, ZERO_HASH, selector } from './eas'
import { revokeOnchain, revokeSigned } from './revoke'
import type { Chain } from './types'

const [FIRST, SECOND] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
const HASH = `0x${'2'.repeat(64)}`
/** Pads an account to 32 bytes, as in a topic of a log. */
const wordOf = (account: string) => `0x${account.slice(2).padStart(64, '0')}`

test('a revocation has one sender, also if the user switches the account of the wallet meanwhile', async () => {
  const accounts = [FIRST, SECOND]
  let sender: string | undefined
  /** accounts whose revocation was read */
  const read: string[] = []
  const provider = {
    request: async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_requestAccounts') return [accounts.shift() ?? SECOND]
      if (method === 'eth_chainId') return '0x1'
      if (method === 'eth_call') {
        const { data } = params[0] as { data: string }
        if (data.length === 2 + 8 + 128) read.push(`0x${data.slice(34, 74)}`)
        return `0x${(sender ? '5' : '0').padStart(64, '0')}`
      }
      if (method === 'eth_sendTransaction') sender = params[0].from
      if (method === 'eth_sendTransaction') return HASH
      const topics = [REVOKED_OFFCHAIN, wordOf(FIRST), `0x${'1'.repeat(64)}`, HASH]
      const logs = [{ address: FIRST, topics, data: '0x' }]
      return { status: '0x1', blockNumber: '0x7', transactionHash: HASH, logs }
    },
  }
  const chain = { id: 1, slug: 'ethereum', eas: FIRST } as Chain
  const context = { chain: async () => chain } as unknown as Context
  const revoked = await revokeSigned(context, `0x${'1'.repeat(64)}`, provider)
  expect(revoked).toMatchObject({ revocationTime: 5, already: false })
  expect([sender, ...read]).toEqual([FIRST, FIRST, FIRST])
})

describe('a revocation', () => {
  const UID = `0x${'1'.repeat(64)}` as const
  const chain = { id: 1, slug: 'ethereum', eas: FIRST } as Chain
  const context = { chain: async () => chain } as unknown as Context

  /**
   * EAS with one attestation, and a wallet. `lost` is true if the response to the transaction is lost,
   * `fails` if the call of a smart account fails in it, `late` if another program has revoked the attestation
   * before. `others` are logs of other calls in the transaction.
   */
  function world({ lost = false, fails = false, late = false, others = [] as object[] } = {}) {
    let [sent, revocationTime] = [0, 0n]
    const request = async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_requestAccounts') return [FIRST]
      if (method === 'eth_chainId') return '0x1'
      if (method === 'eth_call' && params[0].data.startsWith(selector('getAttestation(bytes32)')))
        return encodeAbiParameters(
          parseAbiParameters(
            '(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes)',
          ),
          [[UID, UID, 1n, 0n, revocationTime, UID, FIRST, FIRST, true, '0x'] as never],
        )
      if (method === 'eth_call' && revocationTime)
        throw Object.assign(new Error('reverted'), { data: selector('AlreadyRevoked()') })
      if (method === 'eth_sendTransaction') {
        sent++
        if (!fails || late) revocationTime = 5n
        if (lost) throw new TypeError('fetch failed')
        return HASH
      }
      if (method === 'eth_call') return '0x'
      const own = { address: FIRST, topics: [REVOKED, ZERO_HASH, wordOf(FIRST), UID], data: UID }
      return { status: '0x1', blockNumber: '0x7', logs: fails ? others : [...others, own] }
    }
    return { provider: { request }, sent: () => sent }
  }

  test('is found if the response to its transaction is lost', async () => {
    const { provider } = world({ lost: true })
    expect(await revokeOnchain(context, UID, provider)).toMatchObject({ revocationTime: 5, already: true })
  })

  const failed = { name: 'LandingError', transactionHash: HASH }
  test('is reported as failed if only the transaction around it succeeded', async () => {
    const { provider } = world({ fails: true })
    await expect(revokeOnchain(context, UID, provider)).rejects.toMatchObject(failed)
  })

  test('is found if it was faster than the call of a smart account, which then fails', async () => {
    const { provider } = world({ fails: true, late: true })
    expect(await revokeOnchain(context, UID, provider)).toMatchObject({ revocationTime: 5, already: true })
  })

  test.each([false, true])(
    'is found if the transaction that replaced its own made it: not if that fails (%s)',
    async (fails) => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const { provider } = world({ fails })
      let looks = 0
      const results: Record<string, () => unknown> = {
        eth_getTransactionReceipt: () => null,
        eth_getTransactionByHash: () => (looks++ ? null : { from: FIRST, nonce: '0x5' }),
        eth_getTransactionCount: () => '0x6',
      }
      const request = async (call: Parameters<typeof provider.request>[0]) =>
        (results[call.method] ?? (() => provider.request(call)))()
      const revoking = revokeOnchain(context, UID, { request }).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(90_000)
      expect(await revoking).toMatchObject(fails ? { name: 'LostTransactionError' } : { already: true })
    },
  )

  test('is reported as failed, with its transaction, if the endpoint then fails', async () => {
    const { provider, sent } = world({ fails: true })
    const cause = new Error('HTTP request failed')
    const request: typeof provider.request = (call) =>
      sent() > 0 && call.method === 'eth_call' ? Promise.reject(cause) : provider.request(call)
    await expect(revokeOnchain(context, UID, { request })).rejects.toMatchObject({
      ...{ ...failed, cause: { name: 'ConnectionError', cause } },
    })
  })

  test.each([
    ['the attestation', [ATTESTED, ZERO_HASH, wordOf(FIRST), UID], UID],
    ["another account's Revoked", [REVOKED, ZERO_HASH, wordOf(SECOND), UID], UID],
    ["another account's RevokedOffchain", [REVOKED_OFFCHAIN, wordOf(SECOND), UID, ZERO_HASH], '0x'],
    ['the revocation of another attestation', [REVOKED, ZERO_HASH, wordOf(FIRST), UID], HASH],
  ])('is not confused with %s in the transaction of a smart account', async (_, topics, data) => {
    const { provider } = world({ fails: true, others: [{ address: FIRST, topics, data }] })
    await expect(revokeOnchain(context, UID, provider)).rejects.toMatchObject(failed)
  })

  test('is sent once if it is requested twice, and reports its transaction', async () => {
    const { provider, sent } = world()
    const steps: object[] = []
    const onStep = (step: object) => steps.push(step)
    const revoke = () => revokeOnchain(context, UID, provider, { onStep })
    const revoked = await Promise.all([revoke(), revoke()])
    expect(revoked.map(({ already }) => already)).toEqual([false, true])
    expect([sent(), steps]).toEqual([1, [{ step: 'sent', transactionHash: HASH }]])
  })

  test.each([
    [
      'fails',
      { name: 'ConnectionError', retryable: true },
      () => Promise.reject(new Error('HTTP request failed.\nURL: https://node.example/SECRET')),
    ],
    ['has no contract', { name: 'SignerError', retryable: false }, () => Promise.resolve('0x')],
  ])('shows if a retry may succeed after the RPC endpoint %s', async (_, expected, respond) => {
    const request = ({ method }: { method: string }) =>
      method === 'eth_chainId' ? Promise.resolve('0x1') : respond()
    const error = (await revokeOnchain(context, UID, { request }).catch((thrown: unknown) => thrown)) as Error
    expect(error).toMatchObject(expected)
    expect(error.message).not.toContain('SECRET')
  })
})
