import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import { PlainError, type Service } from '../dev/services'

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
  /** Opens a connection to a database, which ends with the run. */
  connect: (databaseUrl: string) => Promise<Client>
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

/** Names of the parts of a benchmark to run, separated by semicolons; all parts if not set. */
export const KINDS = process.env.BENCH_KINDS?.split(';')
export const isAsked = (kind: string): boolean => !KINDS || KINDS.includes(kind)

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

/** Median duration of this many runs, in milliseconds. */
export async function medianMs(times: number, work: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let i = 0; i < times; i++) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  return percentile(took, 0.5)
}

/** Milliseconds between two checks of an indexer's progress in the database: the precision of its times. */
const POLL_MS = 50
/** Milliseconds without a new row after which an indexer is stalled. */
const STALLED_MS = 30 * 60_000

/**
 * Resolves when a table has `wanted` of `total` rows. Throws if the indexer that writes them ends before, or
 * is stalled.
 */
export async function rowsReached(
  { progress }: Bench,
  client: Client,
  table: string,
  indexer: Service,
  wanted: number,
  total: number,
): Promise<void> {
  let end: number | string | undefined
  void indexer.ended.then((code) => (end = code))
  let [last, grown] = [0, performance.now()]
  for (;;) {
    const { rows } = await client
      .query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`)
      .catch((error: { code?: string }) => {
        // The indexer creates its table at its start.
        if (error.code === '42P01') return { rows: [] }
        throw error as Error
      })
    const count = rows[0]?.count ?? 0
    progress(`indexed by ${indexer.name}`, count, total)
    if (count >= wanted) return
    if (end !== undefined) throw new PlainError(`${indexer.name} ended (${end}):\n${indexer.tail()}`)
    if (count > last) [last, grown] = [count, performance.now()]
    if (performance.now() - grown > STALLED_MS)
      throw new PlainError(`${indexer.name} is stalled at ${count} rows:\n${indexer.tail()}`)
    await pause(POLL_MS)
  }
}

export function rounded(value: number, decimals = 1): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals
}
