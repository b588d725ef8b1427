import { describe, expect, test } from 'vitest'
import { jsonOf, plain, someFilter, textOf, type Filter } from '../../test/cql2'
import { hunt } from '../../test/seed'
import { Cql2Error, readJson, readText } from './index'
import { sentence, testSentences } from '../../test/sentences'
import { positions } from '../../test/positions'

const text = (given: string) => plain(readText(given))
const json = (given: unknown) => plain(readJson(JSON.stringify(given)))
const refusal = (read: () => unknown): string => {
  try {
    read()
  } catch (error) {
    if (error instanceof Cql2Error) return error.message
    throw error
  }
  return 'accepted'
}

/** Each filter is tested in both encodings. */
test.each<[string, unknown]>([
  ["chain='celo'", { op: '=', args: [{ property: 'chain' }, 'celo'] }],
  ["memo = 'Via dell''Avvento'", { op: '=', args: [{ property: 'memo' }, "Via dell'Avvento"] }],
  [String.raw`memo = 'Via dell\'Avvento'`, { op: '=', args: [{ property: 'memo' }, "Via dell'Avvento"] }],
  // 8.2.1, /req/cql2-text/escaping
  [String.raw`memo = '\a\b\t\n\v\f\r'`, { op: '=', args: [{ property: 'memo' }, '\x07\b\t\n\v\f\r'] }],
  [String.raw`memo LIKE 'a\%b\\%'`, { op: 'like', args: [{ property: 'memo' }, String.raw`a\%b\%`] }],
  ["'' <> memo", { op: '<>', args: [{ property: 'memo' }, ''] }],
  ['longitude>=-13.25e-1', { op: '>=', args: [{ property: 'longitude' }, -1.325] }],
  ['.5 < latitude', { op: '>', args: [{ property: 'latitude' }, 0.5] }],
  ['latitude = +5.', { op: '=', args: [{ property: 'latitude' }, 5] }],
  ['revoked = true', { op: '=', args: [{ property: 'revoked' }, true] }],
  ['FALSE = revoked', { op: '=', args: [{ property: 'revoked' }, false] }],
  [
    "timestamp < TIMESTAMP('1969-07-20T20:17:40Z')",
    { op: '<', args: [{ property: 'timestamp' }, { timestamp: '1969-07-20T20:17:40Z' }] },
  ],
  ['"date" = DATE(\'1969-07-20\')', { op: '=', args: [{ property: 'date' }, { date: '1969-07-20' }] }],
  ['problem IS NULL', { op: 'isNull', args: [{ property: 'problem' }] }],
  ['problem is not null', { op: 'not', args: [{ op: 'isNull', args: [{ property: 'problem' }] }] }],
  ['true', true],
  ['not false', { op: 'not', args: [false] }],
  [
    'a=1 OR b=2 AND NOT c=3',
    {
      op: 'or',
      args: [
        { op: '=', args: [{ property: 'a' }, 1] },
        {
          op: 'and',
          args: [
            { op: '=', args: [{ property: 'b' }, 2] },
            { op: 'not', args: [{ op: '=', args: [{ property: 'c' }, 3] }] },
          ],
        },
      ],
    },
  ],
  ['x BETWEEN 1 AND 2', { op: 'between', args: [{ property: 'x' }, 1, 2] }],
  ['x not between 1 and 2', { op: 'not', args: [{ op: 'between', args: [{ property: 'x' }, 1, 2] }] }],
  ["x IN ('a','b')", { op: 'in', args: [{ property: 'x' }, ['a', 'b']] }],
  [
    'S_INTERSECTS(geometry,BBOX(-180,-90,180,90))',
    { op: 's_intersects', args: [{ property: 'geometry' }, { bbox: [-180, -90, 180, 90] }] },
  ],
  [
    's_intersects ( POINT Z (7.02 49.92 5) , "geometry" )',
    {
      op: 's_intersects',
      args: [{ property: 'geometry' }, { type: 'Point', coordinates: [7.02, 49.92, 5] }],
    },
  ],
  [
    'S_INTERSECTS(geometry,GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4)))',
    {
      op: 's_intersects',
      args: [
        { property: 'geometry' },
        {
          type: 'GeometryCollection',
          geometries: [
            { type: 'Point', coordinates: [1, 2] },
            { type: 'LineString', coordinates: positions('1 2, 3 4') },
          ],
        },
      ],
    },
  ],
])('the CQL2 parser reads %s in both encodings', (given, same) => {
  expect(text(given)).toEqual(json(same))
  expect(jsonOf(text(given))).toEqual(same)
})

