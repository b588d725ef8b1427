import { readFileSync } from 'node:fs'
import type { Service } from '../dev/services'

/** Context of a benchmark. */
export interface Bench {
  /**
   * Environment of this process with all settings of the service blank, so that no setting or .env of the
   * user applies.
   */
  readonly environment: NodeJS.ProcessEnv
  /** Folder for the logs of the processes under test. It is not deleted if the benchmark fails. */
  readonly folder: string
  /** Creates an empty database, which is dropped at the end, and returns its URL. */
  createDatabase: () => Promise<string>
  /** Like createDatabase(), with the tables of the service. */
  migratedDatabase: () => Promise<string>
  /** Starts a process with these arguments of Node, and resolves once it is ready. It ends with the run. */
  start: (name: string, args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<Service>
  /**
   * Registers a clean-up for the end of the run, whatever its outcome. The last one registered runs first.
   */
  atEnd: (cleanup: () => Promise<void>) => void
  report: (line: string) => void
  /** Reports progress. It is called often during long steps. */
  progress: (what: string, done: number, total: number) => void
}

/** Prints rows as a table. Their columns are equal, and column names include the unit. */
export type Table = readonly Readonly<Record<string, string | number>>[]

/** Memory of a process in MB, from Linux: VmRSS is the current value, VmHWM the peak. */
export function processMegabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number | 'n/a' {
  const kilobytes = processStatus(pid, field)
  return kilobytes ? Math.round(parseInt(kilobytes) / 1024) : 'n/a'
}

/** Processor time of a process in ms, in steps of 10 (Linux); undefined on other systems. */
export function processorMs(pid: number): number | undefined {
  try {
    const [, fields] = /\) (.*)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
    const [user, system] = fields!.split(' ').slice(11, 13)
    return 10 * (Number(user) + Number(system))
  } catch {
    return undefined
  }
}

/** Value of a field of /proc/<pid>/status; undefined if there is no such file or process. */
export function processStatus(pid: number, field: string): string | undefined {
  try {
    return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/** Smallest value that is not exceeded by this share of the values; 0 without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

export function rounded(value: number, decimals = 1): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals
}
