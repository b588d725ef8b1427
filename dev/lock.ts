import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { PlainError } from './services'

/** Folder of the local world that `npm start` stores, relative to the root of the clone. */
export const LOCAL_FOLDER = '.local'
export const QUORUM_FOLDER = path.join(LOCAL_FOLDER, 'quorum')

/** Description by which the process that uses a folder identifies itself. */
export interface Holder {
  readonly pid: number
  /** ISO 8601 */
  readonly since: string
  /** ports by the names of their settings */
  readonly ports: Readonly<Record<string, number>>
}

/**
 * Makes this process the only user of the folder until it ends or calls the returned function. The lock is a
 * socket on which its holder describes itself: if nobody responds, nobody holds it. Throws a PlainError if
 * another process holds it.
 */
export async function lockFolder(folder: string, ports: Holder['ports']): Promise<() => Promise<void>> {
  const place = socketOf(folder)
  const holder: Holder = { pid: process.pid, since: new Date().toISOString(), ports }
  const server = createServer((socket) => socket.on('error', () => {}).end(JSON.stringify(holder)))
  const listening = () =>
    new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      )
      server.listen(place, () => resolve(true))
    })
  if (!(await listening())) {
    const other = await holderOf(folder)
    if (other)
      throw new PlainError(
        `${path.relative('', folder)} contains a local world that is already running: ` +
          `${described(other)}.\nUse that one, or stop it first (Ctrl-C where it runs, or kill ` +
          `${other.pid}). To run a second one, clone the repository again.`,
      )
    // The process that held the lock was killed.
    rmSync(place, { force: true })
    if (!(await listening())) return lockFolder(folder, ports)
  }
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}

/** Process that uses the folder now; undefined if there is none. */
export async function holderOf(folder: string): Promise<Holder | undefined> {
  const socket = connect(socketOf(folder))
  try {
    return (await json(socket)) as Holder
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // There is no socket, or it is left over from a killed process.
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined
    throw error
  }
}

/** Describes a holder, such as `process 4711, since 2026-11-22T02:40:11Z, PORT 3000, LOCAL_DB_PORT 5433`. */
export function described({ pid, since, ports }: Holder): string {
  return [
    `process ${pid}`,
    `since ${since}`,
    ...Object.entries(ports).map(([setting, port]) => `${setting} ${port}`),
  ].join(', ')
}

/** Path of the socket, relative if that is shorter: it may have at most a hundred characters. */
function socketOf(folder: string): string {
  if (process.platform === 'win32') return path.join('\\\\?\\pipe', path.resolve(folder), 'running')
  const absolute = path.resolve(folder, 'running.socket')
  const relative = path.relative('', absolute)
  return relative.length < absolute.length ? relative : absolute
}
