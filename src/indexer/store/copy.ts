import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { from } from 'pg-copy-streams'

/**
 * Rows by COPY: less than half the work of an INSERT from JSON, for Postgres and for this process. As text,
 * as PostgreSQL's page on COPY describes it ("Text Format").
 */

/** Writes rows, as `copyTexts` gives them, into columns of a table. Throws what Postgres refuses. */
export type Copy = (table: string, columns: readonly string[], texts: readonly string[]) => Promise<void>

/** COPY over a connection. */
export function copyOver(client: ClientBase): Copy {
  return async (table, columns, texts) => {
    const names = columns.map((column) => `"${column}"`).join()
    await pipeline(Readable.from(texts), client.query(from(`COPY ${table} (${names}) FROM STDIN`)))
  }
}

/** Characters of a text, roughly: a JavaScript string holds half a billion. */
const TEXT_LENGTH = 1_000_000

/** Rows with these columns as texts of whole lines. */
export function copyTexts(rows: readonly object[], columns: readonly string[]): string[] {
  const texts: string[] = []
  let text = ''
  for (const row of rows) {
    for (let i = 0; i < columns.length; i++) {
      if (i > 0) text += '\t'
      text += valueText((row as Record<string, unknown>)[columns[i]!])
    }
    text += '\n'
    if (text.length < TEXT_LENGTH) continue
    texts.push(text)
    text = ''
  }
  if (text) texts.push(text)
  return texts
}

/** A value as COPY reads it: text, numbers, booleans, times, bytes, lists of texts, and JSON. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return escaped(value)
  if (value === null || value === undefined) return '\\N'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`
  if (Array.isArray(value)) return value.length ? escaped(listText(value as string[])) : '{}'
  return escaped(JSON.stringify(value))
}

/** An array of texts as Postgres reads it (PostgreSQL, "Array Input and Output Syntax"). */
function listText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`
}

const SPECIAL = /[\\\n\r\t]/
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\n\r\t]/g, (special) => ESCAPES[special]!) : text
}
