import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import type { Statement } from '../api/store/model'
import { Store } from '../api/store/store'
import { PlainError } from '../dev/services'
import type { Bench } from './bench'

/** A requested page, and the minimum of database reads that its response requires. */
export interface Page {
  path: string
  read: (store: Store) => Promise<unknown>
}

/** Statements that the API sends for each of these pages. */
export async function statementsOf(databaseUrl: string, pages: readonly Page[]): Promise<Statement[][]> {
  let sent: Statement[] = []
  class RecordingClient extends Client {
    // `query` of pg has a dozen overloads; this is the one that the API's pool uses.
    override query = ((text: string, values: unknown[], done: never) => {
      sent.push({ text, values })
      return (super.query as (...given: unknown[]) => unknown)(text, values, done)
    }) as never
  }
  const store = new Store(databaseUrl, () => {}, { Client: RecordingClient, max: 1 })
  // This request makes the store read the number of records before the measurement.
  await store.page({ bbox: [0, 0, 1, 1], limit: 1 })
  const statements: Statement[][] = []
  for (const page of pages) {
    sent = []
    await page.read(store)
    statements.push(sent)
  }
  await store.close()
  return statements
}

/**
 * Returns transactions per second of pgbench with these statements, whose parameters are written into the
 * SQL.
 */
export async function runPgbench(
  bench: Bench,
  databaseUrl: string,
  pages: Statement[][],
  { concurrency, seconds }: { concurrency: number; seconds: number },
): Promise<number> {
  const files = pages.map((statements, i) => {
    const file = path.join(bench.folder, `page-${i}.sql`)
    writeFileSync(
      file,
      statements.map((statement) => `${inlined(statement).replaceAll('\n', ' ')};\n`).join(''),
    )
    return ['-f', file]
  })
  const { stdout } = await promisify(execFile)('pgbench', [
    '-n',
    '-c',
    String(concurrency),
    '-j',
    '2',
    '-T',
    String(seconds),
    ...files.flat(),
    databaseUrl,
  ]).catch((error: NodeJS.ErrnoException) => {
    throw new PlainError(
      error.code === 'ENOENT'
        ? 'pgbench is not installed; Debian has it in postgresql-contrib or postgresql-15'
        : `pgbench failed: ${error.message}`,
    )
  })
  return Number(/tps = ([\d.]+)/.exec(stdout)![1])
}

function inlined({ text, values }: Statement): string {
  return text.replace(/\$(\d+)/g, (_, n: string) => {
    const value = values[Number(n) - 1]
    if (typeof value === 'number') return String(value)
    if (Array.isArray(value)) return `'{${value.join()}}'`
    return `'${value instanceof Date ? value.toISOString() : String(value)}'`
  })
}
