import { createHash } from 'node:crypto'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
} from 'fastify'
import { version } from '../package.json'
import { MONOTONIC } from '../src/clock'
import { type AboutParts, aboutRoutes, describeRoutes, monitoring, type MonitoringParts } from './service'
import { answersRoutes } from './answers'
import { COMPUTE_ENDPOINTS, computeRoutes } from './compute'
import type { WalletTier } from './contracts'
import { prefersHtml } from './http/accept'
import { CACHES } from './http/cache'
import { compressTexts } from './http/compression'
import { openToAllOrigins } from './http/cors'
import { boundResponses, guardedOptions, guardRequests, type Timeouts } from './http/guard'
import { type GraphqlBackend, graphqlRoutes, PUBLISHED_EXAMPLES } from './graphql'
import { limitRequests, type RequestCounter } from './http/limits'
import { mcpRoutes } from './mcp'
import { type LiveOptions, LiveRecords, streamRoutes } from './stream'
import { logRoutes } from './log'
import { ogcRoutes } from './ogc'
import { placesRoutes } from './places'
import { hasQuorum, noRefusals, quorumRoutes } from './quorum'
import {
  ComputeError,
  RecordsError,
  computeErrorHandler,
  UnknownRouteError,
  pathOf,
  recordsErrorHandler,
} from './http/problems'
import { type ColumnarFiles, Exports } from './formats'
import { Freshness } from './http/freshness'
import type { Store } from './store'
import type { RecordSearch } from './query'
import { recordsRoutes } from './records'
import { tilesRoutes } from './tiles'
import { webhookAdminRoutes, type WebhookAdminParts } from './webhooks'

export interface ServerParts extends AboutParts, Omit<MonitoringParts, 'listeners'> {
  store: Store
  records: RecordSearch
  columnarFiles: ColumnarFiles
  counter: RequestCounter
  rateLimitPerHour: number
  recordsRateLimitPerHour: number
  /** Rate limits of wallet-signed requests. If undefined, the signature headers are ignored. */
  walletTier?: WalletTier
  /** Admin API of webhook subscriptions. If undefined, /admin does not exist. */
  webhookAdmin?: Omit<WebhookAdminParts, 'store' | 'clock'> | undefined
  /** Raw GraphQL; undefined in some tests. */
  graphql?: GraphqlBackend
  /** CIDR ranges of the proxies whose X-Forwarded-For is trusted. */
  trustProxy: readonly string[]
  /** Unset in tests. */
  logger?: FastifyBaseLogger
  /** Monotonic clock in milliseconds; set in tests. */
  elapsed?: () => number
  /** set in tests */
  timeouts?: Timeouts
  live?: Partial<LiveOptions>
  /** Sizes of the caches of vector tiles and of record responses in bytes. Default: those of CACHES. */
  tileCacheBytes?: number
  pageCacheBytes?: number
}

const COMPUTE_PREFIX = '/compute/v0'
/** Maximum bytes of a body. 100,000 positions with all digits fit, and are parsed in less than 100 ms. */
const BODY_LIMIT = 5 * 1_048_576
/** Time limits in milliseconds for a request to arrive, and for its response: a measurement may take 20 s. */
const TIMEOUTS: Timeouts = { request: 10_000, answer: 28_000 }

