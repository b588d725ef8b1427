// SPDX-License-Identifier: MIT
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { expect } from 'vitest'
import { testAccount } from '../../../dev/chain'
import { temporaryFolder } from '../../../test/database'
import { shellWords } from '../../../test/documents'
import type { TestWorld } from '../../../test/world'
import { run } from '../src/run'
import { atEnd } from '../../../test/ends'
import { TOWER, positions } from '../../../test/positions'

/**
 * Runs `geo` in its own folder: its source in this process, or the built program as a process for features
 * that need one: signals, a terminal, a surrounding shell.
 */

export const GEO = path.resolve('packages/cli/bin/geo.mjs')
const FIELD = {
  type: 'Polygon' as const,
  coordinates: [positions('13.35 52.51, 13.3515 52.51, 13.3515 52.5109, 13.35 52.5109, 13.35 52.51')],
}
const PATH = {
  type: 'LineString' as const,
  coordinates: positions('13.3777 52.5163, 13.4094 52.5208, 13.4401 52.5051'),
}
const KEY_OF_EXAMPLES = testAccount(4).privateKey

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}
export interface Running {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Output so far. */
  readonly output: { stdout: string; stderr: string }
  readonly ended: Promise<Ended>
  /** Resolves when the output of a stream matches. */
  until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<string>
  /** Sends Ctrl-C. */
  interrupt(): void
}
export interface RunningProcess extends Running {
  readonly child: ChildProcessWithoutNullStreams
}
export interface Shell {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  write(name: string, content: unknown, mode?: number): string
  /** Runs geo with these arguments in this process. */
  geo(args: string[], more?: { env?: NodeJS.ProcessEnv; stdin?: string }): Promise<Ended>
  start(args: string[], env?: NodeJS.ProcessEnv): Running
  /** Runs a command line in this process: words, variables, `< file` and `> file` as in a shell. */
  line(command: string, env?: NodeJS.ProcessEnv): Promise<Ended>
  startLine(command: string, env?: NodeJS.ProcessEnv): Running
  /** Runs geo as a process. */
  process(args: string[], env?: NodeJS.ProcessEnv): RunningProcess
  /** Runs a command line in a real shell that has a `geo` command. */
  sh(command: string, env?: NodeJS.ProcessEnv, shell?: string): RunningProcess
  /**
   * Runs a command line like `sh`, on a terminal; undefined if the system has no suitable `script` program.
   */
  terminal(command: string, env?: NodeJS.ProcessEnv): RunningProcess | undefined
}

/** Creates the folder and the environment of a shell. */
function prepare(world: TestWorld, environment: Record<string, string>) {
  const folder = temporaryFolder()
  const write: Shell['write'] = (name, content, mode = 0o644) => {
    const file = path.join(folder, name)
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    chmodSync(file, mode)
    return file
  }
  write('geo', `#!/bin/sh\nexec '${process.execPath}' '${GEO}' "$@"\n`, 0o755)
  write('tower.geojson', TOWER)
  write('field.geojson', { type: 'Feature', properties: {}, geometry: FIELD })
  write('path.geojson', PATH)
  write('key.txt', `${KEY_OF_EXAMPLES}\n`, 0o600)
  const env: Record<string, string> = {
    HOME: folder,
    PATH: `${folder}${path.delimiter}${process.env.PATH}`,
    GEO_URL: world.url,
    ...Object.fromEntries(
      [...world.chains.values()].map(({ chain, url }) => [
        `GEO_RPC_URL_${chain.slug.toUpperCase().replaceAll('-', '_')}`,
        url,
      ]),
    ),
    ...environment,
  }
  return { folder, write, env }
}

type Watched = Pick<Running, 'output' | 'ended' | 'until'>
interface Streams {
  stdout: Readable
  stderr: Readable
}

