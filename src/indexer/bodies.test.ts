import { AbiCoder, hexlify, randomBytes, zeroPadValue } from 'ethers'
import { expect, test } from 'vitest'
import * as eas from '../abi/EAS'
import * as aggregate from '../abi/Multicall3'
import {
  CountError,
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

test('encodes calls like a general codec', () => {
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

test('decodes results that ethers encoded', () => {
  const all = [0, 1, 31, 32, 33, 1_000, 70_000].map(made)
  const answers = all.map((each) => abi.encode([STRUCT], [each]))
  const results = abi.encode(
    ['tuple(bool success, bytes returnData)[]'],
    [answers.map((returnData) => ({ success: true, returnData }))],
  )
  const given = all.map(({ revocationTime, ...each }) => ({ ...each, data: bytesOf(each.data) }))
  expect(answers.map((answer) => decodeAttestation(bytesOf(answer)))).toEqual(given)
  expect(multicallAnswers(results, given.length).map(decodeAttestation)).toEqual(given)
})

test('rejects a result that is truncated, or has offsets beyond its end', () => {
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
  // The response claims a million results at the same offset. It is rejected before any is read.
  const many = `0x${[32, 1_000_000].map((each) => each.toString(16).padStart(64, '0')).join('')}`
  expect(() => multicallAnswers(many + '0'.repeat(64 * 1_000_000), 100)).toThrow(CountError)
})
