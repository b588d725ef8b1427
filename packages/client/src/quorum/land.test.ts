// SPDX-License-Identifier: MIT
import {
  encodeAbiParameters,
  encodeErrorResult,
  hashTypedData,
  parseAbi,
  parseAbiParameters,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sentence, testSentences } from '../../../../test/sentences'
import { encodeBooleanResult } from '../../../../src/eas'
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import { ATTESTED, selector } from '../eas'
import { createGeo } from '../geo'
import type { Chain, QuorumAnswer } from '../types'
import { landQuorum } from './land'

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`
const address = (digit: string): Hex => `0x${digit.repeat(40)}`
const [SCHEMA, UID, TRANSACTION] = [hash('5'), hash('1'), hash('7')]
const [EAS, QUORUM, SENDER, RECIPIENT] = [address('e'), address('9'), address('a'), address('2')]
const ERRORS = parseAbi([
  'error DeadlinePassed(uint256)',
  'error AlreadyUsed(bytes32)',
  'error EpochNotValid(uint256 epoch, uint256 validFrom, uint256 validUntil)',
])
const TIME = 1_700_000_000
const claims = { inputRefs: [hash('3'), hash('4')], timestamp: TIME, operation: 'within:100' }
const answer = {
  ...{ schema: SCHEMA, recipient: RECIPIENT, revocable: true, refUID: hash('0'), epoch: 1 },
  ...{ expirationTime: 2 ** 40 + 5, deadline: TIME + 600, data: encodeBooleanResult(true, claims) as Hex },
}
const typed = {
  domain: { name: 'GeoQuorum', version: '1', chainId: 1, verifyingContract: QUORUM },
  ...{ types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message: answer },
} as never
let quorumAnswer: QuorumAnswer
beforeEach(async () => {
  const signatures = await privateKeyToAccount(hash('6')).signTypedData(typed)
  quorumAnswer = {
    ...{ ...claims, result: true, chainId: 1, quorum: QUORUM, answer, digest: hashTypedData(typed) },
    ...{ signers: '0x1', signatures, dissent: [] },
  }
})

/** Wallet on a chain whose quorum refuses all answers. `landed` is true if it has accepted this one. */
const walletOn = (refusal: Hex, landed: boolean) => {
  const attestation = encodeAbiParameters(
    parseAbiParameters(
      '(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes) attestation',
    ),
    [
      [
        ...([UID, SCHEMA, BigInt(TIME + 5), BigInt(answer.expirationTime), 0n, hash('0')] as const),
        ...([RECIPIENT, QUORUM, true, answer.data] as const),
      ],
    ],
  )
  const results: Record<string, (parameters: any[]) => unknown> = {
    eth_chainId: () => '0x1',
    eth_requestAccounts: () => [SENDER],
    eth_getBlockByNumber: ([block]) => {
      const number = block === 'latest' ? 900 : Number(block)
      return { number, timestamp: TIME - 120 + number }
    },
    eth_getLogs: () => (landed ? [{ data: UID, transactionHash: TRANSACTION, blockNumber: '0x7d' }] : []),
    eth_call: ([{ to, data }]) => {
      if (to.toLowerCase() === EAS) return attestation
      if (data === selector('eas()')) return `0x${EAS.slice(2).padStart(64, '0')}`
      throw Object.assign(new Error('execution reverted'), { data: refusal })
    },
  }
  return {
    request: async ({ method, params = [] }: { method: string; params?: any[] }) => results[method]!(params),
  }
}

const landOn = (wallet: ReturnType<typeof walletOn>, changes?: Partial<QuorumAnswer>) =>
  landQuorum(
    { chain: async () => ({ id: 1, slug: 'ethereum', eas: EAS }) as unknown as Chain },
    ...([changes ? { ...quorumAnswer, ...changes } : quorumAnswer, wallet] as const),
  )
const setClock = (seconds: number) => vi.spyOn(Date, 'now').mockReturnValue(seconds * 1000)
beforeEach(() => void setClock(TIME + 1))
afterEach(() => void (vi.restoreAllMocks(), vi.useRealTimers()))
/** Result of work, whose pauses take no time. */
async function withoutPauses<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let isDone = false
  const result = work().finally(() => (isDone = true))
  result.catch(() => {})
  while (!isDone) {
    await vi.advanceTimersByTimeAsync(500)
    await new Promise((resolve) => void setImmediate(resolve))
  }
  return result
}

describe('an answer of a quorum', () => {
  test('is not sent if a member differs from the signed content', async () => {
    const wallet = walletOn('0x', false)
    const request = vi.spyOn(wallet, 'request')
    await expect(landOn(wallet, { result: false })).rejects.toMatchObject({ name: 'AlteredAnswerError' })
    expect(request).not.toHaveBeenCalled()
  })
  test('is not sent if the client has another attester', async () => {
    const wallet = walletOn('0x', false)
    const request = vi.spyOn(wallet, 'request')
    const geo = createGeo({ url: 'http://x', attester: EAS, fetch: request as never })
    const quorum = await geo.quorum({ operators: ['http://one'], k: 1 })
    for (const client of [geo, quorum])
      await expect(client.land(quorumAnswer, wallet)).rejects.toMatchObject({ name: 'AlteredAnswerError' })
    expect(request).not.toHaveBeenCalled()
  })
  test.each([1, 61])('is neither simulated nor sent %i s after its deadline', async (seconds) => {
    setClock(answer.deadline + seconds)
    const wallet = walletOn('0x', false)
    const request = vi.spyOn(wallet, 'request')
    await expect(landOn(wallet)).rejects.toMatchObject({
      ...{ name: 'LandingError', contractError: 'DeadlinePassed', transactionHash: undefined },
      message: sentence(),
    })
    const calls = request.mock.calls.filter(([{ method }]) => method === 'eth_call')
    expect(calls.map(([{ params }]) => params![0].data)).toEqual([selector('eas()')])
  })
  test.each([
    ['by another account', true, false],
    ['not at all', false, false],
    ['possibly, because the search fails', false, true],
  ])('has landed %s if only the transaction around it succeeded', async (_, landed, fails) => {
    const wallet = walletOn('0x', landed)
    const results: Record<string, unknown> = {
      eth_sendTransaction: TRANSACTION,
      eth_getTransactionReceipt: { status: '0x1', blockNumber: '0x7', logs: [] },
    }
    const request: typeof wallet.request = async (call) => {
      if (fails && call.method === 'eth_getLogs') throw new Error('HTTP request failed')
      const isLanding = call.method === 'eth_call' && call.params![0].data.length > 100
      return isLanding ? '0x' : (results[call.method] ?? wallet.request(call))
    }
    const landing = landOn({ request })
    if (landed) return expect(await landing).toMatchObject({ uid: UID, already: true })
    await expect(landing).rejects.toMatchObject({
      ...{ name: 'LandingError', transactionHash: TRANSACTION },
      ...(fails && { cause: { name: 'ConnectionError' } }),
    })
  })
  test('is sent once if it lands twice at once', async () => {
    const used = encodeErrorResult({ abi: ERRORS, errorName: 'AlreadyUsed', args: [hashTypedData(typed)] })
    const wallet = walletOn(used, true)
    let [sent, mined] = [0, 0]
    const request: typeof wallet.request = async (call) => {
      if (call.method === 'eth_sendTransaction') return (sent++, TRANSACTION)
      if (call.method === 'eth_getTransactionReceipt') {
        if (mined++ === 0) return null
        const topics = [ATTESTED, hash('2'), `0x${QUORUM.slice(2).padStart(64, '0')}`, SCHEMA]
        const logs = [{ address: EAS, topics, data: UID }]
        return { status: '0x1', blockNumber: '0x7d', logs }
      }
      if (call.method === 'eth_getTransactionByHash') return { from: SENDER, nonce: '0x0' }
      const isLanding = call.method === 'eth_call' && call.params![0].data.length > 100
      return isLanding && mined < 2 ? '0x' : wallet.request(call)
    }
    const signer = { request }
    const landed = await withoutPauses(() => Promise.all([landOn(signer), landOn(signer)]))
    expect(landed).toMatchObject([
      { uid: UID, already: false },
      { uid: UID, already: true },
    ])
    expect(sent).toBe(1)
  })
  test('has landed if the transaction that replaced its own landed it', async () => {
    const wallet = walletOn('0x', true)
    let looks = 0
    const results: Record<string, () => unknown> = {
      eth_sendTransaction: () => TRANSACTION,
      eth_getTransactionReceipt: () => null,
      eth_getTransactionByHash: () => (looks++ ? null : { from: SENDER, nonce: '0x5' }),
      eth_getTransactionCount: () => '0x6',
    }
    const request: typeof wallet.request = async (call) => {
      const isLanding = call.method === 'eth_call' && call.params![0].data.length > 100
      return isLanding ? '0x' : (results[call.method] ?? (() => wallet.request(call)))()
    }
    expect(await withoutPauses(() => landOn({ request }))).toMatchObject({ uid: UID, already: true })
  })
  test("is read from the EAS of its contract, and not from the service's", async () => {
    setClock(answer.deadline + 61)
    // The service may be that of a single operator.
    const fake = address('f')
    const chain = { id: 1, slug: 'ethereum', eas: fake } as unknown as Chain
    const [honest, lying] = [walletOn('0x', false), walletOn('0x', true)]
    const request: typeof honest.request = async ({ method, params = [] }) => {
      const [{ to, address: of = to }] = params.length > 0 ? params : [{}]
      if (of !== fake) return honest.request({ method, params })
      return lying.request({ method, params: [{ ...params[0], to: EAS }] })
    }
    const landing = landQuorum({ chain: async () => chain }, quorumAnswer, { request })
    await expect(landing).rejects.toMatchObject({ contractError: 'DeadlinePassed' })
  })
  test('is not sent to a contract that is not a GeoQuorum', async () => {
    const wallet = walletOn('0x', false)
    for (const outcome of ['0x', new Error('execution reverted')]) {
      const request = vi.fn(async (call: { method: string; params?: any[] }) => {
        if (call.method !== 'eth_call') return wallet.request(call)
        if (outcome instanceof Error) throw outcome
        return outcome
      })
      await expect(landOn({ request })).rejects.toMatchObject({ name: 'SignerError' })
      expect(request.mock.calls.map(([{ method }]) => method)).not.toContain('eth_sendTransaction')
    }
  })
  test('is found after its deadline if it has landed before', async () => {
    setClock(answer.deadline + 1)
    const digest = `0x${quorumAnswer.digest.slice(2).toUpperCase()}`
    for (const changes of [{}, { digest }])
      expect(await landOn(walletOn('0x', true), changes)).toMatchObject({ uid: UID, already: true })
  })
})

describe('an answer of a quorum that the contract refuses', () => {
  const land = (refusal: Hex, landed: boolean) => landOn(walletOn(refusal, landed))
  const usedKey = (key: Hex) => encodeErrorResult({ abi: ERRORS, errorName: 'AlreadyUsed', args: [key] })
  const refusals = {
    AlreadyUsed: usedKey(hashTypedData(typed)),
    DeadlinePassed: encodeErrorResult({
      ...{ abi: ERRORS, errorName: 'DeadlinePassed', args: [BigInt(answer.deadline)] },
    }),
  }

  test.each(Object.entries(refusals))('is found if it has landed before (%s)', async (_, refusal) => {
    expect(await land(refusal, true)).toMatchObject({
      ...{ uid: UID, transactionHash: TRANSACTION, blockNumber: 125, already: true },
    })
  })
  test('is found at an RPC endpoint that limits logs to ten blocks', async () => {
    const wallet = walletOn(refusals.AlreadyUsed, true)
    const request: typeof wallet.request = async (call) => {
      if (call.method !== 'eth_getLogs') return wallet.request(call)
      const [from, to] = [call.params![0].fromBlock, call.params![0].toBlock].map(Number)
      if (to! - from! >= 10) throw Object.assign(new Error('up to a 10 block range'), { code: -32_600 })
      return from! <= 125 && 125 <= to! ? wallet.request(call) : []
    }
    expect(await landOn({ request })).toMatchObject({ uid: UID, already: true })
  })
  /**
   * Searches 9,000 blocks for the attestation, at an RPC endpoint that fails some requests for logs. Returns
   * their numbers of blocks.
   */
  const search = async (failsAt: (request: number, blocks: number) => boolean) => {
    const wallet = walletOn(refusals.AlreadyUsed, true)
    const ranges: number[] = []
    const request: typeof wallet.request = async (call) => {
      const [first] = call.params ?? []
      if (call.method === 'eth_getBlockByNumber') {
        const number = first === 'latest' ? 9_000 : Number(first)
        return { number, timestamp: TIME - 120 + number / 50 }
      }
      if (call.method !== 'eth_getLogs') return wallet.request(call)
      const [from, to] = [Number(first.fromBlock), Number(first.toBlock)]
      ranges.push(to - from + 1)
      if (failsAt(ranges.length, to - from + 1)) throw new Error('HTTP request failed')
      return from <= 8_500 && 8_500 <= to ? wallet.request(call) : []
    }
    expect(await landOn({ request })).toMatchObject({ uid: UID, already: true })
    return ranges
  }
  test.each([10, 2_000])(
    'is found although every fourth request for logs fails, of at most %i blocks',
    async (most) => {
      await search((request, blocks) => blocks > most || request % 4 === 1)
    },
  )
  test('is searched in wide ranges again after an outage', async () => {
    const ranges = await search((request) => request <= 5)
    expect(Math.min(...ranges)).toBe(10)
    expect(ranges.at(-1)).toBeGreaterThan(500)
  })
  test('is found if a node of the RPC endpoint lags', async () => {
    const wallet = walletOn(refusals.AlreadyUsed, true)
    let looks = 0
    const request: typeof wallet.request = async (call) =>
      call.method === 'eth_getLogs' && looks++ === 0 ? [] : wallet.request(call)
    expect(await withoutPauses(() => landOn({ request }))).toMatchObject({ uid: UID, already: true })
  })
  test('is searched for a minute, every five seconds', async () => {
    const wallet = walletOn(refusals.AlreadyUsed, false)
    const request = vi.spyOn(wallet, 'request')
    await expect(withoutPauses(() => landOn(wallet))).rejects.toMatchObject({
      ...{ name: 'ConnectionError', retryable: true, transactionHash: undefined, message: sentence() },
    })
    expect(request.mock.calls.filter(([{ method }]) => method === 'eth_getLogs')).toHaveLength(14)
  })
  test('is not searched for a key that a resolver has used', async () => {
    await expect(land(usedKey(hash('8')), true)).rejects.toMatchObject({ contractError: 'AlreadyUsed' })
  })
  test('waits for a block of its epoch', async () => {
    const wallet = walletOn(
      encodeErrorResult({
        abi: ERRORS,
        errorName: 'EpochNotValid',
        args: [1n, BigInt(TIME), BigInt(TIME + 999)],
      }),
      false,
    )
    let heads = 0
    const request: typeof wallet.request = async (call) => {
      if (call.method !== 'eth_getBlockByNumber') return wallet.request(call)
      // The first head is before the epoch; the second one is not.
      return { number: 900, timestamp: TIME - 1 + heads++ }
    }
    await expect(withoutPauses(() => landOn({ request }))).rejects.toMatchObject({
      contractError: 'EpochNotValid',
    })
    expect(heads).toBe(2)
  })
  test('has not landed if its deadline passed before', async () => {
    await expect(land(refusals.DeadlinePassed, false)).rejects.toMatchObject({
      ...{ name: 'LandingError', contractError: 'DeadlinePassed', revertData: refusals.DeadlinePassed },
    })
  })
})

testSentences()
