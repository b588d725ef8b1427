import { setImmediate } from 'node:timers/promises'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, formatError, type ExecutionResult, type GraphQLSchema } from 'graphql'
import { InvalidQueryError, QueryError, checkQuery, type CheckedQuery, type RowsOf } from './limits'
import { graphiqlRoutes } from './graphiql'
import { namesType } from '../http/accept'
import { limitRequests, type RequestCounter } from '../http/limits'
import { graphqlSchemas } from './openapi'
import { RETRY_AFTER_SECONDS, RequestError, StatusError, UnavailableError, statusOf } from '../http/problems'
import { Semaphore } from '../http/semaphore'
import { workOf, type Work } from '../http/work'

/** Executor of GraphQL over HTTP: the published views, or the squid's entities. */
export interface GraphqlBackend {
  /** Throws an UnavailableError while the schema is not built yet. */
  schema(): GraphQLSchema
  readonly rowsOf: RowsOf
  /** Starts no statement after the signal is aborted. The gateway charges its time and masks its errors. */
  run(query: CheckedQuery, variables: Record<string, unknown>, work: Work): Promise<ExecutionResult>
}

export interface GraphqlParts {
  backend: GraphqlBackend
  counter: RequestCounter
  rateLimitPerHour: number
  /** Queries that GraphiQL opens with. */
  examples: string
  /** Time limit of a response in milliseconds, for tests. Default: ANSWER_MS. */
  answerMs?: number
}

/** Bytes. A typical query with its variables has a tenth of it. */
const BODY_LIMIT = 65_536
/** Time limit of a response, including the wait for a slot: enough for a few statements of up to 3 s. */
const ANSWER_MS = 10_000
/** Queries that run at once: one for each connection, at most half of them for one client. */
const SLOTS = { all: 4, each: 2, waiting: 32, waitingEach: 8 }

/**
 * GraphQL over HTTP, at the scope's own path: POST accepts JSON, GET returns GraphiQL to a browser. Every
 * response has GraphQL's form. An executed query has status 200, with its errors in the response. A query
 * that was not executed has a status of 400 or more.
 */
export async function graphqlRoutes(app: FastifyInstance, parts: GraphqlParts): Promise<void> {
  const { counter, rateLimitPerHour, examples } = parts
  const semaphore = new Semaphore(SLOTS, refusal)
  app.setErrorHandler(errorHandler)
  app.addHook('onRequest', async (_request, reply) => {
    void reply.header('x-content-type-options', 'nosniff')
  })
  await graphiqlRoutes(app, examples, () => {
    throw new StatusError(
      405,
      'Send the query by POST, as JSON: {"query": "{ ... }"}. A browser gets GraphiQL at this URL.',
      { allow: 'POST, GET, OPTIONS' },
    )
  })
  app.setNotFoundHandler((request) => {
    throw ['GET', 'HEAD', 'POST', 'OPTIONS'].includes(request.method)
      ? new StatusError(404, 'Not found.')
      : new StatusError(405, 'Send the query by POST.', { allow: 'POST, GET, OPTIONS' })
  })

  await app.register(async (scope) => {
    await limitRequests(scope, {
      scope: 'records',
      perHour: rateLimitPerHour,
      counter,
      tooMany: (perHour, after) =>
        new StatusError(
          429,
          `More than ${perHour} requests in an hour from your IP address. Retry in ${after}. A slow ` +
            'request counts as several.',
        ),
    })
    scope.post(
      '/',
      { schema: graphqlSchemas.query, bodyLimit: BODY_LIMIT, prefixTrailingSlash: 'no-slash' },
      async (request, reply) => {
        const result = await answered(parts, semaphore, request, reply, readBody(request.body))
        const { data, errors } = result
        for (const { originalError: cause } of errors ?? [])
          if (cause instanceof UnavailableError || cause instanceof StatusError) throw cause
        // The variables do not fit their types, so nothing was executed.
        if (data === undefined) reply.status(400)
        return send(request, reply, {
          ...(errors && { errors: errors.map((error) => publicError(error, request)) }),
          ...(data !== undefined && { data }),
        })
      },
    )
  })
}

/**
 * Checks and runs a query once it has a slot: a check takes up to 20 ms of the main thread. Rejects after the
 * time limit, or when the client disconnects. The slot stays taken until the database has finished.
 */
