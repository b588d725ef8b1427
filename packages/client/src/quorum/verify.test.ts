// SPDX-License-Identifier: MIT
import { encodeAbiParameters, domainSeparator, hashTypedData, parseAbiParameters } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeBooleanResult } from '../../../../src/eas'
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import {
  INCLUSION_SECONDS,
  encodeEntry,
  formatProof,
  formatVerifierKey,
  leafHash,
  toHex,
} from '../../../../src/tlog'
import { MemoryLog, seededKey } from '../../../../test/tlog'
import { ZERO_HASH } from '../eas'
import { ZERO_ADDRESS } from '../says'
import { createGeo } from '../geo'
import type { GeoOptions } from '../context'
import type { Answer, QuorumAnswer } from '../types'

const accounts = [1, 2, 3].map((digit) => privateKeyToAccount(`0x${`${digit}`.repeat(64)}`))
const [EAS, QUORUM, OTHER] = ['e', '9', '8'].map((digit) => `0x${digit.repeat(40)}` as const)
const [UID, SCHEMA] = [`0x${'7'.repeat(64)}`, `0x${'5'.repeat(64)}`] as const
const now = Math.floor(Date.now() / 1000)
/** Error of a service that has no such resource. */
const NOT_FOUND = { status: 'error', message: 'Not found' }
const urls = ['http://one', 'http://two', 'http://three']

/** An answer that operators 0 and 2 have signed, and the logs of all operators. */
async function world(by = now - 1) {
  const claims = { operation: 'contains', timestamp: now - 61, inputRefs: [UID, SCHEMA] }
  const content = {
    ...{ schema: SCHEMA, recipient: ZERO_ADDRESS, expirationTime: 0, revocable: true, refUID: ZERO_HASH },
    ...{ data: encodeBooleanResult(true, claims), deadline: now + 600, epoch: 4 },
  }
  const domain = { name: 'GeoQuorum', version: '1', chainId: 84532, verifyingContract: QUORUM }
  const typed = { domain, types: { Answer: QUORUM_FIELDS }, primaryType: 'Answer', message: content } as never
  const signatures = await Promise.all([0, 2].map((i) => accounts[i]!.signTypedData(typed)))
  const logs = await Promise.all(
    urls.map(async (url, i) => new MemoryLog(await seededKey(url.slice(7), 'ed25519', i))),
  )
  const entries = [0, 2].map((index, i) =>
    encodeEntry({
      ...{ ...content, kind: 'quorum', layout: 'quorum', chainId: 84532, nonce: 4 },
      ...{ separator: domainSeparator({ domain }), time: by - INCLUSION_SECONDS },
      ...{ attester: accounts[index]!.address.toLowerCase(), signature: signatures[i]! },
    }),
  )
  for (const [i, index] of [0, 2].entries())
    await logs[index]!.append(Buffer.from('another'), entries[i]!).sign()
  const answer: QuorumAnswer = {
    ...{ ...claims, result: true, chainId: 84532, quorum: QUORUM!, answer: content, dissent: [] },
    ...{ digest: hashTypedData(typed), signers: '0x5' },
    signatures: `0x${signatures.map((each) => each.slice(2)).join('')}`,
    operators: [0, 2].map((index, i) => ({
      ...{ url: urls[index]!, index, operator: accounts[index]!.address },
      log: { origin: urls[index]!.slice(7), leaf: toHex(leafHash(entries[i]!)), by },
    })),
  }
  return { answer, logs }
}

