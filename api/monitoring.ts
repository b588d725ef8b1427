import type { FastifyInstance } from 'fastify'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { isLoopback, type ConnectedChain } from '../src/config'
import { serviceSchemas } from './openapi'
import type { ChainStatusRow, Store } from './store'

export interface MonitoringParts {
  store: Store
  chains: readonly ConnectedChain[]
  /** A chain whose copy is further behind is not ready, in seconds. */
  maxLagSeconds: number
  /** Unix milliseconds */
  clock: () => number
  /** How many follow the records. */
  listeners: () => number
}

/** How far the copy of a chain goes. Heights are null before the first look or block. */
export interface ChainReadiness {
  status:
    'ready' | 'not started' | 'reading history' | 'lagging' | 'node behind' | 'indexer silent' | 'in doubt'
  /** Why it is in doubt; null when it is not. */
  doubt: string | null
  /** The chain's last block, as its node last said. */
  head_block: number | null
  /** The last block that is in the database. */
  indexed_block: number | null
  lag_blocks: number | null
  /** For how long the copy has not been known to be equal to the chain. */
  lag_seconds: number | null
  /** Time of the chain's last block, ISO 8601, as the next. */
  head_time: string | null
  /** Time of the last block that is in the database. */
  indexed_time: string | null
  /** Attestations that could not be stored: they give no record, and everything else goes on. */
  withheld_attestations: number
}

/**
 * GET /ready: 200 when every chain is followed closely enough, else 503, with the reason of each. GET /metrics: the same
 * figures, the audit's and the process's for Prometheus. Neither asks a node: the indexers note what they see in the database.
 */
export function monitoring(
  app: FastifyInstance,
  { store, chains, maxLagSeconds, clock, listeners }: MonitoringParts,
): void {
  const registry = new Registry()
  const metrics = makeMetrics(registry)
  const statuses = async () => new Map((await store.chainStatuses()).map((row) => [row.chain, row]))

  app.get('/ready', { schema: serviceSchemas.ready }, async (_request, reply) => {
    const rows = await statuses().catch(() => undefined)
    if (!rows)
      return reply
        .status(503)
        .header('retry-after', '5')
        .send({ status: 'not ready', database: 'disconnected', chains: {} })
    const readiness = chains.map(
      (connected) =>
        [
          connected.chain.slug,
          readinessOf(connected, rows.get(connected.chain.slug), maxLagSeconds, clock()),
        ] as const,
    )
    const ready = readiness.every(([, { status }]) => status === 'ready')
    if (!ready) void reply.status(503).header('retry-after', '5')
    return reply.send({
      status: ready ? 'ready' : 'not ready',
      database: 'connected',
      chains: Object.fromEntries(readiness),
    })
  })

  app.get('/metrics', { schema: serviceSchemas.metrics }, async (_request, reply) => {
    const rows = await statuses().catch(() => undefined)
    metrics.databaseUp.set(rows ? 1 : 0)
    metrics.listeners.set(listeners())
    for (const connected of chains) {
      const { slug } = connected.chain
      const row = rows?.get(slug)
      const { head_block, indexed_block, lag_blocks, lag_seconds, status } = readinessOf(
        connected,
        row,
        maxLagSeconds,
        clock(),
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
        [metrics.inDoubt, row && (row.doubt === null ? 0 : 1)],
        [metrics.contradictions, row?.contradictions],
      ]
      // A figure that is not known is left out, not shown as its last value.
      for (const [gauge, value] of figures)
        if (value === null || value === undefined) gauge.remove(slug)
        else gauge.set({ chain: slug }, value)
    }
    return reply.type(registry.contentType).send(await registry.metrics())
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

/** How far the copy of a chain goes, as of `now` in Unix milliseconds. */
export function readinessOf(
  { chain, rpcUrls }: Pick<ConnectedChain, 'chain' | 'rpcUrls'>,
  row: ChainStatusRow | undefined,
  maxLagSeconds: number,
  now: number,
): ChainReadiness {
  const { headBlock = null, indexedBlock = null } = row ?? {}
  const figures = {
    head_block: headBlock,
    indexed_block: indexedBlock,
    lag_blocks: null,
    lag_seconds: null,
    head_time: row?.headTime?.toISOString() ?? null,
    indexed_time: row?.indexedTime?.toISOString() ?? null,
    doubt: row?.doubt ?? null,
    withheld_attestations: row?.withheldAttestations ?? 0,
  }
  if (!row || headBlock === null || indexedBlock === null || !row.checkedAt || !row.headTime)
    return { status: 'not started', ...figures }
  const sinceChecked = (now - row.checkedAt.getTime()) / 1000
  const behind =
    indexedBlock < headBlock && row.indexedTime
      ? (row.headTime.getTime() - row.indexedTime.getTime()) / 1000
      : 0
  const lagSeconds = Math.max(0, Math.round(sinceChecked + behind))
  // A local chain makes blocks on demand only; every other one whose newest block is old has a node that is stuck. (Without an endpoint it is not known which this is.)
  const headAge = rpcUrls.every(isLoopback) ? 0 : (now - row.headTime.getTime()) / 1000
  const status =
    sinceChecked > maxLagSeconds
      ? 'indexer silent'
      : indexedBlock < headBlock - chain.finality
        ? 'reading history'
        : behind > maxLagSeconds
          ? 'lagging'
          : headAge > maxLagSeconds
            ? 'node behind'
            : row.doubt !== null
              ? 'in doubt'
              : 'ready'
  return { status, ...figures, lag_blocks: Math.max(0, headBlock - indexedBlock), lag_seconds: lagSeconds }
}

function makeMetrics(registry: Registry) {
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['chain'], registers })
  return {
    databaseUp: new Gauge({
      name: 'geospatial_database_up',
      help: 'Whether the database answers',
      registers,
    }),
    listeners: new Gauge({
      name: 'geospatial_stream_listeners',
      help: 'How many follow the records',
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
    inDoubt: gauge(
      'geospatial_chain_in_doubt',
      'Whether something speaks against the copy of the chain: GET /ready says what',
    ),
    contradictions: gauge(
      'geospatial_chain_contradictions',
      'Answers of nodes that could not be true and that no other endpoint settled',
    ),
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
