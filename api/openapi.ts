import type { FastifySchema } from 'fastify'
import { ACTIVE_SLUGS } from '../src/chains'
import { ERROR_PAGES } from './error-pages'
import {
  ADDRESS,
  CHAIN_ID,
  EARLIER_SAYS,
  INPUT_REFS,
  RECIPIENT,
  SCHEMA_UID,
  TIMESTAMP,
  UID,
  integer,
  number,
  object,
  ref,
  text,
  type Schema,
} from './openapi-components'
import { OPERATIONS, type Operation } from './operations'
import { COMPUTE_PROBLEMS, type ProblemSlug } from './problems'
import { SORT_FIELDS } from './store-records'

/**
 * What is documented of every route, as OpenAPI 3.1. Documentation only: requests are checked by the code that reads them,
 * whose messages say what would be right, and answers are written by JSON.stringify.
 * Tests hold every example and every answer against these schemas.
 */

// --- Compute ---

/** The result of one operation, or of any. */
function resultOf(name: string, { units, label, geometries }: Operation): Schema {
  return object(`The signed result of ${name}.`, {
    result: units
      ? number(`In ${units.answer.replace('_', ' ')}, to ${1 / units.perAnswerUnit}.`, { minimum: 0 })
      : { type: 'boolean', description: 'The answer.' },
    ...(units && { units: { const: units.answer, description: 'The unit of `result`.' } }),
    operation: label
      ? text(`\`${name}:\` and the parameter; match it by its prefix.`, { pattern: `^${name}:[0-9]+$` })
      : { const: name, description: 'The operation.' },
    timestamp: TIMESTAMP,
    inputRefs: { ...INPUT_REFS, minItems: geometries.length, maxItems: geometries.length },
    attestation: ref('Attestation'),
    delegatedAttestation: ref('DelegatedAttestation'),
  })
}

const RATE_HEADERS = Object.fromEntries(
  ['ratelimit', 'x-ratelimit'].flatMap((prefix) => [
    [`${prefix}-limit`, integer('Requests allowed in an hour. Absent where the deployment has no limit.')],
    [`${prefix}-remaining`, integer('Requests left in the running hour.')],
    [`${prefix}-reset`, integer('Seconds until the hour ends.')],
  ]),
)
const RETRY_AFTER = { 'retry-after': integer('Seconds after which another try makes sense.') }
const answer = (schema: Schema, description: string, more: { headers?: Schema; type?: string } = {}) => ({
  description,
  ...(more.headers && { headers: more.headers }),
  content: { [more.type ?? 'application/json']: { schema } },
})

/** Every error of the Compute API, from its tables. */
const COMPUTE_ERRORS = Object.fromEntries(
  (Object.entries(COMPUTE_PROBLEMS) as [ProblemSlug, { status: number }][]).map(([slug, { status }]) => [
    status,
    answer(ref('Problem'), `\`${slug}\`: ${ERROR_PAGES[slug].meaning}`, {
      type: 'application/problem+json',
      ...(status === 429
        ? { headers: { ...RATE_HEADERS, ...RETRY_AFTER } }
        : status === 500
          ? { headers: RETRY_AFTER }
          : {}),
    }),
  ]),
)

function computeRoute(
  operationId: string,
  summary: string,
  description: string,
  body: Schema,
  result: Schema,
  resultDescription: string,
): FastifySchema {
  return {
    operationId,
    tags: ['Compute'],
    summary,
    description,
    body,
    response: { 200: answer(result, resultDescription, { headers: RATE_HEADERS }), ...COMPUTE_ERRORS },
  }
}