hunt(
  'the CQL2 parser converts random filters from text to JSON and back without change, in any spelling',
  300,
  ({ random, cases }) => {
    const pick = <T>(...list: T[]) => list[Math.floor(random() * list.length)]!
    const scalar = () =>
      pick<string | number | boolean | { date: string }>(
        ...['', "it's", '\\', "\\'", 'a%_\\%b', '日本', '😀', ') OR (', '--', '"'],
        ...[0, -1.5, 9e15, 1e-7, 13.3777, true, false, { date: '2026-01-31' }],
      )
    const leaf = (): Exclude<Filter, { op: 'and' | 'or' | 'not' }> => {
      const property = pick('chain', 'memo', 'timestamp', 'date', 'bbox', 'point', 'ünï:x.1')
      const [kind, value] = [Math.floor(random() * 8), scalar()]
      if (kind === 0) return { op: 'literal', value: random() < 0.5 }
      if (kind === 1) return { op: 'isNull', property }
      if (kind === 2) return { op: 'like', property, pattern: JSON.stringify(value) }
      if (kind === 3) return { op: 'between', property, low: scalar(), high: scalar() }
      if (kind === 4) return { op: 'in', property, values: [value, scalar(), scalar()] }
      if (kind === 5) return { op: 's_intersects', property: 'geometry', bbox: [-1.5, 0, 1e-3, 2] }
      if (kind === 6)
        return {
          op: 's_intersects',
          property: 'geometry',
          geometry: { type: 'Point', coordinates: [1.5, -2] },
        }
      return { op: pick('=', '<>', '<', '>', '<=', '>='), property, value }
    }
    for (let n = 0; n < cases; n++) {
      const filter = someFilter(random, leaf)
      const written = textOf(filter, random)
      expect([written, text(written)]).toEqual([written, filter])
      const between = json(jsonOf(filter))
      expect(between).toEqual(filter)
      expect(text(textOf(between, random))).toEqual(filter)
    }
  },
)

describe('the CQL2 parser reports an invalid filter with its position', () => {
  test.each([
    ['', 'at character 1'],
    ['chain', 'at character 6'],
    ["chain = 'celo", 'at character 9'],
    ["memo = 'a''", 'at character 8'],
    ["chain = 'celo' revoked", 'at character 16'],
    ["chain == 'celo'", 'at character 8'],
    ["(chain = 'celo'", 'at character 16'],
    ["chain = 'celo')", 'at character 15'],
    ['a = b', 'at character 5'],
    ["'a' = 'b'", 'at character 1'],
    ['THIS IS NOT A FILTER', 'at character 13'],
    ['NOT NOT a = 1', 'at character 5'],
    ['a NOT = 1', 'at character 7'],
    ['a LIKE 5', 'at character 8'],
    ['a BETWEEN 1, 2', 'at character 12'],
    ['a IN ()', 'at character 7'],
    ['a = 5x', 'at character 5'],
    ['a = 1e999', 'at character 5'],
    ['a = NULL', 'at character 5'],
    ['a + 1 = 2', 'at character 3'],
    ['S_INTERSECTS(geometry, POINT(1,2))', 'at character 24'],
    ['S_INTERSECTS(geometry, POINT(1 2)', 'at character 34'],
    ['S_INTERSECTS(geometry, POINT(1 2', 'at character 24'],
    ['S_INTERSECTS(geometry, other)', 'at character 24'],
    ['S_INTERSECTS(geometry, BBOX(1 2))', 'at character 31'],
    ["CASEI(memo) = 'a'", 'at character 15'],
    ['S_WITHIN(geometry, POINT(1 2))', 'at character 1'],
    ["T_AFTER(timestamp, DATE('2026-01-01'))", 'at character 1'],
  ])('%s', (given, field) => {
    expect(refusal(() => readText(given))).toEqual(sentence(field))
  })
  test.each<[string, string]>([
    ['', 'at /'],
    ['{"op":"and","op":"or"}', 'at /'],
    ['null', 'at /'],
    ['{"op":"=","args":[{"property":"a"},1],"x":1}', 'at /'],
    ['{"op":"and","args":[true]}', 'at /args'],
    ['{"op":"not","args":[{"op":"=","args":[{"property":"a"}]}]}', 'at /args/0/args'],
    ['{"op":"=","args":[{"property":"a"},null]}', 'at /args/1'],
    ['{"op":"=","args":[{"property":"a"},{"property":"b"}]}', 'at /args/1'],
    ['{"op":"=","args":[{"property":"a"},1e999]}', 'at /args/1'],
    ['{"op":"in","args":[{"property":"a"},[]]}', 'at /args'],
    ['{"op":"AND","args":[true,false]}', 'at /'],
    ['{"op":"=","args":[{"op":"casei","args":[{"property":"a"}]},"x"]}', 'at /args/1'],
    ['{"op":"s_intersects","args":[{"property":"g"},{"bbox":["a"]}]}', 'at /args/1'],
  ])('%s', (given, field) => {
    expect(refusal(() => readJson(given))).toEqual(sentence(field))
  })
  test('quotes whole characters of a filter', () => {
    expect(refusal(() => readText(`TRUE b${'😀'.repeat(30)}`))).toMatch(/b😀{23}$/u)
  })
})

