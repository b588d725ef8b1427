import { LogLevel, setLogLevelCallback, setRootSink } from '@subsquid/logger'
import pino, { type Level, type Logger } from 'pino'
import { onOneLine } from './strict-json'

/** Destination of a log: 1 for standard output, 2 for standard error, or the path of a file. */
type LogDestination = 1 | 2 | string

/** Opens a log: one JSON object per line, with `level` as a word, `time` in Unix milliseconds, and `msg`. */
export function openLog(level: string, destination: LogDestination = 1): Logger {
  return pino(
    {
      ...{ level, base: undefined, formatters: { level: (label) => ({ level: label }) } },
      hooks: { streamWrite: onOneLine },
    },
    pino.destination({ dest: destination, sync: true }),
  )
}

/** Makes all loggers of Subsquid, and of this project, write these lines; on a terminal readable text. */
export function unifySubsquidLog(level: string, destination: LogDestination = 2): void {
  // With the default, info, Subsquid's own settings decide what is logged. Nothing reaches the level silent.
  const named = LogLevel[level.toUpperCase() as keyof typeof LogLevel] ?? Infinity
  const least = level === 'info' ? undefined : named
  setLogLevelCallback(() => least)
  if (destination === 2 && process.stderr.isTTY) return
  const log = openLog(level, destination)
  // pino writes the time itself.
  setRootSink(({ level, msg, time: _, ...rest }) => log[LogLevel[level].toLowerCase() as Level](rest, msg))
}

/** Returns the text with each HTTP URL replaced by its host, because its other parts may contain a key. */
export function withoutUrls(text: string): string {
  return text.replace(/https?:\/\/(?:[^\s/?#@]*@)?([^\s/?#"',]+)\S*/gi, '$1')
}