/** A request of one operation: one schema for each choice of its parameters' names, so that exactly one of two names is given. */
function requestOf(
  title: string,
  { geometries, numbers = [] }: Operation,
  first: Record<string, Schema>,
): Schema {
  const choices = geometries.reduce<{ name: string; description: string }[][]>(
    (chosen, { name, aliases = [], about }) =>
      chosen.flatMap((each) => [
        [...each, { name, description: about }],
        ...aliases.map((alias) => [...each, { name: alias, description: `Another name of \`${name}\`.` }]),
      ]),
    [[]],
  )
  const variants = choices.map((choice) => ({
    ...object(
      `With ${choice.map(({ name }) => `\`${name}\``).join(', ')}.`,
      {
        ...first,
        ...Object.fromEntries(
          choice.map(({ name, description }) => [name, { allOf: [ref('Input')], description }]),
        ),
        ...Object.fromEntries(numbers.map(({ name, about, range }) => [name, number(about, range)])),
        ...{ schema: SCHEMA_UID, recipient: RECIPIENT },
      },
      ['schema', 'recipient'],
    ),
    title,
    additionalProperties: false,
  }))
  return variants.length === 1 ? variants[0]! : { title, oneOf: variants }
}

/** The documentation of an operation, out of its row. */
export function operationSchema(name: string, operation: Operation): FastifySchema {
  const inputs = operation.geometries.map((parameter) => `\`${parameter.name}\``).join(', then ')
  const body = requestOf(`Request of ${name}`, operation, { chainId: CHAIN_ID })
  return computeRoute(
    name,
    operation.summary,
    `${operation.about}\n\n\`inputRefs\` holds the reference of ${inputs}.`,
    body,
    resultOf(name, operation),
    'The result, signed.',
  )
}

function extensionSchemas() {
  const oneOf = Object.entries(OPERATIONS).flatMap(([name, operation]) => {
    const request = requestOf(name, operation, { operation: { const: name, description: 'The operation.' } })
    return (request.oneOf as Schema[] | undefined) ?? [request]
  })
  const batch = {
    type: 'object',
    title: 'Request of batch',
    required: ['chainId', 'operations'],
    properties: {
      chainId: CHAIN_ID,
      schema: { ...SCHEMA_UID, description: 'Schema of the operations that name none.' },
      recipient: { ...RECIPIENT, description: 'Recipient of the operations that name none.' },
      operations: {
        type: 'array',
        description: 'What to compute, each with the parameters of its own endpoint.',
        minItems: 1,
        maxItems: 20,
        items: { oneOf },
      },
    },
    additionalProperties: false,
  }
  const earlier = (title: string, delegation: string) => ({
    ...object(
      'An earlier answer of this service, whole or as much of it as is needed.',
      {
        chainId: integer('The chain that it was signed for.', { examples: [84532] }),
        attestation: ref('EarlierAttestation'),
        delegatedAttestation: ref(delegation),
        ...EARLIER_SAYS,
      },
      Object.keys(EARLIER_SAYS),
    ),
    title,
    additionalProperties: false,
  })
  return {
    resign: computeRoute(
      'resign',
      'Earlier results, signed anew',
      'The same data with a fresh nonce, deadline and signature: for a result whose nonce was used up by another one, or whose deadline has passed; or for those of a batch, at consecutive nonces. Nothing is computed again, so `timestamp` stays; but the attestations that it rests on must still stand, and it must not be too old. (An extension to the specification.)',
      {
        title: 'Request of resign',
        oneOf: [earlier('One answer', 'ResignableDelegation'), ref('EarlierBatch')],
      },
      { oneOf: [ref('ComputeResult'), ref('BatchResult')] },
      'The same result, or those of the batch, signed anew.',
    ),
    batch: computeRoute(
      'batch',
      'Up to 20 results that can be submitted together',
      'Computes each operation and signs the results at consecutive nonces, in order, so that all of them can land: as one `multiAttestByDelegation`, or one by one in this order. An operation that is refused refuses the request, and names its place. (An extension to the specification.)',
      batch,
      ref('BatchResult'),
      'The results, signed, and the call that submits them.',
    ),
    verify: computeRoute(
      'verify',
      'Whether an earlier result is ours, has landed, and can still be submitted',
      'Checks the signature, the nonce and the deadline against the contract as it is now, says what the data means, and finds the attestation that holds it. A result that does not hold is an answer, not an error. (An extension to the specification.)',
      earlier('Request of verify', 'EarlierDelegation'),
      ref('Verification'),
      'What it is worth.',
    ),
  }
}

/** The documentation of what else /compute/v0 does. */
export const computeSchemas = extensionSchemas()

// --- Records ---

const HTML: Schema = { type: 'string', description: 'The same as a page, for browsers.' }
const recordsError = (description: string, headers?: Schema) => ({
  description,
  ...(headers && { headers }),
  content: { 'application/json': { schema: ref('RecordsError') }, 'text/html': { schema: HTML } },
})
const RECORDS_ERRORS = {
  400: recordsError('A parameter is wrong, unknown, or given twice.'),
  429: recordsError('Too many requests.', { ...RATE_HEADERS, ...RETRY_AFTER }),
  500: recordsError('A fault of ours.'),
  503: recordsError('The database is out of reach.', RETRY_AFTER),
}

function recordsRoute(
  operationId: string,
  summary: string,
  description: string,
  result: Schema,
  more: FastifySchema = {},
  errors: object = RECORDS_ERRORS,
): FastifySchema {
  return {
    operationId,
    tags: ['Records'],
    summary,
    description,
    ...more,
    response: { 200: answer(result, summary, { headers: RATE_HEADERS }), ...errors },
  }
}
const ETAG = {
  etag: text('Names the state of the data; with If-None-Match, the answer is 304 until a record changes.'),
}
const LINK = {
  link: text(
    '`self`, `next` (by cursor), `first` and, where pages are counted by `offset`, `prev`: RFC 8288. Left out where it would be longer than 6,000 characters, and of an answer that is read to its end.',
  ),
}
const NOT_MODIFIED = {
  304: {
    type: 'null',
    description: 'Nothing changed since the answer with this ETag.',
    headers: { ...RATE_HEADERS, ...ETAG },
  },
}
/** A route whose answers follow from the records alone, in several formats. */
function formattedRoute(
  operationId: string,
  summary: string,
  description: string,
  formats: Record<string, Schema>,
  headers: Schema,
  parametersAndPath: FastifySchema,
  errors: object,
): FastifySchema {
  const content = Object.fromEntries(Object.entries(formats).map(([type, schema]) => [type, { schema }]))
  return {
    operationId,
    tags: ['Records'],
    summary,
    description,
    ...parametersAndPath,
    response: {
      200: { description: summary, headers: { ...RATE_HEADERS, ...ETAG, ...headers }, content },
      ...NOT_MODIFIED,
      ...errors,
    },
  }
}
const parameters = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties })
const CHAIN_PARAMETER = text(`Slug of a chain: ${ACTIVE_SLUGS.join(', ')}; or an alias.`, {
  examples: [ACTIVE_SLUGS[0]],
})

