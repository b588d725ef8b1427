import { RpcError, type RpcClient } from '@subsquid/rpc-client'
import { AbiCoder, ZeroAddress, ZeroHash, hexlify, randomBytes, zeroPadValue } from 'ethers'
import { expect, test } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import * as eas from '../abi/EAS'
import * as aggregate from '../abi/Multicall3'
import { CHAINS } from '../chains'
import { attestationUid } from '../eas'
import { Rpc } from '../rpc'
import {
  BodyReader,
  FalseBodyError,
  MissingBodyError,
  attestationCall,
  bytesOf,
  decodeAttestation,
  multicall,
  multicallAnswers,
} from './bodies'

const abi = AbiCoder.defaultAbiCoder()
const STRUCT =
  'tuple(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data)'
const random = (bytes: number) => hexlify(randomBytes(bytes))
const made = (bytes: number) => ({
  ...{ uid: random(32), schema: random(32), time: BigInt(random(8)), expirationTime: BigInt(random(8)) },
  ...{ revocationTime: BigInt(random(8)), refUID: random(32), recipient: random(20), attester: random(20) },
  ...{ revocable: bytes % 2 === 0, data: bytes ? random(bytes) : '0x' },
})

test('the codec of bodies encodes calls like a general codec', () => {
  const address = random(20)
  for (const count of [0, 1, 2, 100]) {
    const uids = Array.from({ length: count }, () => random(32))
    const calls = uids.map((uid) => ({
      target: address,
      allowFailure: false,
      callData: attestationCall(uid),
    }))
    expect(multicall(address, uids)).toBe(aggregate.functions.aggregate3.encode({ calls }))
    for (const uid of uids) expect(attestationCall(uid)).toBe(eas.functions.getAttestation.encode({ uid }))
  }
})

test('the codec of bodies decodes results that ethers encoded', { tags: ['slow'] }, () => {
  const all = [0, 1, 31, 32, 33, 1_000, 70_000].map(made)
  const answers = all.map((each) => abi.encode([STRUCT], [each]))
  const results = abi.encode(
    ['tuple(bool success, bytes returnData)[]'],
    [answers.map((returnData) => ({ success: true, returnData }))],
  )
  const given = all.map(({ revocationTime, ...each }) => each)
  const decoded = (answer: Buffer) => {
    const { data, ...rest } = decodeAttestation(answer)
    return { ...rest, data: hexlify(data) }
  }
  expect(answers.map(bytesOf).map(decoded)).toEqual(given)
  expect(multicallAnswers(results, given.length).map(decoded)).toEqual(given)
})

test('the codec of bodies rejects a result that is truncated, or has offsets beyond its end', () => {
  const answer = bytesOf(abi.encode([STRUCT], [made(100)]))
  const far = bytesOf(zeroPadValue('0xffffffff', 32))
  for (let end = 0; end < answer.length - 28; end++)
    expect(() => decodeAttestation(answer.subarray(0, end))).toThrow(RangeError)
  for (const word of [0, 10, 11]) {
    for (const value of [far, Buffer.alloc(32, 255)]) {
      const wrong = Buffer.from(answer)
      value.copy(wrong, 32 * word)
      expect(() => decodeAttestation(wrong)).toThrow(RangeError)
    }
  }
  for (const text of ['', '0x', '0x00', `0x${'f'.repeat(64)}`, 'nonsense'])
    expect(() => multicallAnswers(text, 1)).toThrow(RangeError)
  // The response claims many results at the same offset. It is rejected before any result is read.
  const many = `0x${[32, 100_000].map((each) => each.toString(16).padStart(64, '0')).join('')}`
  expect(() => multicallAnswers(many + '0'.repeat(64 * 100_000), 100)).toThrow(FalseBodyError)
})

type Result = string | RpcError
/**
 * Reads bodies from endpoints without Multicall3 that return this result for each of them, and reports which
 * endpoints were queried.
 */
async function readFrom(times: ReadonlyMap<string, bigint>, results: readonly ((uid: string) => Result)[]) {
  const urls = results.map((_, i) => `http://endpoint-${i}.example`)
  const queried: number[] = []
  const clientOf = (i: number) =>
    ({
      call: (method: string) =>
        Promise.resolve(method === 'eth_getCode' ? '0x' : `0x${CHAINS[0]!.id.toString(16)}`),
      batchCall: async (calls: { params: [{ data: string }] }[]) => {
        queried.push(i)
        return calls.map(({ params: [{ data }] }) => {
          const result = results[i]!(`0x${data.slice(-64)}`)
          if (result instanceof RpcError) throw result
          return result
        })
      },
      close: () => {},
    }) as unknown as RpcClient
  const connect = ({ url }: { url: string }) => clientOf(urls.indexOf(url))
  const rpc = new Rpc({ chain: CHAINS[0]!, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, connect })
  const outcome = await new BodyReader(rpc, CHAINS[0]!.eas).read(times).then(
    (bodies) => [...bodies.keys()],
    (error: Error) => error,
  )
  return { outcome, queried }
}
const readOwn = (results: readonly Result[]) =>
  readFrom(
    new Map([[uid, body.time]]),
    results.map((result) => () => result),
  )

const resultOf = (body: ReturnType<typeof made>) => abi.encode([STRUCT], [body])
const NONE = resultOf({
  ...made(0),
  ...{ uid: ZeroHash, schema: ZeroHash, refUID: ZeroHash, recipient: ZeroAddress, attester: ZeroAddress },
})
const body = made(100)
const uid = attestationUid(body, 0)
const OWN = resultOf({ ...body, uid })
const FALSE = resultOf({ ...body, uid, recipient: random(20) })

test.each([1, 2])('the body reader reports a body as missing if %i endpoints refuse it', async (count) => {
  const refusal = () => new RpcError({ code: -32000, message: 'header not found' })
  const { outcome } = await readOwn(Array.from({ length: count }, refusal))
  expect(outcome).toBeInstanceOf(MissingBodyError)
})

test.each([1, 2, 3, 4])('the body reader reads a body that only one of %i endpoints has', async (count) => {
  for (let i = 0; i < count; i++)
    for (const other of [NONE, FALSE]) {
      const results = Array.from({ length: count }, (_, n) => (n === i ? OWN : other))
      expect(await readOwn(results)).toEqual({
        outcome: [uid],
        queried: Array.from({ length: i + 1 }, (_, n) => n),
      })
    }
})
test.each([
  [NONE, MissingBodyError],
  [FALSE, FalseBodyError],
])('the body reader queries every endpoint once before it fails', async (result, kind) => {
  const { outcome, queried } = await readOwn([result, result, result])
  expect([outcome, queried]).toEqual([expect.any(kind), [0, 1, 2]])
})

test.each([NONE, FALSE])(
  'the body reader reads bodies of which each endpoint lacks another one',
  async (other) => {
    const bodies = [1, 2, 3].map(() => made(100)).map((each) => ({ ...each, uid: attestationUid(each, 0) }))
    const honest = (asked: string) => resultOf(bodies.find((each) => each.uid === asked)!)
    const without = (i: number) => (asked: string) => (asked === bodies[i]!.uid ? other : honest(asked))
    const times = new Map(bodies.map((each) => [each.uid, each.time]))
    const { outcome } = await readFrom(times, [without(0), without(1), without(2)])
    expect(new Set(outcome as string[])).toEqual(new Set(times.keys()))
  },
)
