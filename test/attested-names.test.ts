import path from 'node:path'
import { beforeAll, describe, expect, test, vi } from 'vitest'

/** The modules, without the types of browsers, which this project does not have. */
const [WORDS, NAMES] = [path.resolve('web/explorer/words.ts'), path.resolve('web/playground/names.ts')]
let lineText: (text: string, most?: number) => string
let isoOf: (seconds: number) => string | undefined
let namesOf: (parsed: readonly object[], fields: readonly object[]) => string[]
beforeAll(async () => {
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  ;({ lineText, isoOf } = (await import(WORDS)) as { lineText: typeof lineText; isoOf: typeof isoOf })
  namesOf = ((await import(NAMES)) as { namesOf: typeof namesOf }).namesOf
  vi.unstubAllGlobals()
})
const nameOf = (memo: string) =>
  namesOf([{ kind: 'uid', uid: `0x${'1'.repeat(64)}` }], [{ record: { memo } }])[0]!

describe('an attested text', () => {
  test.each([
    ['Tower\u202eed ton si\u202c', 'Towered ton si'],
    ['\u2069\u2066a\u061c\u200e\u200fb', 'ab'],
    [' a\n\t b\u0000\u001b\u0085c ', 'a bc'],
    ['👩\u200d🚀 می\u200cخواهم', '👩\u200d🚀 می\u200cخواهم'],
    ['\u202e\u2069', ''],
    ['\u200B\u2060\u3164', ''],
  ])('%j is the line %j', (text, line) => expect(lineText(text)).toBe(line))

  test('is truncated between characters', () => expect(lineText('🗼🗼🗼', 2)).toBe('🗼🗼…'))

  test('does not reorder the sentence of an answer', () => {
    expect(nameOf('Tower\u2069\u202e')).toBe('\u2068Tower\u2069')
    expect(nameOf('x'.repeat(100))).toBe(`\u2068${'x'.repeat(60)}…\u2069`)
    expect(nameOf('\u202e')).toContain('0x111111…1111')
  })
})

test.each([
  [1_795_219_200, '2026-11-21T00:00:00Z'],
  [8.64e12, '+275760-09-13T00:00:00Z'],
  [8.64e12 + 1, undefined],
  [Number.MAX_SAFE_INTEGER, undefined],
])('an attested time of %d s is %s', (seconds, iso) => expect(isoOf(seconds)).toBe(iso))
