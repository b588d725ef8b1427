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
      message: text('Problem, and the expected value.'),
      locations: list(place, 'Where in the query.'),
      path: list(
        { type: ['string', 'integer'] },
        'Path of the field of the response that is null because of it.',
      ),
    },
    ['locations', 'path'],
  ),
  'Errors, if any.',
  { minItems: 1 },
)

export const GRAPHQL_COMPONENTS: Record<string, Schema> = {
  GraphqlRequest: {
    type: 'object',
    title: 'A GraphQL query',
    required: ['query'],
    properties: {
      query: text('Query of at most 16,384 characters.', {
        maxLength: 16_384,
        examples: ['{ locationRecords(first: 3) { nodes { uid geometry } } }'],
      }),
      operationName: {
        type: ['string', 'null'],
        description: 'Name of the operation to run, if the query has several.',
      },
      variables: {
        type: ['object', 'null'],
        description: 'Values of the variables.',
        additionalProperties: true,
      },
    },
  },
  GraphqlAnswer: object(
    'Data and errors of the query.',
    {
      data: {
        type: ['object', 'null'],
        description: 'Data in the form of the query.',
        additionalProperties: true,
      },
      errors: ERRORS,
    },
    ['errors'],
  ),
  GraphqlErrors: object('Problem of the request.', { errors: ERRORS }),
}

const answer = (schema: string, description: string) => ({
  description,
  content: { 'application/json': { schema: ref(schema) } },
})

export const graphqlSchemas = {
  query: {
    operationId: 'queryGraphql',
    tags: ['GraphQL'],
    summary: 'Queries records and their events',
    description:
      'Read-only GraphQL over all indexed attestations: records with GeoJSON geometry, the event ' +
      'log, filters and connections. Introspection describes the schema; docs/reference/graphql.md ' +
      'has examples and limits. The response has the type `application/graphql-response+json` if ' +
      'the client accepts it.',
    body: ref('GraphqlRequest'),
    response: {
      200: answer('GraphqlAnswer', 'The query was executed. The response contains its errors, if any.'),
      400: answer('GraphqlErrors', 'The query does not match the schema, or exceeds a limit.'),
      413: answer('GraphqlErrors', 'The body is larger than 64 KiB.'),
      415: answer('GraphqlErrors', 'The body is not JSON.'),
      429: answer('GraphqlErrors', 'Too many requests per hour, or too many at once.'),
      500: answer('GraphqlErrors', 'The service has a fault.'),
      503: answer('GraphqlErrors', 'The database is unreachable, or too many queries are queued for it.'),
    },
  },
  graphiql: {
    operationId: 'getGraphiql',
    tags: ['GraphQL'],
    summary: 'GraphiQL',
    description: 'GraphiQL for browsers (`Accept: text/html`). It loads nothing from other servers.',
    response: {
      200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
      405: answer('GraphqlErrors', 'Send queries by POST.'),
    },
  },
} satisfies Record<string, FastifySchema>
