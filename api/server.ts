import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify'
import { version } from '../package.json'
import { aboutRoutes, describeRoutes, type AboutParts } from './about'
import { COMPUTE_ENDPOINTS, computeRoutes } from './compute'
import { openToAllOrigins } from './cors'
import { clientErrorHandler, guardEdge, isOfCompute } from './edge'
import { graphqlRoutes, type GraphqlFace } from './graphql'
import { PUBLISHED_EXAMPLES } from './graphql-published'
import { limitRequests, type RequestCounter } from './limits'
import { LIVE, LiveRecords, type LiveOptions } from './live'
import { monitoring, type MonitoringParts } from './monitoring'
import { ogcRoutes } from './ogc'
import { serviceSchemas } from './openapi'
import { ComputeProblem, RecordsProblem, computeErrorHandler, recordsErrorHandler } from './problems'
import { recordsRoutes } from './records'
import type { Records } from './search'
import type { Store } from './store'
import { streamRoutes } from './stream'
import type { WalletTier } from './wallet'

export interface ServerParts extends AboutParts, Omit<MonitoringParts, 'listeners'> {
  store: Store
  records: Records
  counter: RequestCounter
  rateLimitPerHour: number
  recordsRateLimitPerHour: number
  /** Signed requests (docs/wallet.md); undefined: their headers are ignored. */
  walletTier?: WalletTier
  /** Raw GraphQL; undefined: there is none, as in some tests. */
  graphql?: GraphqlFace
  /** CIDR ranges whose X-Forwarded-For is believed. */
  trustProxy: readonly string[]
  /** Unset in tests. */
  logger?: FastifyBaseLogger
  /** Other patience than ours, in milliseconds: set in tests. */
  timeouts?: { request: number; answer: number }
  live?: Partial<LiveOptions>
}

const COMPUTE_PREFIX = '/compute/v0'
/** 100 bytes a request are usual; this holds a geometry of 100,000 positions with all digits, and parsing it holds the event loop for less than 100 ms. */
const BODY_LIMIT = 5 * 1_048_576
/** A request that has not arrived whole by then is cut off; one that has no answer by then is told so: a measurement may take 20 s. */
const TIMEOUTS = { request: 10_000, answer: 28_000 }

/** The HTTP server, complete but not listening. */
export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const { publicBaseUrl, timeouts = TIMEOUTS } = parts
  const onComputeError = computeErrorHandler(publicBaseUrl)
  const onRecordsError = recordsErrorHandler(publicBaseUrl)
  const app = Fastify({
    ...(parts.logger && { loggerInstance: parts.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT,
    requestTimeout: timeouts.request,
    connectionTimeout: timeouts.answer + 2_000,
    // guardEdge refuses what has no Host.
    http: {
      connectionsCheckingInterval: Math.min(1_000, timeouts.request),
      headersTimeout: timeouts.request,
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    // What comes while we stop is still answered, in the form of its API.
    return503OnClosing: false,
    clientErrorHandler: clientErrorHandler(publicBaseUrl),
    trustProxy: parts.trustProxy.length ? [...parts.trustProxy] : false,
    // A wrong UID, up to this length, shall be told what is wrong with it.
    routerOptions: { maxParamLength: 4_096, ignoreTrailingSlash: true },
    // What fails before routing (a URL that does not decode) still answers in the format of its API.
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      if (isOfCompute(request.url)) onComputeError(error, request, reply)
      else onRecordsError(error, request, reply)
    },
  })
  app.setErrorHandler(onRecordsError)
  guardEdge(app, timeouts.answer, parts.measurer)
  app.addHook('onResponse', (request, reply, done) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    )
    done()
  })

  // Before the routes, so that they know them all.
  await describeRoutes(app, parts)
  const live = new LiveRecords(parts.store, app.log, { ...LIVE, ...parts.live })
  monitoring(app, { ...parts, listeners: () => live.size })

  await app.register(
    async (scope) => {
      scope.setErrorHandler(onComputeError)
      await limitRequests(scope, {
        scope: 'compute',
        perHour: parts.rateLimitPerHour,
        counter: parts.counter,
        otherTier: parts.walletTier && ((request) => parts.walletTier!.tierOf(request)),
        tooMany: (perHour, after) =>
          new ComputeProblem(
            'rate-limited',
            `More than ${perHour} requests in an hour from your address; try again in ${after}.`,
          ),
      })
      parts.walletTier?.guard(scope)
      const known = COMPUTE_ENDPOINTS.map((name) => `POST ${COMPUTE_PREFIX}/${name}`)
      scope.setNotFoundHandler(({ method, url }) => {
        throw new ComputeProblem(
          'invalid-input',
          `There is no ${method} ${pathOf(url)}. Known: ${known.join(', ')}`,
        )
      })
      await scope.register(computeRoutes(parts), { prefix: '/v0' })
    },
    { prefix: '/compute' },
  )

  const limitRecords = (scope: FastifyInstance) =>
    limitRequests(scope, {
      scope: 'records',
      perHour: parts.recordsRateLimitPerHour,
      counter: parts.counter,
      tooMany: (perHour, after) =>
        new RecordsProblem(
          'Rate limit exceeded',
          `More than ${perHour} requests in an hour from your address; try again in ${after}.`,
        ),
    })
  await app.register(
    async (scope) => {
      await openToAllOrigins(scope)
      await limitRecords(scope)
      scope.setNotFoundHandler(unknownRecordsRoute(app))
      await scope.register(recordsRoutes(parts), { prefix: '/v0' })
      await scope.register(streamRoutes({ live }), { prefix: '/v0' })
    },
    { prefix: '/api' },
  )
  await app.register(
    async (scope) => {
      await openToAllOrigins(scope)
      await limitRecords(scope)
      scope.setNotFoundHandler(unknownRecordsRoute(app))
      await ogcRoutes(scope, parts)
    },
    { prefix: '/ogc' },
  )

  if (parts.graphql) {
    const { graphql: face, counter, recordsRateLimitPerHour: rateLimitPerHour } = parts
    await app.register(
      (scope) => graphqlRoutes(scope, { face, counter, rateLimitPerHour, examples: PUBLISHED_EXAMPLES }),
      { prefix: '/graphql' },
    )
  }

  app.get('/health', { schema: serviceSchemas.health }, async (_request, reply) => {
    const connected = await parts.store.ping()
    return reply
      .status(connected ? 200 : 503)
      .send({
        status: connected ? 'healthy' : 'unhealthy',
        database: connected ? 'connected' : 'disconnected',
        version,
      })
  })
  await aboutRoutes(app, parts)
  app.setNotFoundHandler(unknownRecordsRoute(app))
  return app
}

/** Tells an unknown path from a known one asked with the wrong method. */
function unknownRecordsRoute(app: FastifyInstance) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { method } = request
    const path = pathOf(request.url)
    const allowed = (['GET', 'POST'] as HTTPMethods[]).filter(
      (other) => other !== method && app.findRoute({ method: other, url: path }) !== null,
    )
    if (allowed.length === 0)
      throw new RecordsProblem('Not found', `There is nothing at ${path}. GET / lists the endpoints`)
    reply.header('allow', allowed.join(', '))
    throw new RecordsProblem(
      'Method not allowed',
      `${method} is not possible here; use ${allowed.join(' or ')}`,
    )
  }
}

/** The path of a URL, short enough for a message. */
function pathOf(url: string): string {
  return url.split('?')[0]!.slice(0, 200)
}
