import { expect, test } from 'vitest'
import { cut } from './cut'

test.each([
  ['abc', 'abcd', 3],
  ['abc', 'abc', 3],
  ['ab\u{1f600}', 'ab\u{1f600}\u{1f601}', 3],
  ['\u{1f600}\u{1f601}', '\u{1f600}\u{1f601}\u{1f602}', 2],
  ['a\ufffd', 'a\ud83d', 2],
  ['\ufffdb', '\ude00bc', 2],
])('returns %j for the start of %j with %i characters', (start, text, characters) => {
  expect(cut(text, characters)).toBe(start)
})