/** Builds the HTTP server, complete but not listening. */
export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const timeouts = parts.timeouts ?? TIMEOUTS
  const app = makeFastify(parts, timeouts)
  app.setErrorHandler(recordsErrorHandler(parts.publicBaseUrl))
  app.setNotFoundHandler(unknownRecordsRoute(app))
  guardRequests(
    app,
    timeouts.answer,
    (pieces, work) => parts.measurer.read(pieces, work),
    (request) => parts.walletTier?.tierOf(request) !== undefined,
  )
  logRequests(app)
  await openToAllOrigins(app)
  redirectSlashes(app)
  compressTexts(app)
  boundResponses(app)

  // Registered before the routes, so that it applies to all of them.
  await describeRoutes(app, parts, parts.webhookAdmin !== undefined)
  const live = new LiveRecords(parts.store, app.log, parts.live)
  const refusals = hasQuorum(parts) ? noRefusals() : undefined
  monitoring(app, { ...parts, listeners: () => live.size, refusals })

  await app.register(
    computeScope(parts, (scope) => scope.register(computeRoutes(parts), { prefix: '/v0' })),
    { prefix: '/compute' },
  )
  if (refusals)
    await app.register(
      computeScope(parts, (scope) => scope.register(quorumRoutes(parts, refusals), { prefix: '/v0' })),
      { prefix: '/quorum' },
    )
  await registerRecords(app, parts, live)
  const { graphql: backend, counter, recordsRateLimitPerHour: rateLimitPerHour, publicBaseUrl } = parts
  if (backend)
    await app.register(
      (scope) => graphqlRoutes(scope, { backend, counter, rateLimitPerHour, examples: PUBLISHED_EXAMPLES }),
      { prefix: '/graphql' },
    )
  await app.register((scope) => mcpRoutes(scope, { counter, rateLimitPerHour, publicBaseUrl }), {
    prefix: '/mcp',
  })
  if (parts.webhookAdmin)
    await app.register(
      webhookAdminRoutes({ ...parts.webhookAdmin, store: parts.store, clock: parts.clock }),
      { prefix: '/admin/v0' },
    )
  const { pages } = parts
  if (pages) {
    const places = placesRoutes({ ...parts, pages, readers: parts.attesters })
    await app.register(
      publicRecordsScope(app, parts, (scope) => scope.register(places)),
      { prefix: '/r' },
    )
    await pages.register(app)
  }
  await aboutRoutes(app, parts)
  return app
}

/** Registers the routes that read records, answers and the log, within the limits of the Records API. */
async function registerRecords(app: FastifyInstance, parts: ServerParts, live: LiveRecords): Promise<void> {
  const { publicBaseUrl, deploymentName } = parts
  // Another version of the program, or other settings, may present the same data differently.
  const edition = createHash('sha256')
    .update(JSON.stringify([version, publicBaseUrl, deploymentName, parts.pages !== undefined]))
    .digest('base64url')
    .slice(0, 8)
  const freshness = new Freshness(
    async () => (await parts.store.stateTag()) + edition,
    parts.pageCacheBytes ?? CACHES.responses.bytes,
  )
  const fileExports = new Exports(parts.columnarFiles, parts.elapsed ?? MONOTONIC.now)
  await app.register(
    publicRecordsScope(app, parts, async (scope) => {
      const hasPlaces = parts.pages !== undefined
      await scope.register(recordsRoutes({ ...parts, freshness, fileExports, hasPlaces }), { prefix: '/v0' })
      await scope.register(answersRoutes({ ...parts, freshness, fileExports }), { prefix: '/v0' })
      await scope.register(streamRoutes({ live }), { prefix: '/v0' })
    }),
    { prefix: '/api' },
  )
  const { log } = parts
  if (log)
    await app.register(
      publicRecordsScope(app, parts, (scope) =>
        scope.register((inner) => logRoutes(inner, { ...parts, log }), { prefix: '/v0' }),
      ),
      { prefix: '/log' },
    )
  await app.register(
    publicRecordsScope(app, parts, (scope) => ogcRoutes(scope, { ...parts, freshness })),
    { prefix: '/ogc' },
  )
  await app.register(
    publicRecordsScope(app, parts, (scope) =>
      tilesRoutes(scope, { ...parts, tileCacheBytes: parts.tileCacheBytes ?? CACHES.tiles.bytes }),
    ),
    { prefix: '/tiles' },
  )
}

function makeFastify(parts: ServerParts, timeouts: Timeouts): FastifyInstance {
  const { logger } = parts
  return Fastify({
    ...guardedOptions(parts, timeouts),
    ...(logger && { loggerInstance: logger }),
    bodyLimit: BODY_LIMIT,
    // Requests that arrive while the server stops get a 503 in the form of their API.
    return503OnClosing: false,
    // For an invalid UID of up to this many characters, the route itself reports the problem.
    routerOptions: { maxParamLength: 4_096, ignoreTrailingSlash: true },
  })
}

