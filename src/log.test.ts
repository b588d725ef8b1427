import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createLogger } from '@subsquid/logger'
import { expect, onTestFinished, test } from 'vitest'
import { openLog, unifySubsquidLog } from './log'
import { temporaryFolder } from '../test/database'

test.each([
  ['silent', []],
  ['warn', ['warn', 'error', 'fatal']],
  ['info', ['info', 'warn', 'error', 'fatal']],
  ['debug', ['debug', 'info', 'warn', 'error', 'fatal']],
])('LOG_LEVEL=%s applies to loggers of Subsquid on a terminal', (level, logged) => {
  const { isTTY } = process.stderr
  onTestFinished(() => {
    unifySubsquidLog('info')
    process.stderr.isTTY = isTTY
  })
  process.stderr.isTTY = true
  unifySubsquidLog(level)
  // Subsquid caches the level of each name.
  const { level: least } = createLogger(`test of ${level}`)
  expect(['trace', 'debug', 'info', 'warn', 'error', 'fatal'].slice(least)).toEqual(logged)
})

test('the log is one line per entry for readers that end lines at U+2028', () => {
  const file = path.join(temporaryFolder(), 'log')
  const reason = 'a\u2028b\u2029c\u0085d'
  openLog('info', file).warn({ reason }, 'an RPC endpoint failed')
  const [line, ...others] = readFileSync(file, 'utf8').split(/[\n\u0085\u2028\u2029]/)
  expect(JSON.parse(line!)).toMatchObject({ reason, level: 'warn' })
  expect(others).toEqual([''])
})
