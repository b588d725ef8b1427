import { expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { TEXT_FORMATS } from './formats'
import { recordBytes, recordLines } from './json'
import { readLines } from '../store/sql'

test('each format writes a page with the same bytes as its single records, consecutive or with gaps', () => {
  const random = seededRandom(20_261_124)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const texts = ['', 'a', 'Grüße, 東京 🗼', '},{"uid":"', '\u2028 \u2029 \u0085 \\ " \n\t']
  const given = Array.from({ length: 300 }, (_, i) => {
    const [uid, chain] = [`0x${String(i).padStart(64, '0')}`, pick(['celo', 'base-sepolia'])]
    return { uid, chain, line: JSON.stringify({ uid, chain, memo: pick(texts), problem: pick(texts) }) }
  })
  const rows = readLines(given.map(({ line }) => line).join('\n'), true)
  expect(rows.map(({ uid, chain, text }) => ({ uid, chain, line: text }))).toEqual(given)
  const some = given.map((each, i) => ({ ...each, row: rows[i]! })).filter(() => random() < 0.7)
  for (const list of [given.map((each, i) => ({ ...each, row: rows[i]! })), some, []]) {
    const [lines, page] = [list.map(({ line }) => line), list.map(({ row }) => row)]
    expect(recordLines(page)).toBe(lines.join('\n'))
    const ndjson = TEXT_FORMATS.ndjson.write(page)
    const asRead = ndjson.split(/[\n\r\u0085\u2028\u2029]/).filter(Boolean)
    const values = (texts: readonly string[]) => texts.map((text) => JSON.parse(text) as unknown)
    expect(values(asRead)).toEqual(values(lines))
    expect(recordBytes('{"data":[', page, ']}').toString()).toBe(`{"data":[${lines.join()}]}`)
  }
})