function logRequests(app: FastifyInstance): void {
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
}

/**
 * Redirects browsers from a trailing slash to the address without it: links of pages are relative. Pages of
 * documented routes and of the OGC API have links for any address.
 */
function redirectSlashes(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { url, is404, method, headers, routeOptions } = request
    const [path] = url.split('?', 1) as [string]
    const isHidden = routeOptions.schema?.hide === true && !path.startsWith('/ogc/')
    const isPage = isHidden && prefersHtml(headers.accept)
    if (path.length < 2 || !path.endsWith('/') || is404 || !isPage || !['GET', 'HEAD'].includes(method))
      return done()
    // A relative address is correct behind any path prefix of a reverse proxy.
    const target = `../${path.split('/').at(-2)!}${url.slice(path.length)}`
    void reply.header('vary', 'accept').redirect(target, 308)
  })
}

/** Registers routes that sign, with the rate limit that all of them share. */
function computeScope(parts: ServerParts, routes: (scope: FastifyInstance) => PromiseLike<unknown>) {
  const { publicBaseUrl, rateLimitPerHour, counter, walletTier } = parts
  return async (scope: FastifyInstance): Promise<void> => {
    scope.setErrorHandler(computeErrorHandler(publicBaseUrl))
    await limitRequests(scope, {
      scope: 'compute',
      perHour: rateLimitPerHour,
      counter,
      // The specification grants a number of requests. Shares of workers and connections limit long ones.
      byTime: false,
      otherTier: walletTier && ((request) => walletTier.tierOf(request)),
      tooMany: (perHour, after) => new ComputeError('rate-limited', tooManyRequests(perHour, after)),
    })
    walletTier?.guard(scope)
    const known = COMPUTE_ENDPOINTS.map((name) => `POST ${COMPUTE_PREFIX}/${name}`)
    scope.setNotFoundHandler(({ method, url }) => {
      const allowed = otherMethods(scope, method, pathOf(url)).join(', ')
      throw new UnknownRouteError(
        allowed
          ? `Unsupported method ${method}. Use ${allowed}.`
          : `Endpoint not found: ${method} ${pathOf(url)}. Endpoints: ${known.join(', ')}.`,
        allowed,
      )
    })
    await routes(scope)
  }
}

/** Registers the routes of records, with the rate limit that all APIs of records share. */
function publicRecordsScope(
  app: FastifyInstance,
  { recordsRateLimitPerHour, counter }: ServerParts,
  routes: (scope: FastifyInstance) => PromiseLike<unknown>,
) {
  return async (scope: FastifyInstance): Promise<void> => {
    await limitRequests(scope, {
      scope: 'records',
      perHour: recordsRateLimitPerHour,
      counter,
      tooMany: (perHour, after) =>
        new RecordsError(
          'rate-limited',
          `${tooManyRequests(perHour, after)} A slow request counts as several.`,
        ),
    })
    scope.setNotFoundHandler(unknownRecordsRoute(app))
    await routes(scope)
  }
}

function tooManyRequests(perHour: number, after: string): string {
  return `More than ${perHour} requests in an hour from your IP address. Retry in ${after}.`
}

/** Handles requests without a route: 404 for an unknown path, 405 for a known path with another method. */
function unknownRecordsRoute(app: FastifyInstance) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { method } = request
    const path = pathOf(request.url)
    const allowed = otherMethods(app, method, path)
    if (allowed.length === 0) {
      const ending = path.endsWith('.pbf') ? ' Tiles end in .mvt.' : ''
      throw new RecordsError(
        'not-found',
        `Nothing found at ${path}.${ending} GET / lists the endpoints, and in a browser /docs does.`,
      )
    }
    reply.header('allow', allowed.join(', '))
    throw new RecordsError('method-not-allowed', `Unsupported method ${method}. Use ${allowed.join(' or ')}.`)
  }
}

function otherMethods(app: FastifyInstance, method: string, path: string): HTTPMethods[] {
  return (['GET', 'POST', 'DELETE'] as HTTPMethods[]).filter(
    (other) => other !== method && app.findRoute({ method: other, url: path }) !== null,
  )
}
