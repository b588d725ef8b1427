// SPDX-License-Identifier: MIT
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionResult,
  keccak256,
  parseAbi,
  toHex,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DELEGATED_ABIS, encodeBooleanResult, splitSignature } from '../../../src/eas'
import { ATTEST_FIELDS } from '../../../src/eas/layouts'
import { hunt } from '../../../test/seed'
import { signedFirst } from './batch'
import type { Context, Landed } from './context'
import { ATTESTED, selector, ZERO_HASH } from './eas'
import { ZERO_ADDRESS } from './says'
import { apiError, ConnectionError, VerificationFailedError } from './errors'
import { landAnswer } from './land'
import { groupsOf } from './submission'
import type { Answer, BatchAnswer, Chain } from './types'

const KEY = privateKeyToAccount(`0x${'1'.repeat(64)}`)
const EAS: Hex = `0x${'e'.repeat(40)}`
const SCHEMA: Hex = `0x${'5'.repeat(64)}`
const DOMAIN = { name: 'EAS', version: '1.2.0', chainId: 1, verifyingContract: EAS }
const CHAIN = { id: 1, slug: 'ethereum', eas: EAS, proxy: null, attester: KEY.address, domain: DOMAIN }
const ABI = parseAbi([
  ...DELEGATED_ABIS.v1,
  'function getNonce(address account) view returns (uint256)',
  'struct Attestation { bytes32 uid; bytes32 schema; uint64 time; uint64 expirationTime; uint64 revocationTime; bytes32 refUID; address recipient; address attester; bool revocable; bytes data; }',
  'function getAttestation(bytes32 uid) view returns (Attestation)',
] as any) as any
const TIME = 1_700_000_000
/** Data of other clients' answers. */
const OTHER: Hex = '0xff'

/** EAS, and a service that signs for it. */
class World {
  nonce = 0
  now = TIME
  readonly landed: { uid: Hex; data: Hex }[] = []
  private readonly signed = new Map<string, { nonce: number; data: Hex }>()
  private readonly receipts = new Map<Hex, object>()
  /** true if the endpoint does not answer this read of the nonce */
  hangs = () => false
  /** true for a wallet that fails after it has sent a transaction */
  crashes = false
  /** true for a contract that checks the owner before the signature, and has another owner */
  denies = false

  private async sign(data: Hex, nonce: number): Promise<Answer> {
    const deadline = this.now + 100
    const content = { recipient: ZERO_ADDRESS, expirationTime: 0, revocable: true, refUID: ZERO_HASH, data }
    const message = { ...content, attester: KEY.address, schema: SCHEMA, value: 0, nonce, deadline }
    const types = { Attest: ATTEST_FIELDS.v1 }
    const signature = await KEY.signTypedData({
      ...{ domain: DOMAIN, types, primaryType: 'Attest', message },
    })
    const { r, s } = splitSignature(signature)
    this.signed.set(r + s, { nonce, data })
    return {
      chainId: 1,
      attestation: { ...content, schema: SCHEMA, attester: KEY.address, signature },
      delegatedAttestation: { signature, attester: KEY.address, deadline, nonce, submission: 'direct' },
      attestByDelegation: {
        ...{ schema: SCHEMA, data: { ...content, value: '0' }, signature: splitSignature(signature) },
        ...{ attester: KEY.address, deadline },
      },
    } as unknown as Answer
  }

  async batch(all: readonly Hex[]): Promise<BatchAnswer> {
    const results = await Promise.all(all.map((data, i) => this.sign(data, this.nonce + i)))
    const { deadline } = results[0]!.delegatedAttestation
    return { chainId: 1, results, deadline, multiAttestByDelegation: groupsOf(results) } as BatchAnswer
  }

  readonly context = {
    options: {},
    chain: async () => CHAIN as unknown as Chain,
    resign: async (answer: Answer | BatchAnswer) => {
      if ('results' in answer) return this.batch(answer.results.map(dataOf))
      return this.sign(dataOf(answer), this.nonce)
    },
    verify: async (answer: Answer) => {
      const found = this.landed.find(({ data }) => data === dataOf(answer))
      const landed = found ? { status: 'landed', uid: found.uid, transactionHash: '0x1', blockNumber: 1 } : {}
      return { landed: { status: 'not landed', ...landed }, nonce: { current: this.nonce } }
    },
  } as unknown as Context

