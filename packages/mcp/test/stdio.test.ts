// SPDX-License-Identifier: MIT
import { on } from 'node:events'
import { PassThrough } from 'node:stream'
import type { Geo } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { serveStdio } from '../src'

test.each([
  ['not json', -32_700],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
  ['{"id":1,"method":"ping"}', -32_600],
])('stdio answers %s with the error %i, and then a request', async (line, code) => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const connection = serveStdio({ geo: {} as Geo, stdin, stdout, onError })
  const answers = on(stdout, 'data')
  const answer = async () => {
    const line = String((await answers.next()).value)
    // Newer versions of Node end lines at U+2028 too, which JSON need not escape.
    expect(line).not.toMatch(/[\u0085\u2028\u2029]/)
    return JSON.parse(line) as unknown
  }
  stdin.write(`\n${line.slice(0, 5)}`)
  stdin.write(`${line.slice(5)}\r\n`)
  expect(await answer()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
  stdin.write('{"jsonrpc":"2.0","id":"\u2028\u2029\u0085","method":"ping"}\n')
  expect(await answer()).toEqual({ jsonrpc: '2.0', id: '\u2028\u2029\u0085', result: {} })
  // Errors that are answered need no log line, of which only the first line would be shown: `[`.
  expect(errors).toEqual([])
  await connection.close()
})

test('stdio listens to its input only while the connection lasts', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const connection = serveStdio({ geo: {} as Geo, stdin, stdout })
  await connection.close()
  await connection.closed
  expect([stdin.listenerCount('data'), stdin.isPaused()]).toEqual([0, true])
})

test('stdio does not pause an input to which the host listens too', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  stdin.on('data', () => {})
  const connection = serveStdio({ geo: {} as Geo, stdin, stdout })
  await connection.close()
  await connection.closed
  expect(stdin.isPaused()).toBe(false)
})
