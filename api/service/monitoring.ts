import type { FastifyInstance } from 'fastify'
import { version } from '../../package.json'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { ConnectedChain } from '../../src/config'
import { UnavailableError } from '../http/problems'
import type { SignatureLog } from '../log'
import { registerRedis, type SharedRedis } from '../http/redis'
import { metricsOfDatabase, metricsOfProcess, type ProcessParts } from './metrics'
import { SERVICE_ROUTES } from './schemas'
import { readinessOf, type AgeLimits, type ChainStatusRow, type Store } from '../store'

export interface MonitoringParts extends ProcessParts {
  store: Store
  chains: readonly ConnectedChain[]
  limits: AgeLimits
  log?: SignatureLog | undefined
  webhooks?: { register(registry: Registry): void } | undefined
  /** Connection of this process; undefined if counts are in memory, or another process is connected. */
  redis?: SharedRedis | undefined
  /** Returns the summed metrics of all API processes; undefined if this is the only one. */
  figuresOfCopies?: (() => Promise<string | undefined>) | undefined
}

/**
 * GET /health: checks that the database answers. GET /ready: 200 if every chain is followed closely enough,
 * and the transparency log accepts entries, otherwise 503, with the reasons. It also reports a signer that
 * does not sign and a proxy that accepts no signatures, but records do not need them. GET /metrics: the same
 * metrics, those of the audit and of the process, for Prometheus. None of them waits for an RPC endpoint: the
 * indexers write their state into the database; proxies and the signer are reported as last seen.
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
  { chains, attesters, limits, log }: MonitoringParts,
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
    const ofLog = log && (await logState(log))
    const ready =
      readiness.every(([, { status }]) => status === 'ready') && (!ofLog || ofLog.status === 'ready')
    if (!ready) void reply.status(503).header('retry-after', '5')
    return reply.send({
      status: ready ? 'ready' : 'not ready',
      database: 'connected',
      signer: signerState(attesters),
      ...(ofLog && { log: ofLog }),
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
  parts.log?.register(ofProcess)
  const setLog = parts.log?.registerState(ofDatabase)
  if (figuresOfCopies) {
    // Answers the primary process, which collects the metrics of all API processes.
    AggregatorRegistry.setRegistries(ofProcess)
    new AggregatorRegistry()
  }
  app.get('/metrics', { schema: SERVICE_ROUTES.metrics }, async (request, reply) => {
    // Reverse proxies block this path, but not the other spellings of the router: /metrics/, /%6detrics.
    if (!/^\/metrics(\?|$)/.test(request.raw.url!)) return reply.callNotFound()
    const rows = await statuses().catch(() => undefined)
    figures.databaseUp.set(rows ? 1 : 0)
    for (const connected of chains) {
      const { slug } = connected.chain
      const row = rows?.get(slug)
      const proxy = proxyState(attesters, connected.chain.id)
      figures.setChain(slug, { is: readinessOf(connected.chain, row, limits), row, proxy, known: rows })
    }
    await setLog?.()
    const ofCopies = await (figuresOfCopies?.() ?? ofProcess.metrics())
    // The metrics of a single process would look like counters that decreased.
    if (ofCopies === undefined) throw new UnavailableError('Not every API process returned its metrics.')
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

/** Returns the state of a chain's proxy; undefined for a chain without one. */
function proxyState(attesters: Attesters, chainId: number) {
  const proxy = attesters.get(chainId)?.attester.proxy
  if (!proxy) return undefined
  return { address: proxy.address, ...stateOf(proxy.lastRefusal) }
}

/** @param reason why the part is not ready */
function stateOf(reason: string | undefined) {
  return { status: reason === undefined ? 'ready' : 'not ready', ...(reason !== undefined && { reason }) }
}

/** Returns the state of the log: not ready while it accepts no entries, so that nothing is signed. */
async function logState(log: SignatureLog) {
  const state = await log.state().catch((error: Error) => error)
  return stateOf(state instanceof Error ? state.message : log.notReady(state))
}

/** Returns the state of the signer; undefined if there is no chain to sign for. */
function signerState(attesters: Attesters) {
  const [first] = attesters.values()
  return first && stateOf(first.attester.signerNotReady())
}
