import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { TypedDataEncoder, Wallet, toBeHex, zeroPadValue } from 'ethers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { attestDigest, attestTypedData, domainSeparator, type AttestMessage } from '../../../src/eas'
import { UnavailableError } from '../../http/problems'
import { remoteSigner } from './remote'
import { sentence, testSentences } from '../../../test/sentences'

const KEY = new Wallet(`0x${'11'.repeat(32)}`)
const OTHER = new Wallet(`0x${'12'.repeat(32)}`)
const ADDRESS = KEY.address.toLowerCase()
const SLOW_MS = 600_000

const DOMAIN = { name: 'EAS', version: '1.2.0', chainId: 84532, verifyingContract: `0x${'42'.repeat(20)}` }
const message = (nonce: number): AttestMessage => ({
  ...{ attester: ADDRESS, schema: `0x${'ab'.repeat(32)}`, recipient: OTHER.address, expirationTime: 0n },
  ...{
    revocable: true,
    refUID: `0x${'00'.repeat(32)}`,
    data: '0x1234',
    value: 0,
    nonce,
    deadline: 1_700_000_000,
  },
})
const digestOf = (nonce: number) => attestDigest(domainSeparator(DOMAIN), 'v2', message(nonce))
const typedOf = (nonce: number) => () => attestTypedData(DOMAIN, 'v2', message(nonce))

interface Call {
  id: number
  method: string
  params: [string, any]
}
type Answer =
  | { result: unknown }
  | { error: { code: number; message: string } }
  | { status: number }
  | 'drop'
  | undefined
