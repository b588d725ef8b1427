import { LogLevel, setLogLevelCallback, setRootSink } from '@subsquid/logger'
import pino, { type Logger } from 'pino'

/**
 * The log of a process: a JSON object a line, with `level` as a word, `time` in Unix milliseconds, and `msg`.
 * @param file 1: standard output, 2: standard error
 */
export function openLog(level: string, file: 1 | 2 = 1): Logger {
  return pino(
    { level, base: undefined, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: file, sync: true }),
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
 * Has the loggers of Subsquid, ours among them, write the same lines to standard error. On a terminal they
 * write for people.
 */
export function unifySubsquidLog(level: string): void {
  if (process.stderr.isTTY) return
  const log = openLog(level, 2)
  // pino writes the time itself.
  setRootSink(({ level, msg, time: _, ...rest }) => log[LEVELS[level]](rest, msg))
  // Subsquid's own settings say what it logs otherwise.
  const finer = { debug: LogLevel.DEBUG, trace: LogLevel.TRACE }[level]
  if (finer !== undefined) setLogLevelCallback(() => finer)
}
