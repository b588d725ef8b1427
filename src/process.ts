import path from 'node:path'
import { npmScript } from './config'

/** How often a process that npm runs looks whether npm is still there. */
const LOOK_MS = 500
/** Noted as early as can be. */
const PARENT = process.ppid

/**
 * Calls `stop`, once, with the reason, when this process has to end: on a signal (SIGINT, SIGTERM, SIGHUP), when whoever
 * started it with an IPC channel has gone, or when the npm that runs it has. npm passes a signal on to its shell only,
 * which dies of it and leaves this process to the system. Without npm a parent that goes away (nohup, setsid) means nothing.
 * An IPC channel keeps the process alive from then on: it ends by process.exit() only.
 */
export function onStop(stop: (reason: string) => void): void {
  let stopping = false
  const once = (reason: string) => {
    if (stopping) return
    stopping = true
    stop(reason)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, once)
  if (process.send) process.once('disconnect', () => once('its parent has gone'))
  if (!isRunByNpm()) return
  setInterval(() => process.ppid === PARENT || once('npm has gone'), LOOK_MS).unref()
}

/** Whether the npm script that is running is this very program: what such a program starts inherits npm's environment, too. */
function isRunByNpm(): boolean {
  const program = path.relative(process.cwd(), process.argv[1] ?? '').replaceAll('\\', '/')
  return program !== '' && npmScript().includes(program)
}