  readonly wallet = {
    request: async ({ method, params: [first] = [] }: { method: string; params?: any[] }) => {
      switch (method) {
        case 'eth_chainId':
          return '0x1'
        case 'eth_requestAccounts':
          return [ZERO_ADDRESS]
        case 'eth_call':
          if (first.data.startsWith(selector('getNonce(address)')) && this.hangs())
            return new Promise(() => {})
          return this.call(first.data)
        case 'eth_sendTransaction':
          return this.send(first.data)
        default:
          return this.receipts.get(first) ?? null
      }
    },
  }

  private call(data: Hex): Hex {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data }) as any
    if (functionName === 'getNonce')
      return encodeFunctionResult({ abi: ABI, functionName, result: BigInt(this.nonce) })
    if (functionName === 'getAttestation') {
      const found = this.landed.find(({ uid }) => uid === args[0])!
      const times = { time: BigInt(TIME), expirationTime: 0n, revocationTime: 0n }
      const accounts = { recipient: ZERO_ADDRESS, attester: KEY.address }
      const result = { ...found, ...times, ...accounts, schema: SCHEMA, refUID: ZERO_HASH, revocable: true }
      return encodeFunctionResult({ abi: ABI, functionName, result })
    }
    this.accepted(functionName, args)
    return '0x'
  }

  /** Returns the data of the attestations that a call makes. Throws if EAS rejects it. */
  private accepted(name: string, args: any): Hex[] {
    const requests = name === 'attestByDelegation' ? [args[0]] : args[0]
    const reverted = (error: string) => Object.assign(new Error('revert'), { data: selector(`${error}()`) })
    if (this.denies) throw reverted('AccessDenied')
    let { nonce } = this
    return requests.flatMap(({ deadline, signature, signatures = [signature] }: any) => {
      if (Number(deadline) < this.now) throw reverted('DeadlineExpired')
      return signatures.map(({ r, s }: { r: string; s: string }) => {
        const signed = this.signed.get(r + s)!
        if (signed.nonce !== nonce++) throw reverted('InvalidSignature')
        return signed.data
      })
    })
  }

  private send(data: Hex): Hex {
    const { functionName, args } = decodeFunctionData({ abi: ABI, data }) as any
    const made = this.accepted(functionName, args).map((content) => this.attest(content))
    const hash = keccak256(toHex(`transaction ${this.nonce}`))
    const topics = [ATTESTED, ZERO_HASH, `0x${KEY.address.slice(2).padStart(64, '0')}`, SCHEMA]
    const logs = made.map((uid) => ({ address: EAS, topics, data: uid }))
    this.receipts.set(hash, { status: '0x1', blockNumber: '0x1', logs })
    if (this.crashes) throw new Error('connection lost')
    return hash
  }

  attest(data: Hex): Hex {
    const uid = keccak256(encodeAbiParameters([{ type: 'uint256' }], [BigInt(this.nonce++)]))
    this.landed.push({ uid, data })
    return uid
  }
}

const resultOf = (inputRef: string) =>
  encodeBooleanResult(true, {
    ...{ timestamp: TIME, operation: 'within', inputRefs: [inputRef.padEnd(66, '0'), ZERO_HASH] },
  }) as Hex
const dataOf = ({ attestation }: Pick<Answer, 'attestation'>) => attestation.data as Hex

hunt('answers of batches land once, in any order and grouping', 20, async ({ random, cases }) => {
  const below = (limit: number) => Math.floor(random() * limit)
  let landings = 0
  for (let each = 0; each < cases; each++) {
    const world = new World()
    let question = 0
    const batches: BatchAnswer[] = []
    let answer: Answer | BatchAnswer | undefined
    for (let step = 0; step < 12; step++) {
      world.crashes = below(8) === 0
      if (below(6) === 0) world.attest(`${OTHER}${step}`)
      if (below(8) === 0) world.now += 101
      if (batches.length === 0 || below(8) === 0) {
        const inputRefs = [ZERO_HASH, ZERO_HASH]
        const data = Array.from({ length: 1 + below(5) }, () =>
          encodeBooleanResult(true, { timestamp: TIME, operation: `within:${++question}`, inputRefs }),
        )
        batches.push(signedFirst(await world.batch(data as Hex[])))
      }
      // Often repeats the last landing, as after a crash.
      if (!answer || below(2) === 0) {
        const batch = batches[below(batches.length)]!
        const start = below(batch.results.length)
        const some = batch.results.slice(start, start + 1 + below(3))
        const list = { chainId: 1, results: some } as BatchAnswer
        const again = await world.context.resign(batch)
        answer = [batch, list, again, some[0] as Answer, some[0] as Answer][below(5)]!
      }
      const asked = 'results' in answer ? answer.results : [answer]
      const landed = await landAnswer(world.context, answer, world.wallet).catch((error: Error) => error)
      const all = world.landed.map(({ data }) => data).filter((data) => !data.startsWith(OTHER))
      expect(new Set(all).size, JSON.stringify([each, step])).toBe(all.length)
      if (landed instanceof Error) continue
      landings++
      expect([landed].flat().map(({ uid }) => uid)).toEqual(
        asked.map((one) => world.landed.find(({ data }) => data === dataOf(one))?.uid),
      )
    }
  }
  expect(landings).toBeGreaterThan(cases)
})

