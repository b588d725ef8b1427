import { readFileSync } from 'node:fs'

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
  /** Registers a clean-up for the end of the run, whatever its outcome. Clean-ups run in reverse order. */
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
