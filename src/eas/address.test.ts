import { expect, test } from 'vitest'
import { checksumAddress, parseAddress, parseChecksumAddress, parseUid } from '.'

/** From EIP-55, "Test Cases". */
const CHECKSUMMED = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

test('checksumAddress returns the checksum of EIP-55', () => {
  expect(checksumAddress(CHECKSUMMED.toLowerCase())).toBe(CHECKSUMMED)
  expect(checksumAddress(CHECKSUMMED.toLowerCase())).toBe(CHECKSUMMED)
})
test.each([CHECKSUMMED, CHECKSUMMED.toLowerCase(), `0x${CHECKSUMMED.slice(2).toUpperCase()}`])(
  'parseChecksumAddress accepts %s',
  (text) => {
    expect(parseChecksumAddress(text)).toBe(CHECKSUMMED)
    expect(parseAddress(text)).toBe(CHECKSUMMED.toLowerCase())
  },
)
test('parseChecksumAddress rejects an incorrect checksum, and parseAddress ignores it', () => {
  const wrong = CHECKSUMMED.replace('5aA', '5AA')
  expect(parseChecksumAddress(wrong)).toBeUndefined()
  expect(parseAddress(wrong)).toBe(CHECKSUMMED.toLowerCase())
})
test.each([
  ...['', '0x', CHECKSUMMED.slice(2), `${CHECKSUMMED}0`, `${CHECKSUMMED}\n`],
  ...[CHECKSUMMED.replace('5', 'g'), 1, null],
])('parseAddress and parseChecksumAddress reject %j', (value) => {
  expect(parseAddress(value)).toBeUndefined()
  expect(parseChecksumAddress(value)).toBeUndefined()
})
test('parseUid accepts 0x and 64 hex digits, and returns them in lower case', () => {
  expect(parseUid(`0x${'aB'.repeat(32)}`)).toBe(`0x${'ab'.repeat(32)}`)
  for (const wrong of [
    ...[`0x${'a'.repeat(63)}`, `0x${'a'.repeat(65)}`, 'a'.repeat(66), `0x${'a'.repeat(64)}\n`, 1],
    undefined,
  ])
    expect(parseUid(wrong)).toBeUndefined()
})
