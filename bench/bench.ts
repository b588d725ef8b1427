import { readFileSync } from 'node:fs'

/** The means of a benchmark. */
export interface Bench {
  /**
   * This process's environment with all settings of the service blank, so that no setting or .env of the user
   * leaks in.
   */
  readonly environment: NodeJS.ProcessEnv
  /** The folder for the logs of the processes under test; kept when the benchmark fails. */
  readonly folder: string
  /** Creates an empty database, which is dropped at the end, and returns its URL. */
  createDatabase: () => Promise<string>
  /** Registers a clean-up for the end of the run, in every case. The last one registered runs first. */
  atEnd: (cleanup: () => Promise<void>) => void
  report: (line: string) => void
  /** Called often during long steps. */
  progress: (what: string, done: number, total: number) => void
}

/** Rows with the same columns, whose names include the unit. */
export type Table = readonly Readonly<Record<string, string | number>>[]

/** Memory of a process in MB, from Linux: VmRSS is the present one, VmHWM the peak. */
export function processMegabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number | 'n/a' {
  const kilobytes = processStatus(pid, field)
  return kilobytes ? Math.round(parseInt(kilobytes) / 1024) : 'n/a'
}

/** Processor time that a process has had, in ms, from Linux in steps of 10; undefined elsewhere. */
export function processorMs(pid: number): number | undefined {
  try {
    const [, fields] = /\) (.*)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
    const [user, system] = fields!.split(' ').slice(11, 13)
    return 10 * (Number(user) + Number(system))
  } catch {
    return undefined
  }
}

/** A field of /proc/<pid>/status; undefined when there is no such file or process. */
export function processStatus(pid: number, field: string): string | undefined {
  try {
    return new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}