test('direct answers that land in parallel are re-signed at most once each', { tags: ['slow'] }, async () => {
  const world = new World()
  const answers: Answer[] = []
  for (let i = 0; i < 25; i++)
    answers.push((await world.batch([resultOf(toHex(i, { size: 32 }))])).results[0] as unknown as Answer)
  const onStep = vi.fn()
  await Promise.all(answers.map((each) => landAnswer(world.context, each, world.wallet, { onStep })))
  expect(world.landed.map(({ data }) => data).sort()).toEqual(answers.map(dataOf).sort())
  // 24 new signatures, and 25 transactions.
  expect(onStep).toHaveBeenCalledTimes(49)
})

test.each([
  [1, 1],
  [21, 2],
])('%i direct answers that two accounts land at once need %i transactions', async (count, needed) => {
  const world = new World()
  const batch = await world.batch(Array.from({ length: count }, (_, i) => resultOf(toHex(i, { size: 32 }))))
  let sent = 0
  // A transaction is in a block once its receipt is read.
  const account = () => {
    let pending: Parameters<typeof world.wallet.request>[0]
    const request: typeof world.wallet.request = async (call) => {
      if (call.method === 'eth_sendTransaction') return ((pending = call), sent++, resultOf('0x02'))
      if (call.method !== 'eth_getTransactionReceipt') return world.wallet.request(call)
      return world.wallet.request({ ...call, params: [await world.wallet.request(pending)] })
    }
    return { request }
  }
  const landings = [account(), account()].map((each) => landAnswer(world.context, batch, each))
  const [first, second] = await Promise.all(landings)
  expect([first, second].flat().map(({ already }: any) => already)).toEqual([
    ...Array<boolean>(count).fill(false),
    ...Array<boolean>(count).fill(true),
  ])
  expect(sent).toBe(needed)
})

test('an abort ends the turn of a direct answer whose endpoint hangs', async () => {
  const world = new World()
  const { results } = await world.batch(['0x01', '0x02'].map(resultOf))
  const [first, second] = results as [Answer, Answer]
  const controller = new AbortController()
  let reads = 0
  let next: Promise<unknown> | undefined
  // The first read looks for a landing, the second one for the reason why the contract rejects the answer.
  world.hangs = () => {
    if (++reads !== 2) return false
    next = landAnswer(world.context, first, world.wallet)
    controller.abort()
    return true
  }
  const { signal } = controller
  await expect(landAnswer(world.context, second, world.wallet, { signal })).rejects.toThrow()
  expect(await next).toMatchObject({ uid: world.landed[0]!.uid })
})

test('an answer that another account lands before the call of a smart account, which then fails, is found', async () => {
  const world = new World()
  const { results } = await world.batch(['0x01', '0x02'].map(resultOf))
  const [first, second] = results as [Answer, Answer]
  const request: typeof world.wallet.request = async (call) => {
    const answer = await world.wallet.request(call)
    if (call.method !== 'eth_getTransactionReceipt') return answer
    return { ...(answer as object), logs: [] }
  }
  const landing = landAnswer(world.context, first, { request })
  expect(await landing).toMatchObject({ uid: world.landed[0]!.uid, already: true })
  const fails: typeof request = async (call) => {
    if (call.method !== 'eth_sendTransaction') return request(call)
    const hash = await world.wallet.request(call)
    world.landed.pop()
    world.nonce--
    return hash
  }
  const sent = { name: 'LandingError', transactionHash: expect.any(String) as string }
  await expect(landAnswer(world.context, second, { request: fails })).rejects.toMatchObject(sent)
  const cause = new ConnectionError('down')
  const context = { ...world.context, verify: () => Promise.reject(cause) }
  await expect(landAnswer(context, second, { request: fails })).rejects.toMatchObject({ ...sent, cause })
})

