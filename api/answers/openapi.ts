import { Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { CHAINS, chainNamed } from '../../src/chains'
import { parseUid } from '../../src/eas'
import { OPERATIONS, readLabel } from '../../src/operations'
import {
  HTML,
  UID,
  recordsError,
  ref,
  text,
  type Schema,
  formats,
  RECORDS_ERRORS,
} from '../http/openapi-components'
import {
  BOM,
  checkBom,
  DEFAULT_LIMIT,
  FILTERS,
  groupParameters,
  MAX_LIMIT,
  readAddress,
  RECORD_PATH,
} from '../query'
import { groupsSchema } from '../formats'
import {
  choiceParameter,
  invalid,
  queryOf,
  severalReader,
  type QueryOf,
  wholeParameter,
  textParameter,
} from '../http/parameters'
import { listTag, MAX_CURSOR_LENGTH, positionIn } from '../http/paging'
import { chooseFormat } from '../http/accept'
import { objectOf } from '../http/schema'
import { ANSWER_DIMENSIONS, PROVENANCE_FIELDS } from '../store'
import type { AnswerFilter, AnswerQuery } from './sql'

const NAMES = Object.keys(OPERATIONS)

/** Reads any known chain: answers are also signed for chains that are coming soon. */
function readKnownChain(given: string, name: string): string {
  const chain = chainNamed(given)
  if (!chain) throw invalid(name, `Known chains: ${CHAINS.map(({ slug }) => slug).join(', ')}`)
  return chain.slug
}
function readOperation(given: string, name: string): string {
  if (!NAMES.includes(given) && !readLabel(given))
    throw invalid(name, `Expected ${NAMES.join(', ')}, or within:<radius in centimetres>`)
  return given
}
function readInput(given: string, name: string): string {
  const reference = parseUid(given)
  if (reference === undefined)
    throw invalid(
      name,
      'Expected the UID of an attestation, or the reference of a geometry: 0x and 64 hex digits',
    )
  return reference
}

const LIST_FORMATS = ['json', 'ndjson', 'csv', 'html'] as const
export const ANSWER_FORMATS = ['json', 'html'] as const
const FORMAT_TEXT = 'Default: the format that the Accept header prefers, otherwise JSON.'
const addresses = (description: string) =>
  textParameter(
    `${description}, in any letter case. Several: separated by commas.`,
    severalReader(readAddress),
  )

const ANSWER_FILTERS = {
  chain: textParameter(
    `Slug of a chain: ${CHAINS.map(({ slug }) => slug).join(', ')}; an alias, or its ID. Several: separated by commas.`,
    severalReader(readKnownChain),
    { examples: ['base-sepolia', '84532,42220'] },
  ),
  attester: addresses('Attester as recorded by EAS: the signer of this service, or the proxy of the chain'),
  recipient: addresses('Recipient of the attestation'),
  operation: textParameter(
    `${NAMES.join(', ')}; \`within\` with any radius, \`within:50000\` with this one (in centimetres). Several: separated by commas.`,
    severalReader(readOperation),
    { examples: ['distance', 'within:50000'] },
  ),
  input: textParameter(
    'Input of an answer: the UID of an attestation, or the reference of a geometry (`POST ' +
      '/compute/v0/reference`). Several: separated by commas; an answer must have one of them.',
    severalReader(readInput),
  ),
  schema: FILTERS.schema,
  revoked: FILTERS.revoked,
  fromTimestamp: FILTERS.fromTimestamp,
  toTimestamp: FILTERS.toTimestamp,
}
const LIST_QUERY = queryOf({
  ...ANSWER_FILTERS,
  sort: choiceParameter(
    ['-timestamp', 'timestamp'],
    "Order by the time of the attestation's block; `-` is descending.",
    { default: '-timestamp' },
  ),
  limit: wholeParameter(
    1,
    `Maximum number of answers. JSON and HTML: default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT}. ` +
      'Other formats contain all matching answers by default.',
  ),
  format: choiceParameter(LIST_FORMATS, FORMAT_TEXT),
  cursor: textParameter('`next_cursor` of the previous page, with the same filters and sort.', String, {
    maxLength: MAX_CURSOR_LENGTH,
  }),
  bom: BOM,
})
const ANSWER_QUERY = queryOf({
  chain: textParameter('Slug of its chain, an alias, or its ID.', readKnownChain, {
    examples: ['base-sepolia'],
  }),
  format: choiceParameter(ANSWER_FORMATS, FORMAT_TEXT),
})

export const STATISTICS_QUERY = queryOf({
  ...ANSWER_FILTERS,
  ...groupParameters(ANSWER_DIMENSIONS, 'operation'),
})

/** Reads a request, and the tag of its cursors. Throws a RecordsError for an invalid combination. */
export function answersRequest(
  query: typeof LIST_QUERY.static,
  accept: string | undefined,
): AnswerQuery & { tag: string; format: (typeof LIST_FORMATS)[number]; bom: boolean } {
  const { sort, limit, cursor, format: wanted, bom = false, ...filters } = query
  const format = chooseFormat(wanted, accept, LIST_FORMATS)
  checkBom(bom, format)
  const filter = answerFilter(filters)
  const ascending = sort === 'timestamp'
  const tag = listTag(['answers', ascending, Object.entries(filter).sort()])
  return {
    ...filter,
    ascending,
    tag,
    format,
    bom,
    limit:
      format === 'json' || format === 'html'
        ? Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT)
        : (limit ?? Infinity),
    from: cursor === undefined ? undefined : positionIn(cursor, tag),
  }
}

