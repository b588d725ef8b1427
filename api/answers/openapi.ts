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
import { BOM, checkBom, DEFAULT_LIMIT, FILTERS, MAX_LIMIT, readAddress, RECORD_PATH } from '../query'
import {
  choiceReader,
  invalid,
  parameter,
  queryOf,
  readText,
  severalReader,
  wholeReader,
  textParameter,
} from '../http/parameters'
import { listTag, MAX_CURSOR_LENGTH, positionIn } from '../http/paging'
import { chooseFormat } from '../http/accept'
import { PROVENANCE_FIELDS } from '../store'
import type { AnswerFilter, AnswerQuery } from './sql'

/** Parameters and OpenAPI documentation of the answers that have landed. */

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
/** Formats of one answer. */
export const ANSWER_FORMATS = ['json', 'html'] as const
const FORMAT_TEXT = 'Default: what the Accept header prefers, else JSON.'
const SORTS = ['-timestamp', 'timestamp'] as const
const addresses = (description: string) =>
  textParameter(
    `${description}, in any letter case. Several: separated by commas.`,
    severalReader(readAddress),
  )

const LIST_QUERY = queryOf({
  chain: textParameter(
    `Slug of a chain: ${CHAINS.map(({ slug }) => slug).join(', ')}; an alias, or its ID. Several: separated by commas.`,
    severalReader(readKnownChain),
    { examples: ['base-sepolia', '84532,42220'] },
  ),
  attester: addresses('Who attested, as EAS has it: our signer, or the proxy of the chain'),
  recipient: addresses('Recipient of the attestation'),
  operation: textParameter(
    `${NAMES.join(', ')}; \`within\` with any radius, \`within:50000\` with this one (in centimetres). Several: separated by commas.`,
    severalReader(readOperation),
    { examples: ['distance', 'within:50000'] },
  ),
  input: textParameter(
    'What an answer is about: the UID of an attestation, or the reference of a geometry (`POST /compute/v0/reference`). Several, of which an answer has one: separated by commas.',
    severalReader(readInput),
  ),
  schema: FILTERS.schema,
  revoked: FILTERS.revoked,
  fromTimestamp: FILTERS.fromTimestamp,
  toTimestamp: FILTERS.toTimestamp,
  sort: parameter(
    {
      enum: SORTS,
      default: SORTS[0],
      description: "By the time of the attestation's block; `-` is descending.",
    },
    choiceReader(SORTS),
  ),
  limit: parameter(
    {
      type: 'integer',
      description: `How many at most. Of JSON and HTML ${DEFAULT_LIMIT} unless told otherwise, and ${MAX_LIMIT} at most; other formats hold all that match without it.`,
      minimum: 1,
    },
    wholeReader(1),
  ),
  format: parameter(
    {
      enum: LIST_FORMATS,
      description: FORMAT_TEXT,
    },
    choiceReader(LIST_FORMATS),
  ),
  cursor: textParameter('`next_cursor` of the page before, with the same filters and sort.', readText, {
    maxLength: MAX_CURSOR_LENGTH,
  }),
  bom: BOM,
})
const ANSWER_QUERY = queryOf({
  chain: textParameter('Slug of its chain, an alias, or its ID.', readKnownChain, {
    examples: ['base-sepolia'],
  }),
  format: parameter({ enum: ANSWER_FORMATS, description: FORMAT_TEXT }, choiceReader(ANSWER_FORMATS)),
})

/**
 * Reads the request for a list of answers, and the tag of its cursors. Throws a RecordsError for an invalid
 * combination.
 */
export function answersRequest(
  query: typeof LIST_QUERY.static,
  accept: string | undefined,
): AnswerQuery & { tag: string; format: (typeof LIST_FORMATS)[number]; bom: boolean } {
  const { fromTimestamp: after, toTimestamp: before, sort, limit, cursor, given: _, ...rest } = query
  const { format: wanted, bom = false, ...filters } = rest
  const format = chooseFormat(wanted, accept, LIST_FORMATS)
  checkBom(bom, format)
  const filter: AnswerFilter = { ...filters, ...(after && { after }), ...(before && { before }) }
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

// --- Responses ---

const ADDRESS = { pattern: '^0x[0-9a-fA-F]{40}$' }
const TIME = { format: 'date-time' }
const FIELDS: Readonly<Record<string, Schema>> = {
  uid: text('UID of the attestation.', UID),
  chain: text('Slug of its chain.'),
  attester: text(
    'Who attested it, as EAS has it: our signer, or the proxy of the chain, which takes our signatures alone.',
    ADDRESS,
  ),
  recipient: text('Its recipient.', ADDRESS),
  operation: text('Such as `distance`, or `within:50000` (a radius in centimetres).'),
  result: {
    oneOf: [{ type: 'number' }, { type: 'boolean' }],
    description: 'A number of `units`, or a boolean, as it was answered.',
  },
  units: { type: ['string', 'null'], description: '`meters` or `square_meters`; null for booleans.' },
  value: {
    type: ['string', 'null'],
    description:
      'The whole number that a contract reads, centimetres or square centimetres, as text; null for booleans.',
  },
  input_refs: {
    type: 'array',
    description: 'What it is about, in order: UIDs of attestations, or references of geometries.',
    items: text('32 bytes in hex.', UID),
  },
  computed_at: text('When it was computed.', TIME),
  timestamp: text('When it was attested: the time of its block.', TIME),
  revoked: { type: 'boolean', description: 'Whether it was revoked.' },
  ...Object.fromEntries(Object.entries(PROVENANCE_FIELDS).map(([name, field]) => [name, { ...field }])),
}
/** Names of the fields, in their order. */
export const ANSWER_FIELDS: readonly string[] = Object.keys(FIELDS)
export const ANSWERS_COMPONENTS: Readonly<Record<string, Schema>> = {
  LandedAnswer: {
    type: 'object',
    description: 'An answer of this service that is an attestation.',
    required: Object.keys(FIELDS),
    properties: FIELDS,
  },
  LandedAnswerList: Type.Object(
    {
      data: Type.Array(Type.Unsafe(ref('LandedAnswer')), {
        description: 'The answers.',
        maxItems: MAX_LIMIT,
      }),
      count: Type.Integer({ description: 'How many they are.', minimum: 0 }),
      limit: Type.Integer({ description: 'The limit applied.', minimum: 1, maximum: MAX_LIMIT }),
      next_cursor: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description: '`cursor` of the next page; null at the end.',
      }),
    },
    { description: 'Answers that have landed.' },
  ),
}

const LIST_SUMMARY = 'Answers of this service that are attestations'
const ANSWER_SUMMARY = 'One of them by its UID'

export const answersSchemas = {
  list: {
    operationId: 'listAnswers',
    tags: ['Records'],
    summary: LIST_SUMMARY,
    description:
      'Signed answers of the Compute API that were submitted, by whomever, directly or through the proxy, found on the chain by their attester. Newest first, unless sorted otherwise. JSON and HTML come in pages; NDJSON and CSV hold all that match, or `limit` of them, streamed. (An extension to the specification.)',
    querystring: LIST_QUERY,
    response: {
      ...formats(LIST_SUMMARY, {
        'application/json': ref('LandedAnswerList'),
        'application/x-ndjson': { type: 'string', description: 'A `LandedAnswer` a line.' },
        'text/csv': { type: 'string', description: 'Its fields as columns; `input_refs` as JSON.' },
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