describe('the CQL2 parser, for hostile filters,', () => {
  const nested = (levels: number) => `${'('.repeat(levels)}TRUE${')'.repeat(levels)}`
  const deep = (levels: number) => `${'{"op":"not","args":['.repeat(levels)}true${']}'.repeat(levels)}`
  test('accepts a filter at each limit, and rejects a filter beyond the limit', () => {
    const ors = (count: number) => Array.from({ length: count }, () => 'TRUE').join(' OR ')
    const list = (count: number) => `a IN (${Array.from({ length: count }, (_, i) => i).join()})`
    for (const largest of [nested(32), ors(200), list(1_000), `a = '${'x'.repeat(15_994)}'`])
      expect(refusal(() => readText(largest))).toBe('accepted')
    expect(refusal(() => readText(nested(33)))).toEqual(sentence('at character 33'))
    expect(refusal(() => readText(ors(201)))).toEqual(sentence('at character 1601'))
    expect(refusal(() => readText(list(1_001)))).toEqual(sentence('at character 3897'))
    expect(refusal(() => readText(`a = '${'x'.repeat(15_995)}'`))).toEqual(sentence('at character 16001'))
    // JSON itself may have 64 levels, two for each operator.
    expect(refusal(() => readJson(deep(32)))).toBe('accepted')
    expect(refusal(() => readJson(deep(33)))).toEqual(sentence('at /'))
  })
  test.each([
    ['parentheses', '('.repeat(16_000)],
    ['NOT', 'NOT ('.repeat(3_200)],
    ['quotes', "'".repeat(16_000)],
    ['quotes in pairs', `a = '${"''".repeat(7_900)}`],
    ['backslashes', `a = '${'\\'.repeat(15_990)}`],
    ['double quotes', '"'.repeat(15_999)],
    ['digits', `a = ${'9'.repeat(15_990)}`],
    ['digits and letters', `a = ${'9'.repeat(15_000)}x`],
    ['a name', 'a'.repeat(16_000)],
    ['spaces', ' '.repeat(16_000)],
    ['a geometry', `S_INTERSECTS(geometry, ${'POLYGON('.repeat(1_900)}`],
    ['collections', `S_INTERSECTS(geometry, ${'GEOMETRYCOLLECTION('.repeat(800)}${')'.repeat(800)}`],
    ['halves of pairs', `a = ${'\ud800'.repeat(100)}`],
    ['NUL', 'a\0 = 1'],
  ])('%s', (_, given) => {
    const message = refusal(() => readText(given))
    expect(message).toEqual(sentence())
    expect(message.length).toBeLessThan(300)
  })
})

testSentences()