async function answered(
  { backend, answerMs = ANSWER_MS }: GraphqlParts,
  semaphore: Semaphore,
  request: FastifyRequest,
  reply: FastifyReply,
  { query, operationName, variables }: ReturnType<typeof readBody>,
): Promise<ExecutionResult> {
  const abort = new AbortController()
  const late = new StatusError(
    503,
    `The query did not finish within ${answerMs / 1000} seconds. Request fewer fields or rows, or retry later.`,
    { 'retry-after': String(RETRY_AFTER_SECONDS) },
  )
  const timer = setTimeout(() => abort.abort(late), answerMs)
  reply.raw.once('close', () => abort.abort(late))
  if (reply.raw.destroyed) abort.abort(late)
  try {
    abort.signal.throwIfAborted()
    const { client, spend, foresee } = workOf(request)
    const end = await semaphore.acquire(client, abort)
    const began = performance.now()
    const work: Work = { client, foresee, signal: abort.signal, spend: () => {} }
    const running = (async () => {
      // Gives other clients' work a turn between two checks.
      await setImmediate()
      const checked = checkQuery(backend.schema(), query, operationName, variables, backend.rowsOf)
      return backend.run(checked, variables, work)
    })().finally(() => {
      spend(performance.now() - began)
      end()
    })
    // Prevents an unhandled rejection: after a timeout nothing awaits it.
    running.catch(() => {})
    return await Promise.race([
      running,
      new Promise<never>((_, reject) => abort.signal.addEventListener('abort', () => reject(late))),
    ])
  } finally {
    clearTimeout(timer)
  }
}

/** Error for a query that gets no slot. @param isOwn true if the client's own queries fill the queue */
function refusal(isOwn: boolean): StatusError {
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) }
  return isOwn
    ? new StatusError(
        429,
        'Too many of your queries are queued. Retry after one of them has finished.',
        headers,
      )
    : new StatusError(503, `Too many queries are queued. Retry in ${RETRY_AFTER_SECONDS} seconds.`, headers)
}

/** Reads a GraphQL-over-HTTP request. Ignores other fields, such as `extensions`. */
function readBody(body: unknown) {
  if (Array.isArray(body)) throw new RequestError('Batches are not supported. Send one query per request.')
  if (typeof body !== 'object' || body === null)
    throw new RequestError('Send a JSON object: {"query": "{ ... }", "variables": {...}}.')
  const { query, operationName, variables } = body as Record<string, unknown>
  if (typeof query !== 'string') throw new RequestError('query: missing; expected a GraphQL query')
  if (operationName != null && typeof operationName !== 'string')
    throw new RequestError('operationName: expected a string')
  if (variables != null && (typeof variables !== 'object' || Array.isArray(variables)))
    throw new RequestError('variables: expected an object')
  return {
    query,
    operationName: operationName || undefined,
    variables: (variables ?? {}) as Record<string, unknown>,
  }
}

/** Error of an executed query for the client. Logs and masks internal errors. */
function publicError(error: GraphQLError, request: FastifyRequest): object {
  const { originalError: cause } = error
  if (!cause || cause instanceof QueryError || cause instanceof GraphQLError) return formatError(error)
  request.log.error(cause, 'a GraphQL query failed')
  return { ...formatError(error), message: 'The query failed because of an error in the service.' }
}

const GRAPHQL_TYPE = 'application/graphql-response+json'

function send(request: FastifyRequest, reply: FastifyReply, answer: object): FastifyReply {
  const type = namesType(request.headers.accept, GRAPHQL_TYPE) ? GRAPHQL_TYPE : 'application/json'
  return reply.header('vary', 'accept').type(`${type}; charset=utf-8`).send(JSON.stringify(answer))
}

function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [status, errors] = asErrors(error, request, reply)
  return send(request, reply.status(status), { errors })
}

function asErrors(error: Error, request: FastifyRequest, reply: FastifyReply): [number, object[]] {
  if (error instanceof InvalidQueryError) return [400, error.errors.map(formatError)]
  if (error instanceof GraphQLError) return [400, [formatError(error)]]
  if (error instanceof QueryError) return [400, [{ message: error.message }]]
  if (error instanceof UnavailableError)
    request.log.warn({ reason: error.message }, 'a GraphQL query could not be executed')
  const refused = statusOf(error, reply, `The body is too large. The maximum is ${BODY_LIMIT / 1024} KiB.`)
  if (refused) return [refused.status, [{ message: refused.message }]]
  request.log.error(error, 'a GraphQL request failed')
  return [500, [{ message: 'The query failed because of an error in the service.' }]]
}
