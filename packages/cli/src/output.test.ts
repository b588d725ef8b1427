// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { bytes, distanceInTime, fields, grouped, jsonLine, paintOf, table, time, visible } from './output'

test('the output shows untrusted text on one line without controls or direction marks', () => {
  expect(visible('a\nb\tc')).toBe('a b c')
  expect(visible('\x1b[2J\u009b31m\x07\x7f\u202e\u2066x\u2028y')).toBe(
    '\ufffd[2J\ufffd31m\ufffd\ufffd\ufffd\ufffdx y',
  )
  // Letters of every script, and characters that join emoji, are kept.
  expect(visible('Čeština 東京 👩‍👩‍👧 שלום')).toBe('Čeština 東京 👩‍👩‍👧 שלום')
})

test('the output as JSON keeps its value, without characters that a terminal would obey', () => {
  const value = { text: 'a\x1b[31m\u009b31m\x7f\u202e\u2028b\n', big: 2n ** 70n }
  const line = jsonLine(value)
  expect(line).not.toMatch(/[\p{Cc}\u2028\u202e]/u)
  expect(JSON.parse(line)).toEqual({ text: value.text, big: '1180591620717411303424' })
})

test('the output aligns tables and fields', () => {
  const rows = [
    ['a', '1', 'x'],
    ['bbb', '22', ''],
  ]
  expect(table(rows)).toEqual(['a    1   x', 'bbb  22'])
  expect(table(rows, [1])).toEqual(['a     1  x', 'bbb  22'])
  const plain = paintOf({}, {})
  expect(
    fields(
      [
        ['a', '1'],
        ['bcd', undefined],
        ['bc', '2'],
      ],
      plain,
    ),
  ).toEqual(['a   1', 'bc  2'])
})

test('the output colours text only on terminals that support it', () => {
  const bold = (isTTY: boolean, env: NodeJS.ProcessEnv) => paintOf({ isTTY }, env).bold('x')
  expect(bold(false, {})).toBe('x')
  expect(bold(true, { NO_COLOR: '1' })).toBe('x')
  expect(bold(true, { TERM: 'dumb' })).toBe('x')
})

test('the output keeps its own styles, and makes those of strangers visible', () => {
  const paint = paintOf({ isTTY: true }, {})
  const text = 'a\x1b[32m\nb'
  expect(paint.line(`${paint.bad(text)} ${text}`)).toBe('\x1b[31ma\ufffd[32m b\x1b[39m a\ufffd[32m b')
  expect(paintOf({}, {}).line(`${paint.bad(text)}`)).not.toMatch(/\p{Cc}/u)
})

test('the output formats numbers and times', () => {
  expect([grouped(881329.94, 2), grouped(1234567), grouped(0, 4)]).toEqual([
    '881,329.94',
    '1,234,567',
    '0.0000',
  ])
  // The double of this sum is below .055, its shortest text is .055.
  expect(grouped(7440623990877.0543, 2)).toBe('7,440,623,990,877.05')
  expect([0, 999, 1000, 1_234_567, 3e15].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '1.2 MB',
    '3000.0 TB',
  ])
  expect(time(1795248128)).toBe('2026-11-21T08:02:08Z')
  expect(time('2026-11-20T07:16:41.000Z')).toBe('2026-11-20T07:16:41Z')
  expect(time(1e18)).toBe('second 1000000000000000000')
  expect([30, -3_600, 86_400 * 9].map(distanceInTime)).toEqual(['in 30 s', '60 min ago', 'in 9 days'])
})
