import { describe, expect, test } from 'vitest'
import { visibleText } from '../web/attest/visible-text'

const shown = (text: string) => visibleText(text, (count) => `(${count} line breaks)`)

describe('a memo to be signed', () => {
  test.each(
    [
      0x00, 0x0d, 0x85, 0xa0, 0xad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x2028,
    ].concat([
      0x202e, 0x2060, 0x2066, 0x2800, 0x3000, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xfffc, 0x1d173, 0xe0041,
    ]),
  )('shows the invisible character %#x as its code point, and the length of a run', (code) => {
    const [name, character] = [code.toString(16).toUpperCase().padStart(4, '0'), String.fromCodePoint(code)]
    expect(shown(`a${character}b`)).toBe(`a[U+${name}]b`)
    expect(shown(`${character.repeat(40)}b`)).toBe(`[U+${name} × 40]b`)
  })
  test('shows the number of consecutive line breaks, even if their lines contain spaces', () => {
    for (const lines of ['\n'.repeat(60), '\n \t'.repeat(59) + '\n'])
      expect(shown(`a${lines}  b`)).toBe('a\n(60 line breaks)\n  b')
    expect(shown('a\n\n \nb')).toBe('a\n\n \nb')
  })
  test.each(['Ärger, 東京 한국 ខ្មែរ हिन्दी 👍🏽', 'a\tb  c', 'line\nline\n\nline'])(
    'shows %j unchanged',
    (text) => {
      expect(shown(text)).toBe(text)
    },
  )
})
