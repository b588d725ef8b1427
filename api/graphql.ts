import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, formatError, type ExecutionResult, type GraphQLSchema } from 'graphql'
import { InvalidQuery, QueryFault, checkQuery, type CheckedQuery, type RowsOf } from './graphql-limits'
import { graphiqlRoutes } from './graphiql'
import { clientOf, limitRequests, type RequestCounter } from './limits'
import { graphqlSchemas } from './openapi-graphql'
import { RequestFault, UnavailableError } from './problems'
import { NoSlot, Slots } from './slots'

/** What is asked by GraphQL over HTTP: the published views, or the squid's entities. */
export interface GraphqlFace {
  /** Throws an UnavailableError while there is none yet. */
  schema(): GraphQLSchema
  readonly rowsOf: RowsOf
  /** Runs a query that was checked, with no new work once the signal is aborted. Its errors may say what must not be told. */
  run(query: CheckedQuery, variables: Record<string, unknown>, signal: AbortSignal): Promise<ExecutionResult>
}

export interface GraphqlParts {
  face: GraphqlFace
  counter: RequestCounter
  rateLimitPerHour: number
  /** What GraphiQL opens with. */
  examples: string
  /** Other patience than ours, in milliseconds: set in tests. */
  answerMs?: number
}

/** A query with its variables needs a tenth of it. */
const BODY_LIMIT = 65_536
/** From the query's arrival to its answer, waiting included: a few statements of up to 3 s. */
const ANSWER_MS = 10_000
/** Statements under way are as many as connections; no client has more than half of them. */
const SLOTS = { all: 4, each: 2, waiting: 32, waitingEach: 8 }
const RETRY_AFTER_SECONDS = 5

/** A request that has no answer, with its status. */
class GraphqlProblem extends Error {
  constructor(
    readonly statusCode: number,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message)
  }
}

/**
 * GraphQL over HTTP, at the scope's own path: POST of JSON; GET gives a browser GraphiQL. Every answer is in GraphQL's form.
 * What cannot be answered at all has a status of 400 and above, what was carried out has 200, with its errors in it.
 */
export async function graphqlRoutes(app: FastifyInstance, parts: GraphqlParts): Promise<void> {
  const { face, counter, rateLimitPerHour, examples, answerMs = ANSWER_MS } = parts
  const slots = new Slots(SLOTS)
  app.setErrorHandler(errorHandler)
  // Anyone's page may ask: there is nothing here that a cookie or a network would open.
  app.addHook('onRequest', async (request, reply) => {
    reply
      .header('access-control-allow-origin', '*')
      .header(
        'access-control-expose-headers',
        'retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset',
      )
      .header('x-content-type-options', 'nosniff')
    if (request.method === 'OPTIONS')
      return reply
        .headers({
          'access-control-allow-methods': 'POST, GET, OPTIONS',
          'access-control-allow-headers': 'content-type, accept',
          'access-control-max-age': '86400',
        })
        .status(204)
        .send()
  })
  app.options('/', { schema: { hide: true }, prefixTrailingSlash: 'no-slash' }, (_request, reply) =>
    reply.status(204).send(),
  )
  await graphiqlRoutes(app, examples, () => {
    throw new GraphqlProblem(
      405,
      'Send the query by POST, as JSON: {"query": "{ ... }"}. A browser gets GraphiQL here.',
      { allow: 'POST, GET, OPTIONS' },
    )
  })
  app.setNotFoundHandler((request) => {
    throw ['GET', 'HEAD', 'POST', 'OPTIONS'].includes(request.method)
      ? new GraphqlProblem(404, 'There is nothing here.')
      : new GraphqlProblem(405, 'Send the query by POST.', { allow: 'POST, GET, OPTIONS' })
  })

  await app.register(async (scope) => {
    await limitRequests(scope, {
      scope: 'records',
      perHour: rateLimitPerHour,
      counter,
      tooMany: (perHour, after) =>
        new GraphqlProblem(
          429,
          `More than ${perHour} requests in an hour from your address; try again in ${after}.`,
        ),
    })
    scope.post(
      '/',
      { schema: graphqlSchemas.query, bodyLimit: BODY_LIMIT, prefixTrailingSlash: 'no-slash' },
      async (request, reply) => {
        const { query, operationName, variables } = readBody(request.body)
        const checked = checkQuery(face.schema(), query, operationName, variables, face.rowsOf)
        const result = await answered(request, reply, checked, variables)
        const unavailable = result.errors?.find(
          ({ originalError }) => originalError instanceof UnavailableError,
        )
        if (unavailable) throw unavailable.originalError!
        const { data, errors } = result
        // Variables that do not fit: nothing was carried out.
        if (data === undefined) reply.status(400)
        return send(request, reply, {
          ...(errors && { errors: errors.map((error) => told(error, request)) }),
          ...(data !== undefined && { data }),
        })
      },
    )
  })

  /** Runs a query when it is its turn; who waits too long, or leaves, is let go of, while its place is kept until the database has ended. */
  async function answered(
    request: FastifyRequest,
    reply: FastifyReply,
    checked: CheckedQuery,
    variables: Record<string, unknown>,
  ): Promise<ExecutionResult> {
    const abort = new AbortController()
    const late = new GraphqlProblem(
      503,
      `There was no answer within ${answerMs / 1000} seconds: ask for less at once, or later.`,
      { 'retry-after': String(RETRY_AFTER_SECONDS) },
    )
    const timer = setTimeout(() => abort.abort(late), answerMs)
    reply.raw.once('close', () => abort.abort(late))
    try {
      const client = clientOf(request)
      const end = await slots.take(client, abort.signal).catch((error: Error) => {
        if (!(error instanceof NoSlot)) throw error
        const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) }
        throw error.own
          ? new GraphqlProblem(
              429,
              'Too many of your queries wait for an answer already; wait for one of them.',
              headers,
            )
          : new GraphqlProblem(
              503,
              'Too many queries wait for an answer; try again in a few seconds.',
              headers,
            )
      })
      const running = (async () => face.run(checked, variables, abort.signal))().finally(end)
      // Whoever was told that it is late does not hear of it again.
      running.catch(() => {})
      return await Promise.race([
        running,
        new Promise<never>((_, reject) => abort.signal.addEventListener('abort', () => reject(late))),
      ])
    } finally {
      clearTimeout(timer)
    }
  }
}

