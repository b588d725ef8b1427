import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'

/** A process of the service that was started here and logs to a file. */
export interface Service {
  readonly name: string
  readonly pid: number
  /** sends settings to a program that dev/held.ts delays, which then runs */
  release(settings: NodeJS.ProcessEnv): void
  /** resolves when it has ended, with its exit code, or the signal that ended it */
  readonly ended: Promise<number | NodeJS.Signals>
  /** resolves when it reports over IPC or on its output that it is ready; rejects if it ends before */
  readonly ready: Promise<void>
  /** requests its end and waits for it; kills the process after STOP_TIMEOUT_MS */
  stop(): Promise<void>
  kill(): Promise<void>
  tail(): string
}

/** Error whose message is for the user. It is printed without a stack trace. */
export class PlainError extends Error {}

/** The limit is long, because a busy machine is slow to write its data. */
const STOP_TIMEOUT_MS = 20_000

/** Starts `node <args>` with this environment. Its output goes to <logFolder>/<name>.log. */
export function startService(
  name: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  logFolder: string,
): Service {
  mkdirSync(logFolder, { recursive: true })
  const file = path.join(logFolder, `${name}.log`)
  const log = openSync(file, 'a')
  const child = spawn(process.execPath, args, { env: environment, stdio: ['ignore', log, log, 'ipc'] })
  closeSync(log)
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal!)),
  )
  const tail = () => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n')
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', () => resolve())
    child.once('error', reject)
    void ended.then((code) =>
      reject(
        new PlainError(
          `${name} ended (${code}) before it was ready. Its log, ${file}, ends with:\n${tail()}`,
        ),
      ),
    )
  })
  ready.catch(() => {})
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  return {
    name,
    pid: child.pid ?? 0,
    ended,
    ready,
    release: (settings) => void child.send(settings, () => {}),
    tail,
    kill: () => end('SIGKILL'),
    stop: async () => {
      const insist = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await end('SIGTERM')
      clearTimeout(insist)
    },
  }
}

/** Throws a PlainError if the port is in use. `remedy` has another value of the setting, and the command. */
export async function requireFreePort(
  port: number,
  setting: string,
  purpose: string,
  remedy = `${port + 1} npm start`,
): Promise<void> {
  if (!(await isFree(port)))
    throw new PlainError(
      `Port ${port} is in use, but the ${purpose} needs it. Stop what listens there, or choose another port: ${setting}=${remedy}`,
    )
}

/** Range below the ports that systems assign automatically: from 32768 on Linux, from 49152 elsewhere. */
const [LOWEST_PORT, HIGHEST_PORT] = [16_000, 32_000]

/**
 * Returns the first of `count` consecutive free ports. They stay reserved while this process runs: no other
 * caller in this or another process gets them, however late the program that uses them starts to listen.
 */
export async function freePort(count = 1): Promise<number> {
  for (;;) {
    const first = randomInt(LOWEST_PORT, HIGHEST_PORT - count)
    const reserved: (Socket | undefined)[] = []
    for (let port = first; port < first + count; port++) reserved.push(await reserve(port))
    if (!reserved.includes(undefined)) return first
    for (const socket of reserved) socket?.close()
  }
}

/** Reserves a TCP port by binding the UDP port with the same number; undefined if it is in use. */
async function reserve(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref()
  try {
    socket.bind(port, '127.0.0.1')
    await once(socket, 'listening')
    if (await isFree(port)) return socket
  } catch {
    // Another process has reserved this port.
  }
  socket.close()
  return undefined
}

function isFree(port: number): Promise<boolean> {
  if (port > 65_535) return Promise.resolve(false)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** True if a process of this machine has this id. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
