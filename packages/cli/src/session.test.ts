// SPDX-License-Identifier: MIT
import { PassThrough } from 'node:stream'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Chain } from '@geospatial-attestation/client'
import { afterEach, expect, test, vi } from 'vitest'
import { filesIn } from './context'
import { openSession } from './session'

afterEach(() => void vi.unstubAllGlobals())

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

test('the session shows what it waits for on one line of a narrow terminal', async () => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', () => new Promise(() => {}))
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const stderr = Object.assign(new PassThrough(), { isTTY: true as const, columns: 20 })
  const context = { stdin, stdout, stderr, env: {}, cwd: '/', signal: new AbortController().signal }
  const session = openSession({ url: 'http://127.0.0.1:9' }, context, filesIn('/'), () => {})
  void session.geo.info().catch(() => {})
  await vi.advanceTimersByTimeAsync(2_000)
  session.end()
  vi.useRealTimers()
  expect(String(stderr.read())).toBe('\r\x1b[KWaiting for the ser')
})

test('the session connects its wallet again after an endpoint did not respond', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'geo-session-'))
  const keyFile = path.join(folder, 'key')
  writeFileSync(keyFile, '1'.repeat(64), { mode: 0o600 })
  let isDown = true
  vi.stubGlobal('fetch', async (_: string, { body }: { body: string }) => {
    const { id } = JSON.parse(body) as { id: number }
    return isDown
      ? new Response('down', { status: 401 })
      : Response.json({ jsonrpc: '2.0', id, result: '0x1' })
  })
  const { stdin, stdout, stderr } = process
  const context = { stdin, stdout, stderr, env: {}, cwd: '/', signal: new AbortController().signal }
  const options = { url: 'http://service', keyFile, rpc: 'http://node' }
  const session = openSession(options, context, filesIn('/'), () => {})
  const chain = { id: 1, slug: 'ethereum' } as Chain
  const first = session.wallet(chain).catch((error: unknown) => {
    isDown = false
    return { error, wallet: session.wallet(chain) }
  })
  // The second caller of the same wallet learns of its failure later than the first one.
  await expect(session.wallet(chain)).rejects.toMatchObject({ name: 'ConnectionError' })
  const { error, wallet } = (await first) as { error: unknown; wallet: Promise<unknown> }
  expect(error).toMatchObject({ name: 'ConnectionError' })
  expect(await wallet).toBe(await session.wallet(chain))
  session.end()
  rmSync(folder, { recursive: true })
})