interface GraphqlRequest {
  query: string
  operationName: string | undefined
  variables: Record<string, unknown>
}

/** GraphQL over HTTP's request; other fields, such as `extensions`, are let by. */
function readBody(body: unknown): GraphqlRequest {
  if (Array.isArray(body)) throw new RequestFault('One query a request: batches are not answered.')
  if (typeof body !== 'object' || body === null)
    throw new RequestFault('Send a JSON object: {"query": "{ ... }", "variables": {...}}.')
  const { query, operationName, variables } = body as Record<string, unknown>
  if (typeof query !== 'string') throw new RequestFault('query: missing; the text of a GraphQL query.')
  if (operationName != null && typeof operationName !== 'string')
    throw new RequestFault('operationName: expected a string.')
  if (variables != null && (typeof variables !== 'object' || Array.isArray(variables)))
    throw new RequestFault('variables: expected an object.')
  return {
    query,
    operationName: operationName || undefined,
    variables: (variables ?? {}) as Record<string, unknown>,
  }
}

/** An error of a query that was carried out, as it is told: nothing of what lies behind us. */
function told(error: GraphQLError, request: FastifyRequest): object {
  const { originalError: cause } = error
  if (!cause || cause instanceof QueryFault || cause instanceof GraphQLError) return formatError(error)
  request.log.error(cause, 'a GraphQL query failed')
  return { ...formatError(error), message: 'The query failed on our side.' }
}

const OURS = 'application/json; charset=utf-8'
const SPECIFIED = 'application/graphql-response+json'

function send(request: FastifyRequest, reply: FastifyReply, answer: object): FastifyReply {
  const type = request.headers.accept?.includes(SPECIFIED) ? `${SPECIFIED}; charset=utf-8` : OURS
  return reply.header('vary', 'accept').type(type).send(JSON.stringify(answer))
}

/** The one error handler of GraphQL's scope. */
function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [status, errors] = asErrors(error, request, reply)
  return send(request, reply.status(status), { errors })
}

function asErrors(
  error: FastifyError | InvalidQuery,
  request: FastifyRequest,
  reply: FastifyReply,
): [status: number, errors: readonly object[]] {
  if (error instanceof InvalidQuery) return [400, error.errors.map(formatError)]
  if (error instanceof GraphQLError) return [400, [formatError(error)]]
  if (error instanceof QueryFault) return [400, [{ message: error.message }]]
  if (error instanceof GraphqlProblem) {
    reply.headers(error.headers)
    return [error.statusCode, [{ message: error.message }]]
  }
  if (error instanceof UnavailableError) {
    request.log.warn({ reason: error.message }, 'a GraphQL query could not be answered')
    reply.header('retry-after', RETRY_AFTER_SECONDS)
    return [503, [{ message: `${error.message} Try again in ${RETRY_AFTER_SECONDS} seconds.` }]]
  }
  const { code, statusCode = 500, message } = error
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return [413, [{ message: `The body is too large: at most ${BODY_LIMIT / 1024} KiB.` }]]
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return [415, [{ message: 'Content-Type must be application/json.' }]]
  if (statusCode >= 400 && statusCode < 500) return [statusCode, [{ message }]]
  request.log.error(error, 'a GraphQL request failed')
  return [500, [{ message: 'The query failed on our side.' }]]
}
