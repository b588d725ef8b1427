// SPDX-License-Identifier: MIT
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { filesIn } from './context'
import { openSession } from './session'

test('the session allows any number of concurrent requests without a warning of Node.js', async () => {
  const { stdin, stdout, stderr } = process
  const context = { stdin, stdout, stderr, env: {}, cwd: '/', signal: new AbortController().signal }
  const session = openSession({ url: 'http://127.0.0.1:9' }, context, filesIn('/'), () => {})
  const warnings: Error[] = []
  const listen = (warning: Error) => warnings.push(warning)
  process.on('warning', listen)
  for (let i = 0; i < 20; i++) session.signal.addEventListener('abort', () => {})
  await turn()
  process.off('warning', listen)
  session.end()
  expect(warnings).toEqual([])
})
