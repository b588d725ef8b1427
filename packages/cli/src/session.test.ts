// SPDX-License-Identifier: MIT
import { PassThrough } from 'node:stream'
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

test('the session writes no control characters of strangers', () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  const context = { stdin, stdout, stderr, env: {}, cwd: '/', signal }
  const session = openSession({ url: 'http://127.0.0.1:9' }, context, filesIn('/'), () => {})
  const text = 'not\x1b[2K\r\nvalid'
  session.print(text)
  session.printFields([['a', text]])
  session.printTable([['A'], [text]])
  session.note(text)
  session.end()
  const safe = 'not\ufffd[2K  valid'
  expect(String(stdout.read())).toBe(`${safe}\na  ${safe}\nA\n${safe}\n`)
  expect(String(stderr.read())).toBe(`${safe}\n`)
})