export const recordsSchemas = {
  list: formattedRoute(
    'listLocationRecords',
    'Attested locations that match all filters',
    'Newest first, unless sorted otherwise. The order is total, so pages neither repeat nor lose a record. JSON and HTML come in pages, and so do the other formats where `limit` is 1000 or less; with a larger one they hold so many, without all that match, streamed. A parameter that is unknown or given twice is an error. (Parameters from `sort` on are extensions to the specification.)',
    {
      'application/json': ref('ListResponse'),
      'application/geo+json': ref('RecordFeatureCollection'),
      'application/x-ndjson': { type: 'string', description: 'A `LocationRecord` a line.' },
      'text/csv': {
        type: 'string',
        description:
          'RFC 4180 in UTF-8 with a header row: the fields of `LocationRecord`, lists as JSON text, null as nothing. What a spreadsheet could take for a formula has an apostrophe before it (docs/api.md says how to take it away).',
      },
      'text/html': HTML,
    },
    { ...LINK, 'content-disposition': text('A file name, of all formats but JSON and HTML.') },
    {
      querystring: parameters({
        chain: CHAIN_PARAMETER,
        prover: text('Address that created the attestation, in any letter case.', ADDRESS),
        subject: text('Its recipient, in any letter case.', ADDRESS),
        fromTimestamp: text(
          'Attested after this time (ISO 8601; without an offset UTC; of a date, a month or a year, its start).',
          { examples: ['2025-12-01'] },
        ),
        toTimestamp: text('Attested before this time (as `fromTimestamp`).', {
          examples: ['2026-01-01T12:00:00Z'],
        }),
        bbox: text(
          '`minLng,minLat,maxLng,maxLat` in degrees, edges included; minLng > maxLng crosses the antimeridian.',
          { examples: ['-10,35,30,60'] },
        ),
        limit: integer(
          'How many at most. A page has 1000 at most: more gives 1000 in JSON, and streams the other formats.',
          { minimum: 1, default: 100 },
        ),
        offset: integer(
          'How many to skip: page n of size L has (n-1)*L. At most 100000, unless beyond the last record: further on goes `cursor`.',
          { minimum: 0, default: 0 },
        ),
        sort: {
          enum: SORT_FIELDS.flatMap((field) => [field, `-${field}`]),
          default: '-timestamp',
          description: "By the time of the attestation's block or of the located event; `-` is descending.",
        },
        cursor: text(
          '`next_cursor` of the page before, with the same filters and sort: goes on from its last record, whatever arrived meanwhile. Not with `offset`.',
          { maxLength: 300 },
        ),
        total: {
          type: 'boolean',
          default: false,
          description: 'Whether to count all that match, in JSON; a page for browsers always says it.',
        },
        revoked: { type: 'boolean', description: 'Only revoked ones, or only ones that are not.' },
        location_type: text('Format of `location`, in any letter case.', {
          minLength: 1,
          maxLength: 100,
          examples: ['geojson-point'],
        }),
        schema: text('UID of the schema of the attestation, in any letter case.', UID),
        near: text(
          '`lng,lat` in degrees: only what lies within `radius` of it, on the ellipsoid, to the centimetre.',
          { examples: ['13.3777,52.5163'] },
        ),
        radius: number('Metres; belongs to `near`.', { exclusiveMinimum: 0, maximum: 100_000_000 }),
        intersects: text(
          'GeoJSON (a geometry, or a Feature) or WKT, longitude first: only what shares a place with it, edges being geodesics. Not with `near`.',
          { examples: ['POLYGON((13.3 52.5, 13.5 52.5, 13.5 52.6, 13.3 52.6, 13.3 52.5))'] },
        ),
        format: {
          enum: ['json', 'geojson', 'ndjson', 'csv', 'html'],
          description: 'What to answer in; else `Accept` says, or it is JSON.',
        },
      }),
    },
    {
      ...RECORDS_ERRORS,
      503: recordsError('The database is out of reach, or too many exports are under way.', RETRY_AFTER),
    },
  ),
  byUid: formattedRoute(
    'getLocationRecord',
    'One attested location by its UID',
    'Where several chains have the UID, the newest; `chain` picks.',
    {
      'application/json': ref('LocationRecord'),
      'application/geo+json': ref('RecordFeature'),
      'text/html': HTML,
    },
    {},
    {
      params: parameters({ uid: text('UID of the attestation, in any letter case.', UID) }),
      querystring: parameters({
        chain: CHAIN_PARAMETER,
        format: {
          enum: ['json', 'geojson', 'html'],
          description: 'What to answer in; else `Accept` says, or it is JSON.',
        },
      }),
    },
    { ...RECORDS_ERRORS, 404: recordsError('No record has this UID.') },
  ),
  stream: {
    ...recordsRoute(
      'streamLocationRecords',
      'What happens to records, as it happens',
      [
        'Server-Sent Events, as `EventSource` of browsers reads them. `new`, `revoked` (data: the record as it is now) and `reorged`: the chain took it back (data: `{"uid","chain"}` where the record is gone, the record where only its revocation is). Data replaces what is known of that UID and chain.',
        'Who comes back with the `id` of the last event (browsers do) is told all since, once and in order, by any copy of the service. `reset` says that this is not possible: load the list anew, then go on. Without one it begins now: begin to listen, then load the list. Changes are kept for 7 days.',
        '`reorged` of records that are gone passes all filters but `chain`. A comment every 15 seconds is a sign of life.',
      ].join('\n\n'),
      { type: 'string' },
      {
        querystring: parameters({
          chain: CHAIN_PARAMETER,
          prover: text('Address that created the attestation, in any letter case.', ADDRESS),
          subject: text('Its recipient, in any letter case.', ADDRESS),
          schema: text('UID of its schema, in any letter case.', UID),
          location_type: text('Format of `location`, in any letter case.', { examples: ['geojson-point'] }),
          bbox: text('`minLng,minLat,maxLng,maxLat` in degrees, as of the list.', {
            examples: ['-10,35,30,60'],
          }),
          last_event_id: text(
            'Where to go on, for clients that cannot set the header Last-Event-ID; the header goes before it.',
          ),
        }),
      },
    ),
    response: {
      ...RECORDS_ERRORS,
      200: answer({ type: 'string' }, 'Events, until one side ends it.', {
        type: 'text/event-stream',
        headers: RATE_HEADERS,
      }),
    },
  },
  stats: recordsRoute(
    'getStatistics',
    'Counts over all records',
    'As of now, over all chains: kept as records change, so they cost nothing. And how far the copy of each chain goes.',
    ref('Statistics'),
  ),
  config: recordsRoute(
    'getConfiguration',
    'Chains and schema of the Records API',
    'Which chains are accepted by the `chain` filter.',
    ref('Configuration'),
    {},
    { 400: RECORDS_ERRORS[400], 429: RECORDS_ERRORS[429] },
  ),
} satisfies Record<string, FastifySchema>

