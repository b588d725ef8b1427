import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'

/**
 * Surroundings of one run: its streams, environment and folder. A process has one of each, but may have many
 * runs at the same time. So commands read them here, never from the process.
 */
export interface Context {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** absolute path of the folder that relative file names start from */
  readonly cwd: string
  /** aborts on Ctrl-C */
  readonly signal: AbortSignal
}
/** Standard input; a terminal sets isTTY. */
export type Input = Readable & Partial<Pick<ReadStream, 'isTTY'>>
/** Standard output or standard error; a terminal sets isTTY. */
export type Output = Writable & Partial<Pick<WriteStream, 'isTTY' | 'columns' | 'getColorDepth'>>

/** Files as they are named on a command line. */
export interface Files {
  /** The path of a file. */
  readonly at: (name: string) => string
  /** The name under which a path was asked for, for messages; the path itself if it was not. */
  readonly nameOf: (path: string) => string
}

export function filesIn(cwd: string): Files {
  const names = new Map<string, string>()
  return {
    at: (name) => {
      // The system resolves links before '..', so the name stays as it is. An empty one names no file.
      const found = name === '' || path.isAbsolute(name) ? name : `${cwd}${path.sep}${name}`
      names.set(found, name)
      return found
    },
    nameOf: (found) => names.get(found) ?? found,
  }
}
