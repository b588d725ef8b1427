// SPDX-License-Identifier: MIT
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'

/**
 * Environment of one run: its streams, variables and working directory. A process has only one of each but
 * may execute several runs simultaneously, so commands read them here and never from the process.
 */
export interface Context {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** absolute path against which relative file names are resolved */
  readonly cwd: string
  /** aborts on Ctrl-C and SIGTERM */
  readonly signal: AbortSignal
}
/** Standard input. A terminal sets isTTY. */
export type Input = Readable & Partial<Pick<ReadStream, 'isTTY'>>
/** Standard output or standard error. A terminal sets isTTY. */
export type Output = Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'getColorDepth'>>

/** Decodes UTF-8, or UTF-16 with a byte order mark, in which PowerShell writes files. Removes the mark. */
export function decoded(bytes: Uint8Array): string {
  const mark = `${bytes[0]} ${bytes[1]}`
  const encoding = mark === '255 254' ? 'utf-16le' : mark === '254 255' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

/** Resolves file names of the command line. */
export interface Files {
  /** Returns the path of a file. */
  readonly at: (name: string) => string
  /** Returns a path as the user wrote it, for messages; the path itself if there is none. */
  readonly nameOf: (path: string) => string
}

export function filesIn(cwd: string): Files {
  const names = new Map<string, string>()
  return {
    at: (name) => {
      // Not normalized: the system resolves links before '..', and fails to open an empty name.
      const found = name === '' || path.isAbsolute(name) ? name : `${cwd}${path.sep}${name}`
      names.set(found, name)
      return found
    },
    nameOf: (found) => names.get(found) ?? found,
  }
}