const UNKNOWN: Answer = { error: { code: -32601, message: 'Method not found' } }
const LIMITED = { error: { code: -32005, message: 'Limit exceeded' } }

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Starts a JSON-RPC signer with the given results; undefined means that it does not respond. */
async function service(
  answer: (call: Call) => Answer,
  port = 0,
): Promise<{ url: string; calls: Call[]; close: () => Promise<void> }> {
  const calls: Call[] = []
  const server: Server = createServer((request, response) => {
    void json(request).then((body) => {
      const call = body as Call
      calls.push(call)
      const given = answer(call)
      if (!given) return
      if (given === 'drop') return request.socket.destroy()
      const status = 'status' in given ? given.status : 200
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...given }))
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  closing.push(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, close }
}
/** Signs typed data with ethers. */
function signed({ domain, types: { EIP712Domain: _, ...types }, message }: any, by = KEY) {
  return by.signingKey.sign(TypedDataEncoder.hash(domain, types, message))
}
const v4 =
  (sign: (data: any) => unknown = (data) => signed(data).serialized) =>
  ({ method, params }: Call): Answer =>
    method === 'eth_signTypedData_v4' ? { result: sign(params[1]) } : UNKNOWN

describe('a signing service', () => {
  test.each<[string, (call: Call) => Answer, number]>([
    ['eth_signTypedData_v4', v4(), 1],
    [
      'eth_signTypedData with the data in a text (Web3Signer)',
      ({ method, params }) =>
        method === 'eth_signTypedData' && typeof params[1] === 'string'
          ? { result: signed(JSON.parse(params[1])).serialized }
          : UNKNOWN,
      2,
    ],
    [
      'account_signTypedData (Clef)',
      ({ method, params }) =>
        method === 'account_signTypedData' ? { result: signed(params[1]).serialized } : UNKNOWN,
      3,
    ],
    [
      'a method that signs incorrectly, before a correct one',
      ({ method, params }) =>
        method === 'eth_signTypedData'
          ? { result: signed(JSON.parse(params[1])).serialized }
          : { result: signed(params[1], OTHER).serialized },
      2,
    ],
  ])('is supported: %s', async (_, answer, tries) => {
    const { url, calls } = await service(answer)
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    expect(signer.notReady()).toBeUndefined()
    // The trial has found the supported method, so each signature takes one call from now on.
    expect(calls).toHaveLength(tries)
    for (const nonce of [1, 2]) {
      const digest = await digestOf(nonce)
      expect(await signer.sign(digest, typedOf(nonce))).toBe(KEY.signingKey.sign(digest).serialized)
    }
    expect(calls).toHaveLength(tries + 2)
    expect(calls.at(-1)!.params[0]).toBe(ADDRESS)
  })
  test('may return signatures with the higher s, or v 0 or 1, which become canonical', async () => {
    const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const { url } = await service(
      v4((data) => {
        const { r, s, yParity } = signed(data)
        return `${r}${zeroPadValue(toBeHex(ORDER - BigInt(s)), 32).slice(2)}0${1 - yParity}`
      }),
    )
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    const digest = await digestOf(7)
    expect(await signer.sign(digest, typedOf(7))).toBe(KEY.signingKey.sign(digest).serialized)
  })
})

describe('a remote signer', () => {
  test.each<[string, (call: Call) => Answer, unknown]>([
    ['a signature of another key', v4((data) => signed(data, OTHER).serialized), sentence()],
    [
      'a signature of other data',
      v4((data) => signed({ ...data, domain: { ...data.domain, chainId: 1_000_000 } }).serialized),
      sentence(),
    ],
    ['zeros', v4(() => `0x${'00'.repeat(65)}`), sentence()],
    ['a result that is not a signature', v4(() => ({ no: 'signature' })), sentence()],
    ['an unknown account', () => UNKNOWN, sentence()],
    ['an HTTP error', () => ({ status: 502 }), sentence()],
  ])('refuses %s', async (_, answer, problem) => {
    const { url } = await service(answer)
    const told: (string | undefined)[] = []
    const signer = await remoteSigner(url, ADDRESS, {
      timeoutMs: SLOW_MS,
      onChange: (...change) => told.push(...change),
    })
    expect(signer.notReady()).toEqual(problem)
    await expect(signer.sign(await digestOf(1), typedOf(1))).rejects.toThrow(UnavailableError)
    await expect(signer.sign(await digestOf(1), typedOf(1))).rejects.toThrow(problem)
    // The error is reported once, not for each request.
    expect(told).toEqual([problem, expect.any(String)])
  })
  test('tolerates an idle connection that the service closed', async () => {
    const drops = [false, true, false]
    const { url, calls } = await service((call) => (drops[calls.length - 1] ? 'drop' : v4()(call)))
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    const digest = await digestOf(1)
    expect(await signer.sign(digest, typedOf(1))).toBe(KEY.signingKey.sign(digest).serialized)
    expect(calls).toHaveLength(3)
  })
  test('does not repeat a call beyond the time limit of the signature', async () => {
    let ahead = 0
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
    closing.push(async () => clock.mockRestore())
    const { url, calls } = await service((call) => {
      if (calls.length === 1) return v4()(call)
      if (calls.length > 2) return undefined
      ahead = SLOW_MS
      return 'drop'
    })
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    await expect(signer.sign(await digestOf(1), typedOf(1))).rejects.toThrow(UnavailableError)
  })
  test('finds the supported method of a service that replaced another, in the same signature', async () => {
    let method = 'eth_signTypedData_v4'
    const { url, calls } = await service((call) =>
      call.method === method ? { result: signed(call.params[1]).serialized } : UNKNOWN,
    )
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    method = 'account_signTypedData'
    const digest = await digestOf(1)
    for (const count of [4, 5]) {
      expect(await signer.sign(digest, typedOf(1))).toBe(KEY.signingKey.sign(digest).serialized)
      expect(calls).toHaveLength(count)
    }
  })
  test('asks no other method while the service refuses to sign, by a rule or a rate limit', async () => {
    let isLimited = false
    const { url, calls } = await service((call) => {
      if (call.method !== 'account_signTypedData') return UNKNOWN
      return isLimited ? LIMITED : { result: signed(call.params[1]).serialized }
    })
    const signer = await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS })
    const digest = await digestOf(1)
    isLimited = true
    for (const count of [4, 5]) {
      await expect(signer.sign(digest, typedOf(1))).rejects.toThrow(UnavailableError)
      expect(calls).toHaveLength(count)
    }
    isLimited = false
    expect(await signer.sign(digest, typedOf(1))).toBe(KEY.signingKey.sign(digest).serialized)
    expect(calls).toHaveLength(6)
  })
  test('logs the refusal of the service, not an unknown method', async () => {
    const { url } = await service(({ method }) => (method === 'account_signTypedData' ? LIMITED : UNKNOWN))
    const details: (string | undefined)[] = []
    const onChange = (_problem?: string, detail?: string) => details.push(detail)
    await remoteSigner(url, ADDRESS, { timeoutMs: SLOW_MS, onChange })
    expect(details).toEqual([LIMITED.error.message])
  })
  test('reports the start and the end of an outage', async () => {
    const up = await service(v4())
    const told: (string | undefined)[] = []
    const signer = await remoteSigner(up.url, ADDRESS, {
      timeoutMs: SLOW_MS,
      onChange: (problem) => told.push(problem),
    })
    await up.close()
    const digest = await digestOf(1)
    await expect(signer.sign(digest, typedOf(1))).rejects.toThrow(UnavailableError)
    expect(signer.notReady()).toEqual(sentence())
    await service(v4(), Number(new URL(up.url).port))
    expect(await signer.sign(digest, typedOf(1))).toBe(KEY.signingKey.sign(digest).serialized)
    expect([signer.notReady(), told]).toEqual([undefined, [sentence(), undefined]])
  })
  test(
    'times out with its wait for a slot included, and refuses further signatures',
    { tags: ['slow'] },
    async () => {
      const { url, calls } = await service(() => undefined)
      // The counter starts before the trial, which calls the signer once.
      const signer = await remoteSigner(url, ADDRESS, { timeoutMs: 100 })
      expect(signer.notReady()).toEqual(sentence())
      const digest = await digestOf(1)
      const answers = await Promise.allSettled(
        Array.from({ length: 400 }, (_, i) => signer.sign(digest, typedOf(1), `client ${i % 8}`)),
      )
      const reasons = answers.map((each) =>
        each.status === 'rejected' ? (each.reason as Error).message : '',
      )
      const kinds = [...new Set(reasons)]
      expect(kinds).toEqual([sentence(), sentence()])
      const counts = kinds.map((kind) => reasons.filter((reason) => reason === kind).length)
      expect(counts.sort()).toEqual([400 - 32 - 256, 32 + 256])
      // Signatures that timed out in the queue made no call.
      expect(calls.length).toBeLessThan(1 + 32 + 256)
    },
  )
})

testSentences()