test.each([
  ['has read an earlier nonce', { status: 'not landed' }],
  ['has found an attestation that the endpoint lacks', { status: 'landed' }],
])('a direct answer is not sent while the service %s', async (_, landed) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const world = new World()
  const uid = world.attest(OTHER)
  const [answer] = (await world.batch([resultOf('0x01')])).results as [Answer]
  const verify = vi.fn(async () => ({ landed: { ...landed, uid }, nonce: { current: 0 } }))
  const context = { ...world.context, verify } as unknown as Context
  const landing = expect(landAnswer(context, answer, world.wallet)).rejects.toMatchObject({
    name: 'UncertainError',
  })
  await vi.advanceTimersByTimeAsync(1_999)
  expect(verify).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(1)
  await landing
  expect([verify.mock.calls.length, world.landed.length]).toEqual([3, 1])
})

test.each([true, false])(
  'an answer whose transaction was replaced has landed if that one did: %s',
  async (did) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const world = new World()
    const [answer] = (await world.batch([resultOf('0x01')])).results as [Answer]
    let looks = 0
    const request: typeof world.wallet.request = async (call) => {
      if (call.method === 'eth_sendTransaction' && did) await world.wallet.request(call)
      if (call.method === 'eth_sendTransaction') return ZERO_HASH
      if (call.method === 'eth_getTransactionByHash')
        return looks++ ? null : { from: ZERO_ADDRESS, nonce: '0x5' }
      return call.method === 'eth_getTransactionCount' ? '0x6' : world.wallet.request(call)
    }
    const landing = landAnswer(world.context, answer, { request })
    const ended = did
      ? expect(landing).resolves.toMatchObject({ already: true })
      : expect(landing).rejects.toMatchObject({ name: 'LostTransactionError', reason: 'replaced' })
    await vi.advanceTimersByTimeAsync(90_000)
    await ended
  },
)

test('an answer that landed is found although its contract denies the attester since then', async () => {
  const world = new World()
  const { results } = await world.batch(['0x01', '0x02'].map(resultOf))
  const [first, second] = results as [Answer, Answer]
  const { uid } = (await landAnswer(world.context, first, world.wallet)) as Landed
  world.denies = true
  expect(await landAnswer(world.context, first, world.wallet)).toMatchObject({ uid, already: true })
  await expect(landAnswer(world.context, second, world.wallet)).rejects.toMatchObject({
    name: 'LandingError',
    contractError: 'AccessDenied',
  })
})

test('an answer that the service refuses to re-sign ends in a LandingError, but not behind a firewall', async () => {
  const world = new World()
  const [answer] = (await world.batch([resultOf('0x01')])).results as [Answer]
  world.now += 101
  const own = new VerificationFailedError({ status: 401, title: 'Verification Failed', detail: 'x' })
  const foreign = apiError(403, '<html>Request blocked</html>')
  const land = (error: Error) => {
    const context = { ...world.context, resign: () => Promise.reject(error) }
    return landAnswer(context, answer, world.wallet)
  }
  await expect(land(own)).rejects.toMatchObject({
    ...{ name: 'LandingError', contractError: 'DeadlineExpired', cause: own },
  })
  await expect(land(foreign)).rejects.toBe(foreign)
})

test.each(['unknown', undefined])(
  'an answer whose landing is unknown after a lost response ends in an UncertainError: %s',
  async (status) => {
    vi.useFakeTimers()
    try {
      const world = new World()
      const [answer] = (await world.batch([resultOf('0x01')])).results as [Answer]
      const verify = async () => ({ landed: status && { status }, nonce: { current: 1 } })
      const context = { ...world.context, verify } as unknown as Context
      world.crashes = true
      const landing = expect(landAnswer(context, answer, world.wallet)).rejects.toMatchObject({
        ...{ name: 'UncertainError', retryable: false },
        message: expect.not.stringContaining('Nothing was sent') as string,
      })
      await vi.advanceTimersByTimeAsync(3_000)
      await landing
      expect(world.landed).toHaveLength(1)
    } finally {
      vi.useRealTimers()
    }
  },
)

test('an answer of a contract that the service does not describe at the moment ends in a ConnectionError', async () => {
  const world = new World()
  const [answer] = (await world.batch([resultOf('0x01')])).results as [Answer]
  const context = { ...world.context, chain: async () => ({ ...CHAIN, domain: undefined }) } as never
  await expect(landAnswer(context, answer, world.wallet)).rejects.toThrow(ConnectionError)
})
