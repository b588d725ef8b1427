// SPDX-License-Identifier: MIT
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { Context } from '../src/context'
import { run } from '../src/run'
import { geoHere } from './here'

/** Tests runs of `geo` in this process, without a service. */
const geo = (argv: string[], more: Partial<Context> = {}) =>
  geoHere(argv, { stdin: new PassThrough().end(), ...more })
const NOWHERE = ['--url', 'http://127.0.0.1:9', '--timeout', '0.1']

test('the code of geo uses properties of the process only in main.ts', () => {
  const folder = path.resolve('packages/cli/src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/\.test\.ts$|^main\.ts$/.test(file),
  )
  const uses = files.flatMap((file) =>
    [...readFileSync(path.join(folder, file), 'utf8').matchAll(/\bprocess\.\w+/g)].map(
      ([use]) => `${file}: ${use}`,
    ),
  )
  // The lock of a batch contains the process id; Windows has no file permissions.
  expect(uses.sort()).toEqual([
    'journal.ts: process.kill',
    'journal.ts: process.pid',
    'key.ts: process.platform',
    'service.ts: process.platform',
  ])
})

test('geo runs simultaneously in one process with separate environments and folders', async () => {
  const folders = ['src', 'test', 'bin'].map((name) => path.resolve('packages/cli', name))
  const inFolders = folders.map((cwd) => geo(['land', 'main.ts'], { cwd }))
  // Only the first folder has the file. Messages name it as the user did.
  expect((await Promise.all(inFolders)).map(({ stderr }) => stderr)).toEqual([
    expect.stringContaining("'main.ts' does not contain an answer"),
    "geo: File not found: 'main.ts'. Name an existing file.\n",
    "geo: File not found: 'main.ts'. Name an existing file.\n",
  ])
  const [help, set, usage] = await Promise.all([
    geo(['--help']),
    geo(['chains'], { env: { GEO_URL: 'example.org' } }),
    geo(['chains', '--url', 'example.com'], { env: { GEO_URL: 'example.org' } }),
  ])
  expect([help.code, help.stderr]).toEqual([0, ''])
  expect(help.stdout).toContain('Exit codes:')
  expect(set).toMatchObject({ code: 2, stderr: expect.stringContaining("'example.org'") })
  expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining("'example.com'") })
})

test('geo restores the state of the process', async () => {
  const state = () => ({
    exitCode: process.exitCode,
    env: { ...process.env },
    cwd: process.cwd(),
    listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
    streams: [process.stdin, process.stdout, process.stderr].map((stream) =>
      stream.eventNames().map((name) => [name, stream.listenerCount(name)]),
    ),
  })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  await geo(['stats', ...NOWHERE])
  const [before, timersBefore] = [state(), timers()]
  const codes = []
  for (const argv of [['--version'], ['nothing'], ['stats', ...NOWHERE], ['distance', '-', '1,2']])
    codes.push((await geo(argv)).code)
  expect(codes).toEqual([0, 2, 4, 2])
  expect(state()).toEqual(before)
  // Timers of earlier test files in this worker may end meanwhile. The poll has a timer of its own.
  await expect.poll(timers).toBeLessThanOrEqual(timersBefore + 1)
})

test.each([true, false])(
  'geo ends silently at Ctrl-C, even right after its start (%s)',
  async (hasJustStarted) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const stop = new AbortController()
    let isAbandoned = false
    // This run waits for the end of standard input.
    const running = run(
      ['mcp'],
      { ...{ stdin, stdout, stderr, env: {}, cwd: '/' }, signal: stop.signal },
      () => (isAbandoned = true),
    )
    if (!hasJustStarted) await expect.poll(() => stdin.listenerCount('data')).toBeGreaterThan(0)
    stop.abort(new Error('Ended by Ctrl-C.'))
    expect(await running).toBe(130)
    expect([stdout.end().read(), stderr.end().read(), isAbandoned]).toEqual([null, null, hasJustStarted])
  },
)

test.each(['mcp', 'log monitor'])('geo %s ends at its timeout with the status of a timeout', async (name) => {
  const argv = [...name.split(' '), '--url', 'http://127.0.0.1:9', '--timeout', '0.2']
  expect(await geoHere(argv)).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^(.*\n)?(geo: )?0\.2 s have elapsed \(--timeout\)\.\n$/),
  })
})
