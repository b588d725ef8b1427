// SPDX-License-Identifier: MIT
import { createHash } from 'node:crypto'
import { InvalidInputError, type Geo, type Question, type Submission } from '@geospatial-attestation/client'
import { cut } from '../../../src/cut'
import { withRoundableLengths } from '../../../src/operations/lengths'
import { OPERATION_ROWS } from '../../../src/operations/table'
import { UsageError } from './exit'
import { parsed, written } from './inputs'

/** Parses the lines of `geo batch`: questions, each with the key by which the journal identifies it. */

export interface Line {
  /** starts at 1 */
  number: number
  /** hash of the question and its settings; equal questions are numbered */
  key: string
  asked: Asked | { problem: string }
}
export interface Asked {
  chainId: number
  question: Question
  /** `id` of the line, which the result repeats */
  id?: unknown
}

export interface BatchDefaults {
  chain: () => Promise<{ id: number }>
  schema?: string
  recipient?: string
  submission?: Submission
}

const GEOMETRIES = new Set(
  OPERATION_ROWS.flatMap(([, { inputs }]) => inputs.flatMap(({ name, aliases = [] }) => [name, ...aliases])),
)

/** Parses the lines of a file. Empty lines are skipped, but counted in line numbers. */
export async function linesOf(text: string, geo: Geo, defaults: BatchDefaults): Promise<Line[]> {
  const lines: Line[] = []
  const seen = new Map<string, number>()
  for (const [i, content] of text.split('\n').entries()) {
    if (!content.trim()) continue
    let asked: Line['asked']
    try {
      asked = await askedIn(content, geo, defaults)
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof InvalidInputError)) throw error
      asked = { problem: error.message }
    }
    const same = 'question' in asked ? [asked.chainId, asked.question, defaults.submission] : [content]
    const hash = createHash('sha256').update(JSON.stringify(same)).digest('hex')
    const before = seen.get(hash) ?? 0
    seen.set(hash, before + 1)
    lines.push({ number: i + 1, key: before ? `${hash}.${before}` : hash, asked })
  }
  return lines
}

async function askedIn(
  content: string,
  geo: Geo,
  { chain, schema, recipient }: BatchDefaults,
): Promise<Asked> {
  const value = parsed(withRoundableLengths(content))
  if (typeof value !== 'object' || value === null || !('operation' in value))
    throw new UsageError(
      'The line is not a question: expected a JSON object such as ' +
        '{"operation":"distance","from":"2.2945,48.8584","to":"13.3777,52.5163"}.',
    )
  const { id: _, chain: slug, chainId = slug, ...fields } = value as Record<string, unknown>
  const { id } = parsed(withoutRoundedNumbers(content)) as { id?: unknown }
  JSON.stringify(id, (_key, part: unknown) => {
    if (typeof part === 'number' && !Number.isFinite(part))
      throw new UsageError('id: expected text, or a number that a double holds exactly. Write it in quotes.')
    return part
  })
  const named = chainId === undefined ? await chain() : await geo.chain(chainId as string | number)
  const question: Record<string, unknown> = {
    ...(schema && { schema }),
    ...(recipient && { recipient }),
    ...fields,
  }
  for (const name of GEOMETRIES)
    if (typeof question[name] === 'string') question[name] = place(name, question[name])
  return { chainId: named.id, question: question as unknown as Question, ...(id !== undefined && { id }) }
}

/** Maximum number of significant digits of a decimal that each double holds. */
const DIGITS_OF_A_DOUBLE = 15

/** Replaces numbers of a JSON text by Infinity if a double rounds them: two ids could become equal. */
function withoutRoundedNumbers(json: string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g, (token) => {
    const digits = token.replace(/e.*/i, '').replace(/\D/g, '').replace(/^0+/, '')
    const isLost = digits !== '' && Number(token) === 0
    const isKept = token.startsWith('"') || (digits.length <= DIGITS_OF_A_DOUBLE && !isLost)
    return isKept || token === String(Number(token)) ? token : '1e999'
  })
}

/** Parses a position or a UID. File names are rejected: a file of questions must not read other files. */
function place(name: string, text: string): unknown {
  const found = written(text.trim())
  if (found !== undefined) return found
  throw new UsageError(
    `${name}: expected lng,lat, a UID (0x and 64 hex digits) or GeoJSON, got '${cut(text, 80)}'.`,
  )
}
