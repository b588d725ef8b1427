// SPDX-License-Identifier: MIT
import { BrowserProvider } from 'ethers'
import { createWalletClient, custom, keccak256 } from 'viem'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { inTurn, transact } from './send'
import { walletOf, type Signer } from './signer'
import type { Chain } from './types'

const [FIRST, SECOND] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
const [HASH, OTHER] = [`0x${'2'.repeat(64)}`, `0x${'3'.repeat(64)}`]

const chain = { id: 1, slug: 'ethereum' } as Chain
const RECEIPT = { status: '0x1', blockNumber: '0x7', transactionHash: HASH, logs: [] }
/** Responses by method of a wallet on chain 1, which sends the transaction HASH. */
type Answers = Record<string, (params: any[]) => unknown>
const USUAL: Answers = {
  eth_requestAccounts: () => [FIRST],
  eth_chainId: () => '0x1',
  eth_call: () => '0x',
  eth_sendTransaction: () => HASH,
  eth_getTransactionReceipt: () => RECEIPT,
}
const noResponse = () => {
  throw new Error('no response')
}
/** Provider of a wallet with these responses instead of the usual ones. */
const providerWith = (answers: Answers) => ({
  request: async ({ method, params }: { method: string; params: any[] }) =>
    (answers[method] ?? USUAL[method] ?? noResponse)(params),
})