describe('an answer of a quorum', () => {
  let { answer, logs } = {} as Awaited<ReturnType<typeof world>>
  let epoch: object
  beforeAll(async () => void ({ answer, logs } = await world()))
  beforeEach(() => {
    const operators = accounts.map(({ address }) => address)
    epoch = { epoch: 4, validFrom: 1, validUntil: 2 ** 40, threshold: 2, operators }
  })
  const down = new Set<string>()
  beforeEach(() => down.clear())
  let padding = ''
  let listed: ((request: Request) => Response | Promise<Response>) | undefined
  beforeEach(() => (listed = undefined))
  const asked: Request[] = []
  beforeEach(() => void asked.splice(0))
  const service = async (request: Request) => {
    const { origin, pathname } = new URL(request.url)
    asked.push(request)
    if (down.has(origin + pathname)) return Response.json(NOT_FOUND, { status: 404 })
    if (pathname.startsWith('/compute/')) return Response.json({ title: 'busy' }, { status: 503 })
    if (down.has(origin)) throw new Error('unreachable')
    const log = logs[urls.indexOf(origin)]!
    const leaf = /^\/log\/v0\/proof\/(.*)$/.exec(pathname)?.[1]
    if (pathname === '/log/v0/')
      return Response.json({ policy: `log ${formatVerifierKey(log.key)}\nquorum none\n`, padding })
    if (pathname === '/quorum/v0' && listed) return listed(request)
    if (pathname === '/quorum/v0') return Response.json([{ chainId: 84532, quorum: QUORUM, epochs: [epoch] }])
    if (leaf === undefined) {
      const chain = { id: 84532, slug: 'base-sepolia', attester: OTHER, eas: EAS, proxy: null }
      return Response.json({ chains: [chain], defaultSchemas: { boolean: SCHEMA } })
    }
    const index = log.entries.findIndex((entry) => toHex(leafHash(entry)) === leaf)
    return index < 0
      ? Response.json(NOT_FOUND, { status: 404 })
      : new Response(formatProof({ index, hashes: await log.inclusion(index) }, log.note))
  }
  const geo = (options: Partial<GeoOptions> = {}) =>
    createGeo({ url: urls[1]!, retries: 0, fetch: service as typeof fetch, ...options })

  test('is included in the log of each operator that signed', async () => {
    const { address } = accounts[0]!
    const either = answer as Answer | QuorumAnswer
    expect(await geo().logged(either)).toMatchObject([
      { url: urls[0], index: 0, operator: address, log: { state: 'included', index: 1, size: 2 } },
      { url: urls[2], index: 2, log: { state: 'included' } },
    ])
    expect(await geo().verifyQuorum(answer)).toMatchObject({ valid: true, problems: [] })
  })

  test('is included if its content has another form or further members', async () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
    const { data, deadline } = answer.answer
    const content = { ...answer.answer, data: upper(data), deadline: `${deadline}`, time: 1, kind: 'answer' }
    const other = { ...answer, answer: content, signatures: upper(answer.signatures) }
    expect(await geo().logged(other as unknown as QuorumAnswer)).toMatchObject(
      [0, 2].map((index) => ({ index, log: { state: 'included' } })),
    )
  })

  test('is missing in the log of an operator that names no entry, or the entry of another operator', async () => {
    const [first, second] = answer.operators!
    const stateOf = async (changed: object) => {
      const [, state] = await geo().logged({ ...answer, operators: [first!, { ...second!, ...changed }] })
      return state
    }
    for (const changed of [{ log: undefined }, { log: first!.log }])
      expect(await stateOf(changed)).toMatchObject({ log: { state: 'missing' } })
    down.add('http://three/log/v0/')
    expect(await stateOf({ log: undefined })).not.toHaveProperty('log')
    down.clear()
    down.add('http://three')
    expect(await stateOf({})).toMatchObject({ problem: expect.any(String) })
    expect((await geo().verifyQuorum(answer)).problems).toHaveLength(1)
  })

  test('is missing if the named entry is later than the signature can be', async () => {
    const stateOf = async (by: number) => {
      const { answer } = await world(by)
      return geo().logged(answer)
    }
    expect(await stateOf(now - 1 + 180)).toMatchObject([0, 2].map(() => ({ log: { state: 'pending' } })))
    expect(await stateOf(now - 1 + 181)).toMatchObject([0, 2].map(() => ({ log: { state: 'missing' } })))
  })

  test('has an unknown state in a log whose response is larger than a megabyte', async () => {
    padding = 'x'.repeat(1_000_000)
    const logged = await geo().logged(answer)
    padding = ''
    expect(logged).toMatchObject([0, 1].map(() => ({ problem: expect.any(String) as unknown })))
  })

  test('is missing if a policy is set and it does not name the services of its operators', async () => {
    const { operators: _, ...old } = answer
    expect(await geo().logged(old)).toMatchObject([{ index: 0 }, { index: 2 }])
    expect(await geo().verifyQuorum(old)).toMatchObject({ valid: true })
    const policy = `log ${formatVerifierKey(logs[0]!.key)}\nquorum none\n`
    expect(await geo().logged(old, { policy })).toMatchObject(
      [0, 2].map(() => ({ log: { state: 'missing' } })),
    )
  })

  test('names services that are read only for operators of the quorum, once and without the wallet', async () => {
    const toOperators = () => asked.filter(({ url }) => !url.startsWith(urls[1]!))
    const known = epoch
    epoch = { ...known, operators: [] }
    expect(await geo().verifyQuorum(answer)).toMatchObject({ valid: false, operators: [{}, {}] })
    expect(toOperators()).toEqual([])
    epoch = known
    const operators = answer.operators!.map((each) => ({ ...each, url: `${each.url}/compute/` }))
    const state = await geo({ retries: 3, wallet: accounts[0]! }).logged({ ...answer, operators })
    expect(state).toMatchObject([0, 2].map(() => ({ problem: expect.any(String) as string })))
    expect(toOperators().map(({ headers }) => headers.has('x-signature'))).toEqual([false, false])
  })

  test('is verified without the logs of its operators, even with a policy', async () => {
    const log = `log ${formatVerifierKey(logs[1]!.key)}\nquorum none\n`
    const client = geo({ log })
    expect(await client.verifyQuorum(answer)).toMatchObject({ valid: false })
    asked.splice(0)
    expect(await client.verifyQuorum(answer, { logs: false })).toMatchObject({
      ...{ valid: true, problems: [], operators: [{ index: 0 }, { index: 2 }] },
    })
    expect(asked.filter(({ url }) => !url.startsWith(urls[1]!))).toEqual([])
    epoch = { ...epoch, operators: [] }
    expect(await client.verifyQuorum(answer, { logs: false })).toMatchObject({ valid: false })
  })

  test('is not valid if it was altered', async () => {
    const content = answer.answer
    for (const changed of [
      { result: false },
      { result: 'true' },
      { timestamp: String(answer.timestamp) },
      { signatures: `${answer.signatures.slice(0, 132)}\n${answer.signatures.slice(132)}` },
      { signatures: `1x${answer.signatures.slice(2)}` },
      { answer: { ...content, deadline: content.deadline + 1 } },
      { quorum: OTHER },
      { signers: '0x7' },
      { signers: '0x6' },
      { signers: 'x' },
      { signatures: `0x${answer.signatures.slice(2, 132).repeat(2)}`, operators: undefined },
      { signatures: [answer.signatures] },
      { signatures: answer.signatures.replace('0x', '0X') },
      { signatures: answer.signatures.replace(/1[bc]$/, (v) => (v === '1b' ? '00' : '01')) },
      { signers: '0x1', operators: undefined },
      { signers: '0x0', signatures: '0x', operators: undefined },
      { signers: '5' },
      { digest: SCHEMA },
      { operators: answer.operators!.map((each) => ({ ...each, operator: OTHER })) },
      { operators: {} },
      { operators: null },
      { operators: [answer.operators![0], { ...answer.operators![1], url: undefined }] },
      { answer: null },
      { answer: undefined },
      { signers: `0x${'f'.repeat(65)}` },
    ]) {
      const altered = { ...answer, ...changed } as QuorumAnswer
      await expect(geo().logged(altered)).rejects.toMatchObject({
        ...{ name: 'AlteredAnswerError', message: expect.not.stringMatching('Cannot read') as string },
      })
      expect(await geo().verifyQuorum(altered)).toMatchObject({ valid: false, operators: [] })
    }
  })

  test('is not valid for another contract, unknown operators, or too few of them', async () => {
    const isValid = async (options?: Partial<GeoOptions>) => (await geo(options).verifyQuorum(answer)).valid
    expect(await isValid({ attester: QUORUM })).toBe(true)
    expect(await isValid({ attester: OTHER })).toBe(false)
    const known = epoch
    for (const changed of [
      { epoch: 5 },
      { threshold: 3 },
      {
        operators: accounts
          .map(({ address }) => address)
          .reverse()
          .with(1, OTHER!)
          .with(0, OTHER!),
      },
    ]) {
      epoch = { ...known, ...changed }
      expect([changed, await isValid()]).toEqual([changed, false])
    }
    const isUnknown = async (options?: Partial<GeoOptions>) =>
      (await geo(options).verifyQuorum(answer)).unknown
    expect(await isUnknown()).toBe(false)
    epoch = { ...known, epoch: 5 }
    expect(await isUnknown()).toBe(true)
    expect(await isUnknown({ attester: OTHER })).toBe(false)
    epoch = known
    down.add('http://three')
    expect(await isUnknown()).toBe(true)
    down.add('http://one/log/v0/')
    expect(await isUnknown()).toBe(false)
    down.clear()
    down.add('http://two/quorum/v0')
    expect(await isValid()).toBe(false)
    expect(await isValid({ attester: QUORUM })).toBe(false)
    expect(await isUnknown({ attester: QUORUM })).toBe(true)
  })

  /** Times from and until which the contract accepts answers of the epoch; undefined if it has no epoch. */
  let terms: [bigint, bigint] | undefined
  beforeEach(() => (terms = [1n, 2n ** 40n]))
  /** RPC endpoint of the chain, on which the answer has landed. */
  const node = {
    request: async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
      if (method === 'eth_chainId') return '0x14a34'
      const { to } = params[0] as { to: string }
      if (to === QUORUM && !terms) throw new Error('execution reverted')
      if (to === QUORUM)
        return encodeAbiParameters(parseAbiParameters('(uint64, uint64, uint8, address[])'), [
          [...terms!, 2, accounts.map(({ address }) => address)],
        ])
      const { recipient, data } = answer.answer
      return encodeAbiParameters(
        parseAbiParameters(
          '(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes) attestation',
        ),
        [
          [
            UID,
            SCHEMA,
            1n,
            0n,
            0n,
            ZERO_HASH,
            recipient as `0x${string}`,
            QUORUM!,
            true,
            data as `0x${string}`,
          ],
        ],
      )
    },
  }

  test('is verified with the operators that the contract lists', async () => {
    down.add('http://two/quorum/v0')
    const verified = () => geo({ attester: QUORUM }).verifyQuorum(answer, { provider: node })
    const valid = { valid: true, problems: [], unknown: false }
    expect(await verified()).toMatchObject(valid)
    terms = [BigInt(answer.timestamp), BigInt(answer.timestamp + 1)]
    expect(await verified()).toMatchObject(valid)
    terms = undefined
    expect(await verified()).toMatchObject({ valid: false, unknown: false })
  })

  test('is verified by the contract of the quorum, even if the service is unreachable', async () => {
    const quorum = await geo({ attester: OTHER }).quorum({ operators: urls, k: 2, contract: QUORUM })
    expect(await quorum.verify(answer)).toMatchObject({ valid: true, problems: [] })
    down.add('http://two')
    expect(await quorum.verify(answer, { provider: node })).toMatchObject({ valid: true, problems: [] })
    const other = await geo().quorum({ operators: urls, k: 2 })
    expect(await other.verify({ ...answer, quorum: OTHER! })).toMatchObject({ valid: false })
  })

  test.each([
    ['has ended', [1, now - 61]],
    ['was replaced before it started', [now - 600, 0]],
    ['has not started', [now - 60, 2 ** 40]],
  ])('is not valid if its epoch %s', async (_, [from, until]) => {
    terms = [BigInt(from!), BigInt(until!)]
    expect(await geo().verifyQuorum(answer, { provider: node })).toMatchObject({ valid: false })
    epoch = { ...epoch, validFrom: from, validUntil: until }
    expect(await geo().verifyQuorum(answer)).toMatchObject({ valid: false })
  })

  test('is valid on the chain if the service names its contract, or the client', async () => {
    const check = (options?: Partial<GeoOptions>, given: object = {}) =>
      geo(options).check(UID, { chain: 84532, provider: node, ...given })
    expect(await check()).toMatchObject({ valid: true, attester: QUORUM })
    expect(await check({}, { answer })).toMatchObject({ valid: true, operators: [{}, {}] })
    expect(await check({ attester: OTHER })).toMatchObject({ valid: false })
    const [first] = answer.operators!
    const unlogged = { ...answer, operators: [first, { ...answer.operators![1], log: undefined }] }
    expect(await check({}, { answer: unlogged })).toMatchObject({ valid: false })
    down.add('http://two/quorum/v0')
    expect(await check()).toMatchObject({ valid: false })
    expect(await check({ attester: QUORUM })).toMatchObject({ valid: true })
  })

  test('is not valid on the chain if the service does not name its quorums', async () => {
    const check = (signal?: AbortSignal) =>
      geo().check(UID, { chain: 84532, provider: node, ...(signal && { signal }) })
    for (const response of [
      ...[403, 500, 503].map((status) => () => Response.json({ title: 'x' }, { status })),
      ...[null, {}, 'x'].map((body) => () => Response.json(body)),
    ]) {
      listed = response
      expect(await check()).toMatchObject({ valid: false, problems: [{}, {}].map(() => expect.any(String)) })
    }
    const stop = new AbortController()
    listed = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
        stop.abort(new Error('stopped'))
      })
    await expect(check(stop.signal)).rejects.toThrow('stopped')
  })
})
