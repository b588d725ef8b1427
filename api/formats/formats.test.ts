import { expect, test } from 'vitest'
import { seededRandom } from '../../dev/random'
import { checksumAddress } from '../../src/eas'
import { recordBytes, recordText } from './json'
import { readLines } from '../store/sql'

const address = `0x${'a'.repeat(40)}`
const row = (rest: object) => {
  const head = { uid: `0x${'1'.repeat(64)}`, chain: 'celo' }
  const text = JSON.stringify({ ...head, prover: address, subject: address, ...rest })
  return { ...head, text, geometry: null }
}

test.each([
  ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05.5', '2026-01-02T03:04:05.500Z'],
  ['2026-01-02T03:04:05.04', '2026-01-02T03:04:05.040Z'],
  ['2026-01-02T03:04:05.123', '2026-01-02T03:04:05.123Z'],
  ['2026-01-02T03:04:05.1239', '2026-01-02T03:04:05.123Z'],
  ['0001-01-01T00:00:00', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.000001', '9999-12-31T23:59:59.000Z'],
])('completes the Postgres time %s to %s', (given, written) => {
  const text = '","created_at":"2026-01-01T00:00:00","timestamp":"\\'
  const rest = { timestamp: given, event_timestamp: given, memo: text, created_at: given, updated_at: given }
  const record = JSON.parse(recordText(row({ ...rest, problem: text }))) as object
  expect(record).toMatchObject({
    ...{ timestamp: written, event_timestamp: written, created_at: written, updated_at: written },
    ...{ memo: text, problem: text },
  })
  expect(Object.keys(record).slice(4)).toEqual([...Object.keys(rest), 'problem'])
})

test('writes a page like its records one by one, consecutive or with gaps, whatever they contain', () => {
  const random = seededRandom(20_261_124)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const hex = (length: number) => Array.from({ length }, () => pick([...'0123456789abcdef'])).join('')
  const time = () => new Date(Math.floor(random() * 250e9) * 1_000 + pick([0, 500, 40, 123]))
  const inPostgres = (at: Date) => at.toISOString().replace(/\.?0*Z$/, '')
  const texts = ['', 'a', 'Grüße, 東京 🗼', ',"attributes":null}', '","created_at":"', '\u2028 \\ " \n\t']
  const given = Array.from({ length: 300 }, () => {
    const addresses = [`0x${hex(40)}`, `0x${hex(40)}`]
    const times = [time(), time(), time(), time()]
    const attributes = pick([null, null, { memo: pick(texts) }, { attributes: null }, {}])
    const record = (address: (i: number) => string, write: (at: Date) => string) => ({
      ...{ uid: `0x${hex(64)}`, chain: pick(['celo', 'base-sepolia']) },
      ...{ prover: address(0), subject: address(1) },
      ...{ timestamp: write(times[0]!), event_timestamp: write(times[1]!), memo: pick(texts) },
      ...{
        created_at: write(times[2]!),
        updated_at: write(times[3]!),
        problem: pick([null, null, ...texts]),
      },
    })
    const other = random() < 0.5 ? 1 : 0
    const address = (i: number) => addresses[i && other]!
    const stored = record(address, inPostgres)
    const shown = {
      ...stored,
      ...{ prover: checksumAddress(stored.prover), subject: checksumAddress(stored.subject) },
      ...{ timestamp: times[0], event_timestamp: times[1], created_at: times[2], updated_at: times[3] },
    }
    return {
      line: JSON.stringify({ ...stored, attributes }),
      shown: JSON.stringify({ ...shown, ...(attributes && { attributes }) }),
    }
  })
  const rows = readLines(given.map(({ line }) => line).join('\n'), true)
  expect(rows.map(({ text }) => text)).toEqual(given.map(({ line }) => line))
  expect(recordBytes(rows, '\n').toString()).toBe(given.map(({ shown }) => `${shown}\n`).join(''))
  const some = given.map((each, i) => ({ ...each, row: rows[i]! })).filter(() => random() < 0.7)
  expect(
    recordBytes(
      some.map(({ row }) => row),
      ',',
    ).toString(),
  ).toBe(some.map(({ shown }) => `${shown},`).join(''))
  expect(recordBytes([], ',')).toHaveLength(0)
})