describe('a transaction', () => {
  test('has one sender, also if the user switches the account of the wallet meanwhile', async () => {
    const accounts = [FIRST, SECOND]
    let sender
    const provider = providerWith({
      eth_requestAccounts: () => [accounts.shift()],
      eth_sendTransaction: ([{ from }]) => {
        sender = from
        return HASH
      },
    })
    await transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, {})
    expect(sender).toBe(FIRST)
  })

  test.each([
    ['code 4001', { code: 4001 }, 'SignerError', false],
    ['insufficient funds', { message: 'insufficient funds for gas' }, 'SignerError', false],
    ['a revert of its estimate', { message: 'execution reverted' }, 'SignerError', false],
    ['no response', { message: 'fetch failed' }, 'UncertainError', true],
    ['a chain of ethers', { code: 'INVALID_ARGUMENT', argument: 'tx.chainId' }, 'SignerError', false],
    // ethers reads the number of the newest block while it sends.
    ['a response of ethers', { code: 'INVALID_ARGUMENT', argument: '%response' }, 'UncertainError', true],
  ])(
    'that the wallet refuses with %s has the state that follows from it',
    async (_, failure, name, mayBeSent) => {
      let [denies, sends] = [false, 0]
      const provider = providerWith({
        eth_sendTransaction: () => {
          throw Object.assign(new Error('x'), failure)
        },
        eth_call: () => {
          if (denies && sends++ > 0) throw Object.assign(new Error('reverted'), { data: '0x12345678' })
          return '0x'
        },
      })
      const sending = () => transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, {})
      await expect(sending()).rejects.toMatchObject({ name, retryable: false })
      denies = true
      expect(await sending()).toMatchObject({ mayBeSent })
    },
  )

  test('is not repeated by a program that retries if the RPC endpoint fails once it is sent', async () => {
    vi.useFakeTimers()
    try {
      const provider = providerWith({ eth_getTransactionReceipt: noResponse })
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, {})
      const failed = expect(sending).rejects.toMatchObject({
        ...{ name: 'ConnectionError', retryable: false, transactionHash: HASH },
      })
      await vi.advanceTimersByTimeAsync(60_000)
      await failed
    } finally {
      vi.useRealTimers()
    }
  })

  test('is still pending while the wallet is on another chain', async () => {
    vi.useFakeTimers()
    try {
      let chainId = '0x1'
      let isMined = false
      const provider = providerWith({
        eth_chainId: () => chainId,
        eth_getTransactionCount: () => '0x9',
        eth_getTransactionReceipt: () => (isMined && chainId === '0x1' ? RECEIPT : null),
        eth_getTransactionByHash: () => (chainId === '0x1' ? { from: FIRST, nonce: '0x5' } : null),
      })
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, {})
      const included = expect(sending).resolves.toMatchObject({ receipt: { succeeded: true } })
      await vi.advanceTimersByTimeAsync(1_000)
      chainId = '0x2105'
      isMined = true
      await vi.advanceTimersByTimeAsync(400_000)
      chainId = '0x1'
      await vi.advanceTimersByTimeAsync(1_000)
      await included
    } finally {
      vi.useRealTimers()
    }
  })

  test('is followed to its block although the callback for it fails', async () => {
    let looks = 0
    const look = (found: unknown) => () => (looks++ ? found : null)
    const provider = providerWith({
      eth_getTransactionReceipt: look(RECEIPT),
      eth_getTransactionByHash: look({ from: FIRST, nonce: '0x5' }),
    })
    const failure = new Error('no space left')
    for (const onSent of [
      () => Promise.reject(failure),
      () => {
        throw failure
      },
    ]) {
      looks = 0
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, { onSent })
      const failed = expect(sending).rejects.toMatchObject({
        name: 'LandingError',
        transactionHash: HASH,
        cause: failure,
      })
      await vi.advanceTimersByTimeAsync(2_000)
      await failed
      expect(looks).toBeGreaterThan(1)
    }
  })

  test.each([
    ['with its fields', true, { hash: HASH }],
    ['as raw bytes', true, '0x02c0'],
    ['of another sender', false, { hash: HASH }],
  ])(
    'is sent again for an expired nonce, unless it used the nonce itself: a transaction %s',
    async (_, isOwn, transaction) => {
      const own = typeof transaction === 'string' ? keccak256(transaction as '0x') : HASH
      let sent = 0
      const provider = {
        getNetwork: async () => ({ chainId: 1n }),
        call: async () => '0x',
        getTransactionReceipt: async () => ({ status: 1, blockNumber: 7, logs: [] }),
        getTransaction: async () => (isOwn ? { from: FIRST, nonce: 0 } : null),
      }
      const signer = {
        provider,
        getAddress: async () => FIRST,
        signMessage: async () => '',
        signTypedData: async () => '',
        sendTransaction: async () => {
          if (sent++ > 0) return { hash: OTHER }
          throw Object.assign(new Error('nonce'), { code: 'NONCE_EXPIRED', transaction })
        },
      }
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const sending = transact(walletOf(signer), chain, { to: FIRST, data: '0x' } as never, {})
      await vi.advanceTimersByTimeAsync(2_000)
      const outcome = await sending
      expect([sent, outcome]).toMatchObject(
        isOwn ? [1, { receipt: { transactionHash: own } }] : [2, { receipt: { transactionHash: OTHER } }],
      )
    },
  )

  const unexplained = { name: 'LandingError', contractError: undefined, transactionHash: HASH }
  const reverts = () => {
    throw Object.assign(new Error('reverted'), { data: '0x12345678' })
  }
  test.each([
    ['fails', noResponse, '0x1', unexplained],
    ['is made on another chain', reverts, '0x2105', unexplained],
    ['has no response', () => new Promise(() => {}), '0x1', { message: 'left' }],
  ])('that failed is reported if the call for its reason %s', async (_, late, lateChain, expected) => {
    const stop = new AbortController()
    let calls = 0
    const provider = providerWith({
      eth_chainId: () => (calls > 1 ? lateChain : '0x1'),
      eth_call: () => {
        if (calls++ === 0) return '0x'
        setTimeout(() => stop.abort(new Error('left')), 5)
        return late()
      },
      eth_getTransactionReceipt: () => ({ ...RECEIPT, status: '0x0' }),
    })
    const how = { signal: stop.signal }
    const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, how)
    await expect(sending).rejects.toMatchObject(expected)
  })

  test.each([
    () => {
      throw new Error('locked')
    },
    () => Promise.reject(new Error('locked')),
    () => Promise.resolve({}),
  ])('is refused if the wallet connects no account: %s', async (request) => {
    await expect(walletOf({ request }).address()).rejects.toMatchObject({ name: 'SignerError' })
  })

  test('has the account of a wallet that returns it without a promise', async () => {
    const request = (() => [FIRST]) as never
    expect(await walletOf({ request }).address()).toBe(FIRST)
  })

  test('is reported as rejected by the user although the endpoint has no response', async () => {
    const stop = new AbortController()
    let calls = 0
    const provider = providerWith({
      eth_call: () => (calls++ === 0 ? '0x' : new Promise(() => {})),
      eth_sendTransaction: () => {
        setTimeout(() => stop.abort(), 5)
        throw Object.assign(new Error('x'), { code: 4001 })
      },
    })
    const how = { signal: stop.signal }
    const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, how)
    await expect(sending).rejects.toMatchObject({ name: 'SignerError' })
  })

  test('is followed if ethers has sent it, but fails to read it', async () => {
    const provider = {
      getNetwork: async () => ({ chainId: 1n }),
      call: async () => '0x',
      getTransactionReceipt: async () => ({ status: 1, blockNumber: 7, logs: [] }),
    }
    const signer = {
      provider,
      getAddress: async () => FIRST,
      signMessage: async () => '',
      signTypedData: async () => '',
      sendTransaction: () =>
        Promise.reject(Object.assign(new Error('network changed'), { info: { sendTransactionHash: HASH } })),
    }
    const outcome = await transact(walletOf(signer), chain, { to: FIRST, data: '0x' } as never, {})
    expect(outcome).toMatchObject({ receipt: { succeeded: true, transactionHash: HASH } })
  })

  test.each<[string, string, (provider: any) => Signer | Promise<Signer>]>([
    ['an EIP-1193 wallet', 'eth_chainId', (provider) => provider],
    // ethers reads the chain again before it sends.
    ['ethers', 'eth_sendTransaction', (provider) => new BrowserProvider(provider).getSigner(FIRST)],
    [
      ...(['viem', 'eth_chainId'] as const),
      (provider) => createWalletClient({ account: FIRST as '0x', transport: custom(provider) }),
    ],
  ])('is not sent by %s on another chain, to which the user switches at %s', async (_, method, signerOf) => {
    let chainId = '0x1'
    let sent = 0
    let isReady = false
    const provider = providerWith({
      eth_accounts: () => [FIRST],
      eth_blockNumber: () => '0x7',
      eth_estimateGas: () => '0x5208',
      eth_chainId: () => {
        const before = chainId
        if (isReady && method === 'eth_chainId') chainId = '0x2105'
        return before
      },
      eth_sendTransaction: ([given]) => {
        chainId = '0x2105'
        if (given.chainId === '0x1') throw Object.assign(new Error('x'), { code: 4001 })
        sent++
        return HASH
      },
      eth_getTransactionByHash: noResponse,
    })
    const wallet = walletOf(await signerOf(provider))
    isReady = true
    const sending = transact(wallet, chain, { to: FIRST, data: '0x' } as never, {})
    await expect(sending).rejects.toMatchObject({ name: 'SignerError' })
    expect([sent, chainId]).toEqual([0, '0x2105'])
  })

  test.each(['before its simulation', 'while the wallet is asked'])(
    'that a contract of another chain rejects is not rejected: the user switches %s',
    async (when) => {
      let chainId = when === 'before its simulation' ? '0x2105' : '0x1'
      const provider = providerWith({
        eth_chainId: () => chainId,
        eth_call: () => {
          if (chainId === '0x1') return '0x'
          throw Object.assign(new Error('reverted'), { data: '0x12345678' })
        },
        eth_sendTransaction: () => {
          chainId = '0x2105'
          throw Object.assign(new Error('x'), { code: 4902 })
        },
      })
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, {})
      const name = when === 'before its simulation' ? 'ChainMismatchError' : 'SignerError'
      await expect(sending).rejects.toMatchObject({ name })
    },
  )

  test.each(['eth_requestAccounts', 'eth_call', 'eth_chainId', 'eth_getTransactionReceipt'])(
    'ends with its signal if %s has no response',
    async (silent) => {
      const provider = providerWith({ [silent]: () => new Promise(() => {}) })
      const [stop, left] = [new AbortController(), new Error('left')]
      const how = { signal: stop.signal }
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, how)
      setTimeout(() => stop.abort(left), 5)
      await expect(sending).rejects.toBe(left)
    },
  )

  test.each(['left', 'The user rejected the wait'])(
    'has an unknown state if its signal is aborted (%s) while the wallet is asked, and is reported once it is sent',
    async (reason) => {
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      const [stop, left] = [new AbortController(), new Error(reason)]
      let answer = (_: string) => {}
      const provider = providerWith({
        eth_sendTransaction: () => {
          setTimeout(() => stop.abort(left), 5)
          return new Promise<string>((resolve) => (answer = resolve))
        },
      })
      const onSent = vi.fn(() => Promise.reject(new Error('no space left')))
      const how = { signal: stop.signal, onSent }
      const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, how)
      const ended = vi.fn()
      void sending.catch(ended)
      await vi.advanceTimersByTimeAsync(4_990)
      expect(ended).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(20)
      await expect(sending).rejects.toMatchObject({ name: 'UncertainError', retryable: false, cause: left })
      expect(onSent).not.toHaveBeenCalled()
      answer(HASH)
      await vi.waitFor(() => expect(onSent).toHaveBeenCalledExactlyOnceWith(HASH))
    },
  )

  test('is reported before the call ends if its signal is aborted while the wallet sends it', async () => {
    const [stop, left] = [new AbortController(), new Error('left')]
    const provider = providerWith({
      eth_sendTransaction: () => {
        stop.abort(left)
        return Promise.resolve(HASH)
      },
    })
    const onSent = vi.fn()
    const how = { signal: stop.signal, onSent }
    const sending = transact(walletOf(provider), chain, { to: FIRST, data: '0x' } as never, how)
    await expect(sending).rejects.toBe(left)
    expect(onSent).toHaveBeenCalledExactlyOnceWith(HASH)
  })

  test('ends with its signal while it is queued, and does not hold the next one up', async () => {
    const signer = {}
    const [stop, left] = [new AbortController(), new Error('left')]
    let end = () => {}
    const first = inTurn(signer, undefined, () => new Promise<void>((resolve) => (end = resolve)))
    const second = inTurn(signer, stop.signal, async () => 'second')
    const third = inTurn(signer, undefined, async () => 'third')
    stop.abort(left)
    await expect(second).rejects.toBe(left)
    end()
    expect(await Promise.all([first, third])).toEqual([undefined, 'third'])
  })
})
