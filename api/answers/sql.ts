import type { AnswerFields } from '../../src/answer'
import { isAny, PROVENANCE_TEXT, statement, type Bind, type OneOrMore, type Statement } from '../store'
import type { Position } from '../http/paging'

/** SQL of answers that have landed: the table answer, and answer_attester with their attesters. */

export interface AnswerFilter {
  chain?: OneOrMore
  /** lower case, like `recipient` */
  attester?: OneOrMore
  recipient?: OneOrMore
  schema?: OneOrMore
  /** `distance`, `within` with any radius, or `within:50000` */
  operation?: OneOrMore
  /** References of inputs, 32 bytes in lower-case hex. An answer must have at least one of them. */
  input?: OneOrMore
  revoked?: boolean
  /** exclusive, like `before` */
  after?: Date
  before?: Date
  /** Only answers with these IDs: `<chain>-<uid>` */
  ids?: readonly string[]
}

export interface AnswerQuery extends AnswerFilter {
  limit: number
  /** Default: newest first. */
  ascending?: boolean
  /** Only answers after this position. */
  from?: Position | undefined
}

/** Answer as the query returns it. */
export interface AnswerResult extends AnswerFields {
  id: string
  /** JSON as text (api/store/provenance.ts) */
  provenance: string
}

const COLUMNS = `id, uid, chain, attester, recipient, operation, result, units, value::text AS value, input_refs,
  computed_at, timestamp, revoked, ${PROVENANCE_TEXT} AS provenance`

/** Reads answers in a total order, by an index of the attester, recipient, operation or input if given. */
export function answersQuery(query: AnswerQuery): Statement {
  const { from, limit, ascending = false } = query
  const direction = ascending ? 'ASC' : 'DESC'
  return statement((value) => {
    const where = answerConditions(query, value)
    if (from)
      where.push(`(timestamp, id) ${ascending ? '>' : '<'} (${value(new Date(from.at))}, ${value(from.id)})`)
    return `SELECT ${COLUMNS} FROM answer ${where.length ? `WHERE ${where.join(' AND ')}` : ''}
      ORDER BY timestamp ${direction}, id ${direction} LIMIT ${value(limit)}`
  })
}

/** SQL conditions that a passing answer satisfies. */
export function answerConditions(filter: AnswerFilter, value: Bind): string[] {
  const { chain, attester, recipient, schema, operation, input, revoked, after, before, ids } = filter
  const where: string[] = []
  for (const [column, wanted] of Object.entries({ chain, attester, recipient, schema_uid: schema, id: ids }))
    if (wanted !== undefined) where.push(isAny(column, wanted, value))
  if (operation !== undefined)
    where.push(
      `(${[operation]
        .flat()
        .map((text) => isOperation(text, value))
        .join(' OR ')})`,
    )
  if (input !== undefined) where.push(`input_refs && ${value([input].flat())}::text[]`)
  if (revoked !== undefined) where.push(`revoked = ${value(revoked)}`)
  if (after) where.push(`timestamp > ${value(after)}`)
  if (before) where.push(`timestamp < ${value(before)}`)
  return where
}

/** SQL that is true for an operation with this name, or with this name and number. */
function isOperation(text: string, value: Bind): string {
  return `${text.includes(':') ? 'operation' : "split_part(operation, ':', 1)"} = ${value(text)}`
}

/** Stores an attester (lower case) that has attested nothing in blocks below `firstBlock`. */
export function attesterStatement(chain: string, address: string, firstBlock: number): Statement {
  return {
    text: `INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, $3)
      ON CONFLICT (chain, address) DO NOTHING`,
    values: [chain, address, firstBlock],
  }
}
