import type { AnswerFields } from '../../src/answer'
import { isAny, PROVENANCE_TEXT, type OneOrMore, type Statement } from '../store'
import type { Position } from '../http/paging'

/** The SQL of answers that have landed: the tables answer, and answer_attester of whose they are. */

export interface AnswerFilter {
  chain?: OneOrMore
  /** lower-case, as the next */
  attester?: OneOrMore
  recipient?: OneOrMore
  schema?: OneOrMore
  /** `distance`, `within` with whatever radius, or `within:50000` */
  operation?: OneOrMore
  /** References of inputs, of which an answer has one: 32 bytes in hex, lower-case. */
  input?: OneOrMore
  revoked?: boolean
  /** exclusive, as the next */
  after?: Date
  before?: Date
  /** Only these: `<chain>-<uid>` */
  ids?: readonly string[]
}

export interface AnswerQuery extends AnswerFilter {
  limit: number
  /** Default: the newest first. */
  ascending?: boolean
  /** Only answers after this position. */
  from?: Position | undefined
}

/** An answer as the query gives it. */
export interface AnswerResult extends AnswerFields {
  id: string
  /** JSON as text (api/store/provenance.ts) */
  provenance: string
}

const COLUMNS = `id, uid, chain, attester, recipient, operation, result, units, value::text AS value, input_refs,
  computed_at, timestamp, revoked, ${PROVENANCE_TEXT} AS provenance`

/**
 * Answers in a total order. Uses the indexes (timestamp, id), (attester, timestamp), (recipient, timestamp),
 * (operation, timestamp), that of names of operations, and the GIN index of references.
 */
export function answersQuery(query: AnswerQuery): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const { chain, attester, recipient, schema, operation, input, revoked, after, before } = query
  const { ids, from, limit, ascending = false } = query
  const where: string[] = []
  for (const [column, wanted] of Object.entries({ chain, attester, recipient, schema_uid: schema, id: ids }))
    if (wanted !== undefined) where.push(isAny(column, wanted, value))
  if (operation !== undefined)
    where.push(
      `(${each(operation)
        .map((text) => isOperation(text, value))
        .join(' OR ')})`,
    )
  if (input !== undefined) where.push(`input_refs && ${value(each(input))}::text[]`)
  if (revoked !== undefined) where.push(`revoked = ${value(revoked)}`)
  if (after) where.push(`timestamp > ${value(after)}`)
  if (before) where.push(`timestamp < ${value(before)}`)
  if (from)
    where.push(`(timestamp, id) ${ascending ? '>' : '<'} (${value(new Date(from.at))}, ${value(from.id)})`)
  const direction = ascending ? 'ASC' : 'DESC'
  return {
    text: `SELECT ${COLUMNS} FROM answer ${where.length ? `WHERE ${where.join(' AND ')}` : ''}
      ORDER BY timestamp ${direction}, id ${direction} LIMIT ${value(limit)}`,
    values,
  }
}

function each(values: OneOrMore): readonly string[] {
  return typeof values === 'string' ? [values] : values
}

/** An operation by its name, or with its numbers. */
function isOperation(text: string, value: (v: unknown) => string): string {
  return `${text.includes(':') ? 'operation' : "split_part(operation, ':', 1)"} = ${value(text)}`
}

/** Notes an attester (lower-case) that has attested nothing in blocks below the first. */
export function attesterStatement(chain: string, address: string, firstBlock: number): Statement {
  return {
    text: `INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, $3)
      ON CONFLICT (chain, address) DO NOTHING`,
    values: [chain, address, firstBlock],
  }
}
