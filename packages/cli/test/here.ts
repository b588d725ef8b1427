// SPDX-License-Identifier: MIT
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Context } from '../src/context'
import { run } from '../src/run'
import type { Ended } from './geo'

/** Runs `geo` in this process, by default without variables, and with a standard input that stays open. */
export async function geoHere(argv: readonly string[], given: Partial<Context> = {}): Promise<Ended> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { signal } = new AbortController()
  const code = await run(argv, { ...{ stdin, stdout, stderr, signal, env: {}, cwd: '/' }, ...given })
  stdout.end()
  stderr.end()
  return { code, stdout: await text(stdout), stderr: await text(stderr) }
}
