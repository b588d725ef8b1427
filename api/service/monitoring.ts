import type { FastifyInstance } from 'fastify'
import { version } from '../../package.json'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { ConnectedChain } from '../../src/config'
import type { ComputeParts } from '../compute'
import { UnavailableError } from '../http/problems'
import { registerRedis, type SharedRedis } from '../http/redis'
import { metricsOfDatabase, metricsOfProcess } from './metrics'
import { SERVICE_ROUTES } from './schemas'
import { readinessOf, type AgeLimits, type ChainStatusRow, type Store } from '../store'

export interface MonitoringParts {
  store: Store
  chains: readonly ConnectedChain[]
  limits: AgeLimits
  /** By chain id; whether a chain's proxy takes our signatures is told as it was last seen. */
  attesters: ComputeParts['attesters']
  /** Open streams of records. */
  listeners: () => number
  measurer: ComputeParts['measurer']
  /** Who sends webhooks; undefined: nobody. */
  webhooks?: { register(registry: Registry): void } | undefined
  /** Where this process keeps what copies share; undefined where it is in memory, or another one does. */
  redis?: SharedRedis | undefined
  /** The figures of the processes of all copies, added up; undefined where this copy is the only one. */
  figuresOfCopies?: (() => Promise<string | undefined>) | undefined
}

/**
 * GET /health: whether the database answers. GET /ready: 200 when every chain is followed closely enough,
 * else 503, with the reason for each chain; a signer that does not sign and a proxy that takes no
 * signatures are told, but records do not need them. GET /metrics: the same figures, those of the audit
 * and of the process, for Prometheus. None of them waits for a node: the indexers write what they see into
 * the database; proxies and the signer are as last seen.
 */
export function monitoring(app: FastifyInstance, parts: MonitoringParts): void {
  const { store } = parts
  const statuses = async () => new Map((await store.chainStatuses()).map((row) => [row.chain, row]))
  app.get('/health', { schema: SERVICE_ROUTES.health }, async (_request, reply) => {
    const connected = await store.ping()
    return reply.status(connected ? 200 : 503).send({
      status: connected ? 'healthy' : 'unhealthy',
      database: connected ? 'connected' : 'disconnected',
      version,
    })
  })

  readinessRoute(app, parts, statuses)
  metricsRoute(app, parts, statuses)
}

type Statuses = () => Promise<Map<string, ChainStatusRow>>

function readinessRoute(
  app: FastifyInstance,
  { chains, attesters, limits }: MonitoringParts,
  statuses: Statuses,
): void {
  app.get('/ready', { schema: SERVICE_ROUTES.ready }, async (_request, reply) => {
    const rows = await statuses().catch(() => undefined)
    if (!rows)
      return reply
        .status(503)
        .header('retry-after', '5')
        .send({ status: 'not ready', database: 'disconnected', signer: signerState(attesters), chains: {} })
    const readiness = chains.map(
      (connected) =>
        [
          connected.chain.slug,
          {
            ...readinessOf(connected.chain, rows.get(connected.chain.slug), limits),
            proxy: proxyState(attesters, connected.chain.id),
          },
        ] as const,
    )
    const ready = readiness.every(([, { status }]) => status === 'ready')
    if (!ready) void reply.status(503).header('retry-after', '5')
    return reply.send({
      status: ready ? 'ready' : 'not ready',
      database: 'connected',
      signer: signerState(attesters),
      chains: Object.fromEntries(readiness),
    })
  })
}

function metricsRoute(app: FastifyInstance, parts: MonitoringParts, statuses: Statuses): void {
  const { chains, attesters, limits, redis, figuresOfCopies } = parts
  const [ofDatabase, ofProcess] = [new Registry(), new Registry()]
  const figures = metricsOfDatabase(ofDatabase)
  const metrics = metricsOfProcess(ofProcess, parts)
  if (redis) registerRedis(ofProcess, redis)
  parts.webhooks?.register(ofProcess)
  if (figuresOfCopies) {
    // It answers the primary process, which asks the processes of all copies.
    AggregatorRegistry.setRegistries(ofProcess)
    new AggregatorRegistry()
  }
  app.get('/metrics', { schema: SERVICE_ROUTES.metrics }, async (request, reply) => {
    // Proxies keep this path in, and pass the other spellings that the router takes: /metrics/, /%6detrics.
    if (!/^\/metrics(\?|$)/.test(request.raw.url!)) return reply.callNotFound()
    const rows = await statuses().catch(() => undefined)
    figures.databaseUp.set(rows ? 1 : 0)
    for (const connected of chains) {
      const { slug } = connected.chain
      const row = rows?.get(slug)
      const proxy = proxyState(attesters, connected.chain.id)
      figures.setChain(slug, { is: readinessOf(connected.chain, row, limits), row, proxy, known: rows })
    }
    const ofCopies = await (figuresOfCopies?.() ?? ofProcess.metrics())
    // Those of one copy would look as if it had counted down.
    if (ofCopies === undefined) throw new UnavailableError('Not every copy of the API told its figures.')
    return reply.type(ofDatabase.contentType).send(`${await ofDatabase.metrics()}\n${ofCopies}`)
  })

  app.addHook('onResponse', (request, reply, done) => {
    const labels = {
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: String(reply.statusCode),
    }
    metrics.requests.observe(labels, reply.elapsedTime / 1000)
    if (reply.statusCode === 429) metrics.limited.inc({ route: labels.route })
    done()
  })
}

type Attesters = MonitoringParts['attesters']

/** Whether a chain's proxy takes our signatures; undefined for a chain without one. */
function proxyState(attesters: Attesters, chainId: number) {
  const proxy = attesters.get(chainId)?.attester.proxy
  if (!proxy) return undefined
  const { address, lastRefusal: reason } = proxy
  return { address, status: reason === undefined ? 'ready' : 'not ready', ...(reason && { reason }) }
}

/** Whether the signer signs; undefined where there is no chain to sign for. */
function signerState(attesters: Attesters) {
  const [first] = attesters.values()
  if (!first) return undefined
  const reason = first.attester.signerNotReady()
  return { status: reason === undefined ? 'ready' : 'not ready', ...(reason && { reason }) }
}
