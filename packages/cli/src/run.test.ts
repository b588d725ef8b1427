// SPDX-License-Identifier: MIT
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { run } from './run'

async function errorOf(...argv: string[]): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  expect(await run(argv, { ...{ stdin, stdout, stderr, signal }, env: {}, cwd: '/' })).not.toBe(0)
  stderr.end()
  return text(stderr)
}

test('an error has no control characters besides its line breaks', async () => {
  const name = 'x\x1b[2J\u009b31m\u202e'
  expect(await errorOf(name)).toMatch(/^geo: [^\p{Cc}\u202e]+\n[^\p{Cc}]+\n$/u)
  const line = await errorOf('--json', name)
  expect(line).toMatch(/^[^\p{Cc}\u202e]+\n$/u)
  expect(JSON.parse(line).error.message).toContain(name)
})
