import { createLogger } from '@subsquid/logger'
import { expect, onTestFinished, test } from 'vitest'
import { unifySubsquidLog } from './log'

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
