import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hunt } from '../test/seed'
import { parseStrictJson } from './strict-json'
import { sentence, testSentences } from '../test/sentences'

hunt('parseStrictJson reads valid JSON like JSON.parse', 50, ({ seed, cases }) => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      fc.constantFrom(undefined, 1, '\t', '\r\n '),
      (value, space) => {
        const text = JSON.stringify(value, null, space)
        fc.pre(!text.includes('__proto__'))
        expect(parseStrictJson(text)).toEqual(JSON.parse(text))
        expect(parseStrictJson(`\ufeff${text}`)).toEqual(JSON.parse(text))
      },
    ),
    { seed, numRuns: cases },
  )
})
test('parseStrictJson accepts equal keys in different objects, and strings that look like keys', () => {
  for (const text of [
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    '{"a":"\\"a\\":","b":"a"}',
    '{"a\\\\":1,"a\\"":2,"a":3}',
    '["a","a"]',
    '"__proto__"',
    '["__proto__"]',
    '{"a":"__proto__"}',
  ])
    expect(parseStrictJson(text)).toEqual(JSON.parse(text))
})
describe('parseStrictJson rejects', () => {
  test.each([
    ['{"a":1,"a":1}'],
    ['\ufeff\ufeff1'],
    ['\ufeff'],
    ['{"a":{"b":[{}]},"c":2,"a" \n:1}'],
    ['[{"x":1},{"\\u0061":1,"a":2}]'],
    ['{"":1,"":2}'],
    ['{"b\\\\":1,"b\\\\":2}'],
    ['{"__proto__":1}'],
    ['[{"\\u005f_proto__":1}]'],
    ['['.repeat(65) + ']'.repeat(65)],
    ['{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
  ])('case %#', (text) => {
    expect(() => parseStrictJson(text)).toThrow(SyntaxError)
    expect(() => parseStrictJson(text)).toThrow(sentence())
  })
  test.each(['{"a":1', ''])('%j, like JSON.parse', (text) => {
    expect(() => parseStrictJson(text)).toThrow(SyntaxError)
  })
  test('parseStrictJson accepts 64 levels', () =>
    expect(parseStrictJson('['.repeat(64) + ']'.repeat(64))).toBeDefined())
})
test('parseStrictJson takes linear time', () => {
  for (const text of [
    JSON.stringify('\\'.repeat(1_000_000)),
    JSON.stringify(Array(200_000).fill('"')),
    `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":"\\\\"`).join()}}`,
  ]) {
    const started = performance.now()
    parseStrictJson(text)
    expect(performance.now() - started).toBeLessThan(10_000)
  }
})

testSentences()
