import path from 'node:path'
import { isatty } from 'node:tty'
import { npmScript } from './config'

/** Milliseconds between two checks that npm, if it runs this process, is still running. */
const LOOK_MS = 500
/** This is read when the module loads, while npm is still running. */
const PARENT = process.ppid
/** True if the process has a terminal, which sends SIGHUP when it closes. */
const HAS_TERMINAL = [0, 1, 2].some((descriptor) => isatty(descriptor))

/**
 * Calls `stop` once, with the reason, when this process must end: on SIGINT or SIGTERM, on SIGHUP of its
 * terminal, when the IPC channel of its parent closes, or when the npm that runs it ends. npm sends a signal
 * only to its shell, which ends and orphans this process. Without npm, the end of the parent has no meaning
 * (nohup, setsid). Without a terminal, SIGHUP has none either: nohup ignores it, but Node resets that at its
 * start. With an IPC channel, the process then ends by process.exit() only.
 */
export function onStop(stop: (reason: string) => void): void {
  let stopping = false
  const once = (reason: string) => {
    if (stopping) return
    stopping = true
    stop(reason)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, once)
  process.on('SIGHUP', HAS_TERMINAL ? once : () => {})
  if (process.send) process.once('disconnect', () => once('its parent process has ended'))
  if (!isRunByNpm()) return
  setInterval(() => process.ppid === PARENT || once('npm has ended'), LOOK_MS).unref()
}

/** True if npm runs this program itself. Its child processes inherit npm's environment too. */
function isRunByNpm(): boolean {
  const program = path.relative(process.cwd(), process.argv[1] ?? '').replaceAll('\\', '/')
  return program !== '' && npmScript().includes(program)
}