// --- Service ---

const service = (
  operationId: string,
  summary: string,
  description: string,
  response: object,
  more: FastifySchema = {},
): FastifySchema => ({ operationId, tags: ['Service'], summary, description, ...more, response })

export const serviceSchemas = {
  root: service(
    'getInformation',
    'Which deployment this is',
    'Its name and version, its endpoints, its chains with the attester address of each, and whether each can be signed for.',
    { 200: answer(ref('Information'), 'The deployment.') },
  ),
  health: service(
    'getHealth',
    'Whether the service works',
    'For a load balancer: the process answers, and its database does.',
    { 200: answer(ref('Health'), 'Healthy.'), 503: answer(ref('Health'), 'The database does not answer.') },
  ),
  ready: service(
    'getReadiness',
    'How far the copy of each chain goes',
    '200 when every chain is followed closely enough, with the figures of each.',
    {
      200: answer(ref('Readiness'), 'Ready.'),
      503: answer(ref('Readiness'), 'A chain lags, or the database does not answer.', {
        headers: RETRY_AFTER,
      }),
    },
  ),
  metrics: service(
    'getMetrics',
    'Figures for Prometheus',
    'The same figures, those of the audit, of requests, and of the process.',
    { 200: answer({ type: 'string' }, 'Prometheus text format.', { type: 'text/plain' }) },
  ),
  error: service(
    'getErrorPage',
    'What an error means and what to do',
    'Where the `type` of every error of the Compute API leads. HTML for a browser (`Accept: text/html`), else JSON.',
    {
      200: {
        description: 'The page.',
        content: {
          'application/json': { schema: ref('ErrorPage') },
          'text/html': { schema: { type: 'string' } },
        },
      },
      404: recordsError('There is no such error.'),
    },
    {
      params: parameters({
        slug: { enum: Object.keys(COMPUTE_PROBLEMS), description: "The end of the error's `type`." },
      }),
    },
  ),
  openapi: service('getOpenapi', 'This document', 'OpenAPI 3.1; `/docs` shows it as a page.', {
    200: answer({ type: 'object', additionalProperties: true }, 'The document.'),
  }),
} satisfies Record<string, FastifySchema>
