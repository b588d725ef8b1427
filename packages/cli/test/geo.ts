import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import { testAccount } from '../../../dev/chain'
import { removeFolder, temporaryFolder } from '../../../test/database'
import type { TestWorld } from '../../../test/world'

/** Runs the built `geo` as its users do: a process of its own, in a folder of its own. */

export const GEO = path.resolve('packages/cli/bin/geo.mjs')
export const TOWER = { type: 'Point' as const, coordinates: [2.2945, 48.8584] }
const FIELD = {
  type: 'Polygon' as const,
  coordinates: [
    [
      [13.35, 52.51],
      [13.3515, 52.51],
      [13.3515, 52.5109],
      [13.35, 52.5109],
      [13.35, 52.51],
    ],
  ],
}
const PATH = {
  type: 'LineString' as const,
  coordinates: [
    [13.3777, 52.5163],
    [13.4094, 52.5208],
    [13.4401, 52.5051],
  ],
}
const KEY_OF_EXAMPLES = testAccount(4).privateKey

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}
export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  /** What it has written so far. */
  readonly output: { stdout: string; stderr: string }
  readonly ended: Promise<Ended>
  /** Resolves when one of its outputs matches. */
  until(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<string>
}
export interface Shell {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  write(name: string, content: unknown, mode?: number): string
  /** Runs geo with these arguments. */
  geo(args: string[], more?: { env?: NodeJS.ProcessEnv; stdin?: string }): Promise<Ended>
  start(args: string[], env?: NodeJS.ProcessEnv): Running
  /** Runs a command line in which `geo` is a command. */
  sh(command: string, env?: NodeJS.ProcessEnv, shell?: string): Running
  /** The same on a terminal; undefined where there is no `script` to make one. */
  terminal(command: string, env?: NodeJS.ProcessEnv): Running | undefined
  /** Fails when a key was ever written to an output. */
  close(): void
}

/** A folder with the files of the examples, and `geo` in the PATH. */
export function openShell(world: TestWorld, environment: Record<string, string> = {}): Shell {
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
  let written = ''
  const run = (file: string, args: string[], more: NodeJS.ProcessEnv = {}): Running => {
    const child = spawn(file, args, { cwd: folder, env: { ...env, ...more } })
    const output = { stdout: '', stderr: '' }
    const looks = new Set<() => void>()
    for (const stream of ['stdout', 'stderr'] as const)
      // A character may lie in two chunks.
      child[stream].setEncoding('utf8').on('data', (chunk: string) => {
        output[stream] += chunk
        written += chunk
        looks.forEach((look) => look())
      })
    child.stdin.on('error', () => {})
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code) => {
        resolve({ code, ...output })
        looks.forEach((look) => look())
      }),
    )
    return {
      ...{ child, output, ended },
      until: (stream, pattern) =>
        new Promise((resolve, reject) => {
          const look = () => {
            const found = pattern.exec(output[stream])
            if (found) resolve(found[0])
            else if (child.exitCode !== null || child.signalCode !== null)
              reject(new Error(`${args.join(' ')} ended without ${pattern}: ${JSON.stringify(output)}`))
            else return
            looks.delete(look)
          }
          looks.add(look)
          look()
        }),
    }
  }
  const start: Shell['start'] = (args, more) => run(process.execPath, [GEO, ...args], more)
  return {
    ...{ folder, env, write, start },
    geo: (args, { env: more, stdin = '' } = {}) => {
      const { child, ended } = start(args, more)
      child.stdin.end(stdin)
      return ended
    },
    sh: (command, more, shell = 'sh') => run(shell, ['-c', command], more),
    terminal: (command, more) =>
      HAS_SCRIPT
        ? run('script', ['-qec', command, '/dev/null'], { SHELL: '/bin/sh', TERM: 'xterm', ...more })
        : undefined,
    close: () => {
      removeFolder(folder)
      for (let account = 0; account < 10; account++)
        expect(written.toLowerCase()).not.toContain(testAccount(account).privateKey.slice(2).toLowerCase())
    },
  }
}

/** util-linux's `script`, which knows -e; that of macOS and the BSDs does not. */
const HAS_SCRIPT = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
