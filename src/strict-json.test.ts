import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hunt } from '../test/seed'
import { entryTexts, isPortableJson, parseStrictJson } from './strict-json'
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
hunt('entryTexts divides a list into the texts of its entries', 50, ({ seed, cases }) => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue({ maxDepth: 4 })),
      fc.constantFrom(undefined, 1, '\t', '\r\n '),
      (list, space) => {
        const texts = entryTexts(JSON.stringify(list, null, space))
        expect(texts.map((each) => JSON.stringify(JSON.parse(each)))).toEqual(
          list.map((each) => JSON.stringify(each)),
        )
      },
    ),
    { seed, numRuns: cases },
  )
})
hunt('isPortableJson is true only for numbers that a double does not change', 1_000, ({ random, cases }) => {
  /** Significant digits of a decimal number, and the exponent of their end. */
  const exact = (text: string) => {
    const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/.exec(text)!
    const digits = (whole! + fraction).replace(/^0+/, '')
    const end = /0*$/.exec(digits)!.index
    return [digits.slice(0, end), end && Number(exponent) - fraction.length + digits.length - end]
  }
  const digits = (most: number) =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => Math.floor(random() * 10)).join('')
  const counts = [0, 0]
  for (let i = 0; i < cases; i++) {
    const text = `${random() < 0.3 ? '-' : ''}${Number(digits(12))}${random() < 0.8 ? `.${digits(12)}` : ''}`
    const isPortable = isPortableJson(`{"a":[${text}]}`)
    counts[Number(isPortable)]!++
    if (isPortable) expect([text, exact(String(Number(text)))]).toEqual([text, exact(text)])
  }
  if (cases >= 100) expect(Math.min(...counts)).toBeGreaterThan(cases / 10)
})
test('parseStrictJson accepts equal keys in different objects, and strings that look like keys', () => {
  for (const text of [
    ...['{"a":{"a":1},"b":[{"a":1},{"a":2}]}', '{"a":"\\"a\\":","b":"a"}', '{"a\\\\":1,"a\\"":2,"a":3}'],
    ...['["a","a"]', '"__proto__"', '["__proto__"]', '{"a":"__proto__"}'],
  ])
    expect(parseStrictJson(text)).toEqual(JSON.parse(text))
})
describe('parseStrictJson rejects', () => {
  test.each<[string, string]>([
    ['a repeated key', '{"a":1,"a":1}'],
    ['two byte order marks', '\ufeff\ufeff1'],
    ['a byte order mark alone', '\ufeff'],
    ['a repeated key around an object', '{"a":{"b":[{}]},"c":2,"a" \n:1}'],
    ['a repeated key with an escape', '[{"x":1},{"\\u0061":1,"a":2}]'],
    ['a repeated empty key', '{"":1,"":2}'],
    ['a repeated key that ends in a backslash', '{"b\\\\":1,"b\\\\":2}'],
    ['the key __proto__', '{"__proto__":1}'],
    ['the key __proto__ with an escape', '[{"\\u005f_proto__":1}]'],
    ['65 levels', '['.repeat(65) + ']'.repeat(65)],
    ['200,000 levels', '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
  ])('%s', (_, text) => {
    expect(() => parseStrictJson(text)).toThrow(SyntaxError)
    expect(() => parseStrictJson(text)).toThrow(sentence())
  })
  test.each(['{"a":1', ''])('%j, like JSON.parse', (text) => {
    expect(() => parseStrictJson(text)).toThrow(SyntaxError)
  })
  test('only nesting beyond 64 levels, and accepts 64 levels', () =>
    expect(parseStrictJson('['.repeat(64) + ']'.repeat(64))).toBeDefined())
})
test('parseStrictJson takes linear time', { tags: ['slow'] }, () => {
  for (const text of [
    JSON.stringify('\\'.repeat(250_000)),
    JSON.stringify(Array(50_000).fill('"')),
    `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":"\\\\"`).join()}}`,
  ]) {
    const started = performance.now()
    parseStrictJson(text)
    // 100,000 keys take 0.3 s, and 30 s if each is compared with all others.
    expect(performance.now() - started).toBeLessThan(5_000)
  }
})

testSentences()
