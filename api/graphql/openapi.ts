import type { FastifySchema } from 'fastify'
import { integer, list, object, ref, text, type Schema } from '../http/openapi-components'

/** OpenAPI 3.1 description of /graphql. The GraphQL schema describes the queries themselves. */

const place = object('Where in the query.', {
  line: integer('Line, from 1.', { minimum: 1 }),
  column: integer('Column, from 1.', { minimum: 1 }),
})
const ERRORS = list(
  object(
    'An error.',
    {
      message: text('What is wrong, and what would be right.'),
      locations: list(place, 'Where in the query.'),
      path: list({ type: ['string', 'integer'] }, 'The field of the answer that it left empty.'),
    },
    ['locations', 'path'],
  ),
  'What went wrong, if anything did.',
  { minItems: 1 },
)

export const GRAPHQL_COMPONENTS: Record<string, Schema> = {
  GraphqlRequest: {
    type: 'object',
    title: 'A GraphQL query',
    required: ['query'],
    properties: {
      query: text('The query: at most 16,384 characters.', {
        maxLength: 16_384,
        examples: ['{ locationRecords(first: 3) { nodes { uid geometry } } }'],
      }),
      operationName: {
        type: ['string', 'null'],
        description: 'Which of its operations, where it holds several.',
      },
      variables: {
        type: ['object', 'null'],
        description: 'Values of its variables.',
        additionalProperties: true,
      },
    },
  },
  GraphqlAnswer: object(
    'What was asked for, and what went wrong.',
    {
      data: { type: ['object', 'null'], description: 'As the query asked.', additionalProperties: true },
      errors: ERRORS,
    },
    ['errors'],
  ),
  GraphqlErrors: object('Why there is no answer.', { errors: ERRORS }),
}

const answer = (schema: string, description: string) => ({
  description,
  content: { 'application/json': { schema: ref(schema) } },
})

export const graphqlSchemas = {
  query: {
    operationId: 'queryGraphql',
    tags: ['GraphQL'],
    summary: 'Records and their events, as the query asks',
    description:
      'Raw GraphQL over all indexed attestations, reading only: records with GeoJSON geometry, the log of events, filters, connections. The schema describes itself by introspection; docs/reference/graphql.md has examples and the limits. Who accepts `application/graphql-response+json` gets the answer under that name.',
    body: ref('GraphqlRequest'),
    response: {
      200: answer(
        'GraphqlAnswer',
        'The query was carried out; its errors, if it has any, are in the answer.',
      ),
      400: answer(
        'GraphqlErrors',
        'The query is no query of this schema, or asks for more than is answered at once.',
      ),
      413: answer('GraphqlErrors', 'The body is larger than 64 KiB.'),
      415: answer('GraphqlErrors', 'The body is no JSON.'),
      429: answer('GraphqlErrors', 'Too many requests, or too many at once.'),
      500: answer('GraphqlErrors', 'A fault of ours.'),
      503: answer('GraphqlErrors', 'The database is out of reach, or too many queries wait for it.'),
    },
  },
  graphiql: {
    operationId: 'getGraphiql',
    tags: ['GraphQL'],
    summary: 'A page to ask from',
    description: 'GraphiQL for a browser (`Accept: text/html`), which loads nothing from elsewhere.',
    response: {
      200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
      405: answer('GraphqlErrors', 'Queries are sent by POST.'),
    },
  },
} satisfies Record<string, FastifySchema>
