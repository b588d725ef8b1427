import { LogLevel, setLogLevelCallback, setRootSink } from '@subsquid/logger'
import pino, { type Logger } from 'pino'

/** Where a log is written: 1 is the standard output, 2 the standard error. Anything else names a file. */
type LogDestination = 1 | 2 | string

/** A log: a JSON object a line, with `level` as a word, `time` in Unix milliseconds, and `msg`. */
export function openLog(level: string, destination: LogDestination = 1): Logger {
  return pino(
    { level, base: undefined, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ dest: destination, sync: true }),
  )
}

const LEVELS = {
  [LogLevel.TRACE]: 'trace',
  [LogLevel.DEBUG]: 'debug',
  [LogLevel.INFO]: 'info',
  [LogLevel.WARN]: 'warn',
  [LogLevel.ERROR]: 'error',
  [LogLevel.FATAL]: 'fatal',
} as const

/**
 * Makes the loggers of Subsquid, ours among them, write the same lines, by default to the standard error. On
 * a terminal they write for people.
 */
export function unifySubsquidLog(level: string, destination: LogDestination = 2): void {
  if (destination === 2 && process.stderr.isTTY) return
  const log = openLog(level, destination)
  // pino writes the time itself.
  setRootSink(({ level, msg, time: _, ...rest }) => log[LEVELS[level]](rest, msg))
  // Subsquid's own settings say what it logs otherwise.
  const finer = { debug: LogLevel.DEBUG, trace: LogLevel.TRACE }[level]
  if (finer !== undefined) setLogLevelCallback(() => finer)
}
