import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import {
  ENTRY_KINDS,
  ENTRY_LAYOUTS,
  MAX_DATA_BYTES,
  MAX_ENTRY_BYTES,
  TlogError,
  decodeEntry,
  encodeEntry,
  type Entry,
  type EntryKind,
  type EntryLayout,
} from './index'

const ENTRY: Entry = {
  kind: 'answer',
  time: 1_795_219_200,
  chainId: 84_532,
  attester: `0x${'11'.repeat(20)}`,
  layout: 'v2',
  separator: `0x${'33'.repeat(32)}`,
  schema: `0x${'22'.repeat(32)}`,
  recipient: `0x${'66'.repeat(20)}`,
  expirationTime: 5,
  revocable: true,
  refUID: `0x${'77'.repeat(32)}`,
  nonce: 6,
  deadline: 1_795_222_800,
  signature: `0x${'44'.repeat(64)}1b`,
  data: '0x0102',
}
const fieldOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (error instanceof TlogError) return error.field
    throw error
  }
  return undefined
}

describe('a log entry', () => {
  test('has the documented bytes', () => {
    expect(Buffer.from(encodeEntry(ENTRY)).toString('hex')).toBe(
      [
        ...['01', '01', '000000006b00df00', '0000000000014a34', '11'.repeat(20), '03', '33'.repeat(32)],
        ...['22'.repeat(32), '66'.repeat(20), '0000000000000005', '01', '77'.repeat(32)],
        ...['0000000000000006', '000000006b00ed10', `${'44'.repeat(64)}1b`, '0102'],
      ].join(''),
    )
  })
  hunt('is unchanged after encoding and decoding', 500, ({ cases, random }) => {
    const kinds = Object.keys(ENTRY_KINDS) as EntryKind[]
    const layouts = Object.keys(ENTRY_LAYOUTS) as EntryLayout[]
    const number = () => Math.floor(random() * 2 ** (53 * random()))
    const hex = (bytes: number) =>
      `0x${Array.from({ length: bytes }, () =>
        Math.floor(random() * 256)
          .toString(16)
          .padStart(2, '0'),
      ).join('')}`
    for (let i = 0; i < cases; i++) {
      const entry: Entry = {
        kind: kinds[Math.floor(random() * kinds.length)]!,
        time: Math.floor(random() * Number.MAX_SAFE_INTEGER),
        layout: layouts[Math.floor(random() * layouts.length)]!,
        ...{ chainId: number(), expirationTime: number(), nonce: number(), deadline: number() },
        ...{ attester: hex(20), separator: hex(32), schema: hex(32), recipient: hex(20) },
        ...{ revocable: random() < 0.5, refUID: hex(32), signature: hex(65) },
        data: hex(Math.floor(random() * 700)),
      }
      const bytes = encodeEntry(entry)
      expect(decodeEntry(bytes)).toEqual(entry)
      expect(encodeEntry(decodeEntry(bytes))).toEqual(bytes)
    }
  })
  test('has at most 65,535 bytes', () => {
    const longest = { ...ENTRY, data: `0x${'00'.repeat(MAX_DATA_BYTES)}` }
    expect(encodeEntry(longest)).toHaveLength(MAX_ENTRY_BYTES)
    expect(decodeEntry(encodeEntry(longest))).toEqual(longest)
    expect(fieldOf(() => encodeEntry({ ...longest, data: `${longest.data}00` }))).toBe('data')
    expect(fieldOf(() => decodeEntry(new Uint8Array(MAX_ENTRY_BYTES + 1).fill(1)))).toBe('entry')
  })
  test.each([
    ['attester', '0x11'],
    ['schema', `0x${'2g'.repeat(32)}`],
    ['separator', `0x${'33'.repeat(33)}`],
    ['recipient', `0x${'33'.repeat(19)}`],
    ['refUID', '0x'],
    ['signature', `0x${'44'.repeat(64)}`],
    ['data', '0x012'],
    ['data', '0xAB'],
  ] as const)('rejects %s %s', (field, value) => {
    expect(fieldOf(() => encodeEntry({ ...ENTRY, [field]: value }))).toBe(field)
  })
  test('accepts exactly the lower-case hex digits, in both places of a byte', () => {
    const characters = Array.from({ length: 1_024 }, (_, code) => String.fromCharCode(code))
    for (const byteOf of [(digit: string) => `${digit}0`, (digit: string) => `0${digit}`]) {
      const accepted = characters.filter(
        (digit) => fieldOf(() => encodeEntry({ ...ENTRY, data: `0x${byteOf(digit)}` })) === undefined,
      )
      expect(accepted.join('')).toBe('0123456789abcdef')
    }
  })
  test.each([
    ['version', 0, 2],
    ['kind', 1, 0],
    ['kind', 1, 5],
    ['time', 2, 1],
    ['chainId', 10, 255],
    ['layout', 38, 6],
    ['expirationTime', 123, 32],
    ['revocable', 131, 2],
    ['nonce', 164, 255],
    ['deadline', 172, 255],
  ] as const)('rejects bytes with a different %s', (field, at, value) => {
    const bytes = encodeEntry(ENTRY)
    bytes[at] = value
    expect(fieldOf(() => decodeEntry(bytes))).toBe(field)
  })
  test('rejects bytes without all fields', () => {
    const bytes = encodeEntry({ ...ENTRY, data: '0x' })
    expect(decodeEntry(bytes).data).toBe('0x')
    expect(fieldOf(() => decodeEntry(bytes.subarray(0, -1)))).toBe('entry')
  })
})