export function answerFilter({
  fromTimestamp: after,
  toTimestamp: before,
  given: _,
  ...filters
}: QueryOf<typeof ANSWER_FILTERS>): AnswerFilter {
  return { ...filters, ...(after && { after }), ...(before && { before }) }
}

// --- Responses ---

const ADDRESS = { pattern: '^0x[0-9a-fA-F]{40}$' }
const TIME = { format: 'date-time' }
const FIELDS: Readonly<Record<string, Schema>> = {
  uid: text('UID of the attestation.', UID),
  chain: text('Slug of its chain.'),
  attester: text(
    'Attester as recorded by EAS: the signer of this service, or the proxy of the chain, which ' +
      'accepts signatures of this service only.',
    ADDRESS,
  ),
  recipient: text('Recipient of the attestation.', ADDRESS),
  operation: text('Such as `distance`, or `within:50000` (a radius in centimetres).'),
  result: {
    oneOf: [{ type: 'number' }, { type: 'boolean' }],
    description: 'Result: a number in `units`, or a boolean.',
  },
  units: { type: ['string', 'null'], description: '`meters` or `square_meters`; null for booleans.' },
  value: {
    type: ['string', 'null'],
    description:
      'Integer that a contract reads, in centimetres or square centimetres, as a string; null for booleans.',
  },
  input_refs: {
    type: 'array',
    description: 'Inputs, in order: UIDs of attestations, or references of geometries.',
    items: text('32 bytes in hex.', UID),
  },
  computed_at: text('Time of the computation.', TIME),
  timestamp: text("Time of the attestation's block.", TIME),
  revoked: { type: 'boolean', description: 'True if it was revoked.' },
  ...Object.fromEntries(Object.entries(PROVENANCE_FIELDS).map(([name, field]) => [name, { ...field }])),
}
export const ANSWER_FIELDS: readonly string[] = Object.keys(FIELDS)
export const ANSWERS_COMPONENTS: Readonly<Record<string, Schema>> = {
  LandedAnswer: {
    type: 'object',
    description: 'An answer of this service that is an attestation.',
    required: Object.keys(FIELDS),
    properties: FIELDS,
  },
  LandedAnswerList: objectOf('Answers that have landed.', {
    data: Type.Array(Type.Unsafe(ref('LandedAnswer')), {
      description: 'The answers.',
      maxItems: MAX_LIMIT,
    }),
    count: Type.Integer({ description: 'Number of answers.', minimum: 0 }),
    limit: Type.Integer({ description: 'The limit applied.', minimum: 1, maximum: MAX_LIMIT }),
    next_cursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: '`cursor` of the next page; null at the end.',
    }),
  }),
  AnswerGroups: groupsSchema(ANSWER_DIMENSIONS, 'answers'),
}

const LIST_SUMMARY = 'Answers of this service that are attestations'
const ANSWER_SUMMARY = 'An answer by its UID'

const STATISTICS_SUMMARY = 'Counts of answers by group'

export const answersSchemas = {
  stats: {
    operationId: 'getAnswerStatistics',
    tags: ['Records'],
    summary: STATISTICS_SUMMARY,
    description:
      'Exact counts by group of the answers that match the filters, which are those of the list. It reads the matching answers; if that takes longer than 5 seconds, the response is 503 and names a remedy. (An extension to the specification.)',
    querystring: STATISTICS_QUERY,
    response: {
      ...formats(STATISTICS_SUMMARY, {
        'application/json': ref('AnswerGroups'),
        'text/csv': { type: 'string', description: 'The groups: their dimensions and `records` as columns.' },
      }),
      ...RECORDS_ERRORS,
    },
  },
  list: {
    operationId: 'listAnswers',
    tags: ['Records'],
    summary: LIST_SUMMARY,
    description:
      'Signed answers of the Compute API that anyone has submitted, directly or through the proxy. ' +
      'They are found on the chain by their attester. The default order is newest first. JSON and ' +
      'HTML have pages; NDJSON and CSV stream all matching answers, or the first `limit`. (An ' +
      'extension to the specification.)',
    querystring: LIST_QUERY,
    response: {
      ...formats(LIST_SUMMARY, {
        'application/json': ref('LandedAnswerList'),
        'application/x-ndjson': { type: 'string', description: 'A `LandedAnswer` a line.' },
        'text/csv': { type: 'string', description: 'Fields as columns; `input_refs` as JSON.' },
        'text/html': HTML,
      }),
      ...RECORDS_ERRORS,
    },
  },
  byUid: {
    operationId: 'getAnswer',
    tags: ['Records'],
    summary: ANSWER_SUMMARY,
    description:
      'Where several chains have the UID, the newest; `chain` picks. (An extension to the specification.)',
    params: RECORD_PATH,
    querystring: ANSWER_QUERY,
    response: {
      ...formats(ANSWER_SUMMARY, { 'application/json': ref('LandedAnswer'), 'text/html': HTML }),
      ...RECORDS_ERRORS,
      404: recordsError('No answer of this service has this UID.'),
    },
  },
} satisfies Record<string, FastifySchema>