/** Collects the output of two streams until `code` resolves. `onText` is called with each part of it. */
function watch(
  name: string,
  streams: Streams,
  code: Promise<number | null>,
  onText: (text: string) => void,
): Watched {
  const output = { stdout: '', stderr: '' }
  const looks = new Set<() => void>()
  for (const stream of ['stdout', 'stderr'] as const) {
    // A character may be split between two chunks.
    const decoder = new StringDecoder()
    streams[stream].on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk)
      output[stream] += text
      onText(text)
      looks.forEach((look) => look())
    })
  }
  let isOver = false
  const ended = code.then((code) => {
    isOver = true
    looks.forEach((look) => look())
    return { code, ...output }
  })
  return {
    ...{ output, ended },
    until: (stream, pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(output[stream])
          if (found) resolve(found[0])
          else if (isOver) reject(new Error(`${name} ended without ${pattern}: ${JSON.stringify(output)}`))
          else return
          looks.delete(look)
        }
        looks.add(look)
        look()
      }),
  }
}

/**
 * Creates a folder with the files of the examples, and with `geo` in the PATH. After the file's tests, it
 * fails if a key was written to any output.
 */
export function openShell(world: TestWorld, environment: Record<string, string> = {}): Shell {
  const { folder, write, env } = prepare(world, environment)
  let written = ''
  atEnd(() => {
    for (let account = 0; account < 10; account++)
      expect(written.toLowerCase()).not.toContain(testAccount(account).privateKey.slice(2).toLowerCase())
  })
  const watched = (name: string, streams: Streams, code: Promise<number | null>) =>
    watch(name, streams, code, (text) => (written += text))
  const start: Shell['start'] = (args, more) => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const stop = new AbortController()
    const context = { ...streams, env: { ...env, ...more }, cwd: folder, signal: stop.signal }
    const code = run(args, context).then(async (code) => {
      for (const stream of [streams.stdout, streams.stderr]) {
        // The wallet of an abandoned request may still write to the stream.
        stream.on('error', () => {}).end()
        await finished(stream)
      }
      return code
    })
    return {
      ...streams,
      ...watched(args.join(' '), streams, code),
      interrupt: () => stop.abort(new Error('Ended by Ctrl-C.')),
    }
  }
  const geo: Shell['geo'] = (args, { env: more, stdin = '' } = {}) => {
    const running = start(args, more)
    running.stdin.end(stdin)
    return running.ended
  }
  const spawned = (file: string, args: string[], more: NodeJS.ProcessEnv = {}): RunningProcess => {
    const child = spawn(file, args, { cwd: folder, env: { ...env, ...more } })
    child.stdin.on('error', () => {})
    const { stdin, stdout } = child
    const code = new Promise<number | null>((resolve) => child.once('close', resolve))
    const interrupt = () => void child.kill('SIGINT')
    return { ...{ child, stdin, stdout, interrupt }, ...watched(args.join(' '), child, code) }
  }
  /** Returns the arguments of geo in a command line. */
  const wordsOf = (command: string, more?: NodeJS.ProcessEnv) => {
    const variables: NodeJS.ProcessEnv = { ...env, ...more }
    const [program, ...words] = shellWords(
      command.replace(/\$(\w+)/g, (_, name: string) => variables[name] ?? ''),
    )
    expect(program).toBe('geo')
    return words
  }
  return {
    ...{ folder, env, write, start, geo },
    startLine: (command, more) => start(wordsOf(command, more), more),
    line: async (command, more) => {
      const words = wordsOf(command, more)
      const operand = (operator: string) => {
        const at = words.indexOf(operator)
        return at < 0 ? undefined : path.join(folder, words.splice(at, 2)[1]!)
      }
      const [to, from] = [operand('>'), operand('<')]
      const ended = await geo(words, { env: more, stdin: from && readFileSync(from, 'utf8') })
      if (to === undefined) return ended
      writeFileSync(to, ended.stdout)
      return { ...ended, stdout: '' }
    },
    process: (args, more) => spawned(process.execPath, [GEO, ...args], more),
    sh: (command, more, shell = 'sh') => spawned(shell, ['-c', command], more),
    terminal: (command, more) =>
      HAS_SCRIPT
        ? spawned('script', ['-qec', command, '/dev/null'], { SHELL: '/bin/sh', TERM: 'xterm', ...more })
        : undefined,
  }
}

/** Only the `script` of util-linux supports -e; macOS and the BSDs have another one. */
const HAS_SCRIPT = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
