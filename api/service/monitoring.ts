import type { FastifyInstance } from 'fastify'
import { version } from '../../package.json'
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { ConnectedChain } from '../../src/config'
import type { ComputeParts } from '../compute'
import { UnavailableError } from '../http/problems'
import { registerRedis, type SharedRedis } from '../http/redis'
import { registerRpcCalls } from '../../src/rpc'
import { SERVICE_ROUTES } from './schemas'
import { readinessOf, type AgeLimits, type Store } from '../store'

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
  const { store, chains, attesters, limits, redis, figuresOfCopies } = parts
  const [ofDatabase, ofProcess] = [new Registry(), new Registry()]
  const metrics = {
    ...metricsOfDatabase(ofDatabase),
    ...metricsOfProcess(ofProcess, parts),
  }
  if (redis) registerRedis(ofProcess, redis)
  parts.webhooks?.register(ofProcess)
  if (figuresOfCopies) {
    // It answers the primary process, which asks the processes of all copies.
    AggregatorRegistry.setRegistries(ofProcess)
    new AggregatorRegistry()
  }
  const statuses = async () => new Map((await store.chainStatuses()).map((row) => [row.chain, row]))

  /** Whether a chain's proxy takes our signatures; undefined for a chain without one. */
  const proxyState = (chainId: number) => {
    const proxy = attesters.get(chainId)?.attester.proxy
    if (!proxy) return undefined
    const { address, lastRefusal: reason } = proxy
    return { address, status: reason === undefined ? 'ready' : 'not ready', ...(reason && { reason }) }
  }

  /** Whether the signer signs; undefined where there is no chain to sign for. */
  const signerState = () => {
    const [first] = attesters.values()
    if (!first) return undefined
    const reason = first.attester.signerNotReady()
    return { status: reason === undefined ? 'ready' : 'not ready', ...(reason && { reason }) }
  }

  app.get('/health', { schema: SERVICE_ROUTES.health }, async (_request, reply) => {
    const connected = await store.ping()
    return reply.status(connected ? 200 : 503).send({
      status: connected ? 'healthy' : 'unhealthy',
      database: connected ? 'connected' : 'disconnected',
      version,
    })
  })

  app.get('/ready', { schema: SERVICE_ROUTES.ready }, async (_request, reply) => {
    const rows = await statuses().catch(() => undefined)
    if (!rows)
      return reply
        .status(503)
        .header('retry-after', '5')
        .send({ status: 'not ready', database: 'disconnected', signer: signerState(), chains: {} })
    const readiness = chains.map(
      (connected) =>
        [
          connected.chain.slug,
          {
            ...readinessOf(connected.chain, rows.get(connected.chain.slug), limits),
            proxy: proxyState(connected.chain.id),
          },
        ] as const,
    )
    const ready = readiness.every(([, { status }]) => status === 'ready')
    if (!ready) void reply.status(503).header('retry-after', '5')
    return reply.send({
      status: ready ? 'ready' : 'not ready',
      database: 'connected',
      signer: signerState(),
      chains: Object.fromEntries(readiness),
    })
  })

  app.get('/metrics', { schema: SERVICE_ROUTES.metrics }, async (request, reply) => {
    // Proxies keep this path in, and pass the other spellings that the router takes: /metrics/, /%6detrics.
    if (!/^\/metrics(\?|$)/.test(request.raw.url!)) return reply.callNotFound()
    const rows = await statuses().catch(() => undefined)
    metrics.databaseUp.set(rows ? 1 : 0)
    for (const connected of chains) {
      const { slug } = connected.chain
      const row = rows?.get(slug)
      const proxy = proxyState(connected.chain.id)
      const { head_block, indexed_block, lag_blocks, lag_seconds, status, fresh } = readinessOf(
        connected.chain,
        row,
        limits,
      )
      const figures: [Gauge, number | null | undefined][] = [
        [metrics.head, head_block],
        [metrics.indexed, indexed_block],
        [metrics.lagBlocks, lag_blocks],
        [metrics.lagSeconds, lag_seconds],
        [metrics.ready, rows && (status === 'ready' ? 1 : 0)],
        [metrics.reread, row?.rereadBlocks],
        [metrics.proven, row?.provenBlocks],
        [metrics.unproven, row?.unprovenBlocks],
        [metrics.repaired, row?.repairedEvents],
        [metrics.withheld, row?.withheldAttestations],
        [metrics.schemas, row?.schemasFound],
        [metrics.schemasLeftOut, row?.schemasLeftOut],
        [metrics.schemaHistory, row?.schemaHistoryBlocks],
        [metrics.fresh, rows && (fresh ? 1 : 0)],
        [metrics.inDoubt, row && (row.doubt === null ? 0 : 1)],
        [metrics.contradictions, row?.contradictions],
        [metrics.proxyReady, proxy && (proxy.status === 'ready' ? 1 : 0)],
      ]
      // An unknown figure is left out; its last value would be wrong.
      for (const [gauge, value] of figures)
        if (value === null || value === undefined) gauge.remove(slug)
        else gauge.set({ chain: slug }, value)
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

/** What the database says: the same from every copy. */
function metricsOfDatabase(registry: Registry) {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['chain'], registers })
  return {
    databaseUp: new Gauge({
      name: 'geospatial_database_up',
      help: 'Whether the database answers',
      registers,
    }),
    head: gauge('geospatial_chain_head_block', 'The last block of the chain, as its node last said'),
    indexed: gauge('geospatial_chain_indexed_block', 'The last block that is in the database'),
    lagBlocks: gauge(
      'geospatial_chain_lag_blocks',
      'Blocks between the head and the last one in the database',
    ),
    lagSeconds: gauge(
      'geospatial_chain_lag_seconds',
      'For how long the copy has not been known to be equal to the chain',
    ),
    fresh: gauge(
      'geospatial_chain_fresh',
      '1 if the copy is known to agree with the chain; compute queries the chain while it is not',
    ),
    ready: gauge('geospatial_chain_ready', 'Whether GET /ready counts the chain as ready'),
    reread: gauge('geospatial_audit_reread_blocks', 'Blocks whose logs were read a second time'),
    proven: gauge(
      'geospatial_audit_proven_blocks',
      'Blocks whose logs were held against their header and receipts',
    ),
    unproven: gauge(
      'geospatial_audit_unproven_blocks',
      'Blocks that could not be proven lately: compared only, and tried again',
    ),
    repaired: gauge(
      'geospatial_audit_repaired_events',
      'Events that a node had left out, made up or changed, put right by the audit',
    ),
    withheld: gauge(
      'geospatial_withheld_attestations',
      'Attestations that could not be stored: they give no record, and everything else goes on',
    ),
    schemas: gauge(
      'geospatial_location_schemas',
      "Location schemas of the chain's registry that were found and are indexed",
    ),
    schemasLeftOut: gauge(
      'geospatial_location_schemas_left_out',
      'Location schemas that settings or the limit of 1,000 leave out',
    ),
    schemaHistory: gauge(
      'geospatial_schema_history_blocks',
      'Blocks whose attestations of schemas or attesters that were found later are still to be read',
    ),
    inDoubt: gauge(
      'geospatial_chain_in_doubt',
      'Whether something speaks against the copy of the chain: GET /ready says what',
    ),
    contradictions: gauge(
      'geospatial_chain_contradictions',
      'Answers of nodes that could not be true and that no other endpoint settled',
    ),
    proxyReady: gauge(
      'geospatial_proxy_ready',
      "Whether the chain's EIP-712 proxy takes our signatures, as it was last seen",
    ),
  }
}

/** What happens in this process, added up over the copies. */
function metricsOfProcess(registry: Registry, { listeners, attesters, store, measurer }: MonitoringParts) {
  collectDefaultMetrics({ register: registry })
  // An average would hide the one copy that is blocked.
  Object.assign(registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds')!, { aggregator: 'max' })
  const registers = [registry]
  registerRpcCalls({ Counter }, registry, () => [...attesters.values()].map(({ reader }) => reader.rpc))
  return {
    connections: new Gauge({
      name: 'geospatial_database_connections',
      help: 'Connections to each database server, idle or busy, and requests that wait for one',
      labelNames: ['server', 'state'],
      registers,
      collect() {
        this.reset()
        for (const [server, states] of store.connections())
          for (const [state, count] of Object.entries(states)) this.inc({ server, state }, count)
      },
    }),
    measuring: new Gauge({
      name: 'geospatial_measuring_tasks',
      help: 'Large geometries in worker threads, and those that wait for one',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(measurer.load)) this.set({ state }, count)
      },
    }),
    bounds: new Counter({
      name: 'geospatial_bound_violations_total',
      help: 'Bounds of the kernel that did not hold; nothing was signed',
      registers,
      collect() {
        this.reset()
        this.inc(measurer.boundViolations)
      },
    }),
    nonce: new Gauge({
      name: 'geospatial_attester_nonce',
      help: "The attester's nonce in the chain's EAS, as it was last read: it grows by what lands",
      labelNames: ['chain'],
      registers,
      aggregator: 'max',
      collect() {
        for (const { attester } of attesters.values())
          if (attester.lastNonce !== undefined) this.set({ chain: attester.chain.slug }, attester.lastNonce)
      },
    }),
    balance: new Gauge({
      name: 'geospatial_attester_balance',
      help: "What the attester has of the chain's coin, as it was last read: signing needs none, landing does",
      labelNames: ['chain'],
      registers,
      aggregator: 'max',
      collect() {
        for (const { attester } of attesters.values()) {
          const { balance } = attester
          if (balance !== undefined) this.set({ chain: attester.chain.slug }, balance)
        }
      },
    }),
    listeners: new Gauge({
      name: 'geospatial_stream_listeners',
      help: 'How many follow the records',
      registers,
      collect() {
        this.set(listeners())
      },
    }),
    signatures: new Counter({
      name: 'geospatial_signatures_total',
      help: 'Signatures made, by chain and by what they are submitted to: EAS (direct) or the proxy',
      labelNames: ['chain', 'submission'],
      registers,
      collect() {
        this.reset()
        for (const { attester } of attesters.values())
          for (const [submission, count] of Object.entries(attester.signatures))
            this.inc({ chain: attester.chain.slug, submission }, count)
      },
    }),
    failures: new Counter({
      name: 'geospatial_signature_failures_total',
      help: 'Signatures that the signer failed to make, by chain',
      labelNames: ['chain'],
      registers,
      collect() {
        this.reset()
        for (const { attester } of attesters.values())
          this.inc({ chain: attester.chain.slug }, attester.failures)
      },
    }),
    requests: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Requests by method, route and status',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    limited: new Counter({
      name: 'http_requests_rate_limited_total',
      help: 'Requests answered with 429',
      labelNames: ['route'],
      registers,
    }),
  }
}
