import { expect, test } from 'vitest'
import { recordText } from './formats'

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
])('the time that Postgres writes as %s is %s', (given, written) => {
  const text = '","created_at":"2026-01-01T00:00:00","timestamp":"\\'
  const rest = { timestamp: given, event_timestamp: given, memo: text, created_at: given, updated_at: given }
  const record = JSON.parse(recordText(row({ ...rest, problem: text }))) as object
  expect(record).toMatchObject({
    ...{ timestamp: written, event_timestamp: written, created_at: written, updated_at: written },
    ...{ memo: text, problem: text },
  })
  expect(Object.keys(record).slice(4)).toEqual([...Object.keys(rest), 'problem'])
})
