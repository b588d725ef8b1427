import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client'
import { registerRpcCalls } from '../../src/rpc'
import type { Attester, ComputeParts } from '../compute'
import { labelled, registerFigures, type Figure } from '../http/figures'
import type { ChainReadiness, ChainStatusRow, Store } from '../store'

interface ChainFigures {
  is: ChainReadiness
  /** undefined while the database does not answer, or has no row of the chain */
  row: ChainStatusRow | undefined
  proxy: { status: string } | undefined
  /** undefined while the database does not answer */
  known: object | undefined
}
type Reading = number | null | undefined

/** Gauges of each chain: name, help and value. They are equal on every API instance. */
const OF_CHAINS: readonly (readonly [string, string, (figures: ChainFigures) => Reading])[] = [
  [
    'geospatial_chain_head_block',
    'Newest block of the chain, by its RPC endpoint',
    ({ is }) => is.head_block,
  ],
  ['geospatial_chain_indexed_block', 'Newest block in the database', ({ is }) => is.indexed_block],
  [
    'geospatial_chain_lag_blocks',
    'Blocks between the head and the newest block in the database',
    ({ is }) => is.lag_blocks,
  ],
  [
    'geospatial_chain_lag_seconds',
    'Seconds since the database was last known to agree with the chain',
    ({ is }) => is.lag_seconds,
  ],
  [
    'geospatial_chain_fresh',
    '1 if the database is known to agree with the chain; otherwise compute queries the chain',
    ({ is, known }) => known && (is.fresh ? 1 : 0),
  ],
  [
    'geospatial_chain_ready',
    '1 if GET /ready counts the chain as ready',
    ({ is, known }) => known && (is.status === 'ready' ? 1 : 0),
  ],
  ['geospatial_audit_reread_blocks', 'Blocks whose logs were audited', ({ row }) => row?.rereadBlocks],
  [
    'geospatial_audit_proven_blocks',
    'Blocks whose logs were proven by their header and receipts',
    ({ row }) => row?.provenBlocks,
  ],
  [
    'geospatial_audit_unproven_blocks',
    'Blocks of the last audits that were compared but not proven; they are retried',
    ({ row }) => row?.unprovenBlocks,
  ],
  [
    'geospatial_audit_repaired_events',
    'Events that an RPC endpoint had omitted, invented or changed, repaired by the audit',
    ({ row }) => row?.repairedEvents,
  ],
  [
    'geospatial_withheld_attestations',
    'Attestations that could not be stored: they produce no record, and indexing continues',
    ({ row }) => row?.withheldAttestations,
  ],
  [
    'geospatial_location_schemas',
    "Location schemas found in the chain's registry and indexed",
    ({ row }) => row?.schemasFound,
  ],
  [
    'geospatial_location_schemas_left_out',
    'Location schemas left out by settings or by the limit of 1,000',
    ({ row }) => row?.schemasLeftOut,
  ],
  [
    'geospatial_schema_history_blocks',
    'Blocks still to be read again for schemas or attesters that were found later',
    ({ row }) => row?.schemaHistoryBlocks,
  ],
  [
    'geospatial_chain_in_doubt',
    '1 if there is evidence against the indexed data: GET /ready gives the reason',
    ({ row }) => row && (row.doubt === null ? 0 : 1),
  ],
  [
    'geospatial_chain_contradictions',
    'Responses of RPC endpoints that cannot be correct, and that no other endpoint resolved',
    ({ row }) => row?.contradictions,
  ],
  [
    'geospatial_proxy_ready',
    "1 if the chain's EIP-712 proxy accepted the signatures of this service at the last check",
    ({ proxy }) => proxy && (proxy.status === 'ready' ? 1 : 0),
  ],
]

/** Registers the metrics from the database. Returns a function that sets the metrics of a chain. */
export function metricsOfDatabase(registry: Registry) {
  const registers = [registry]
  const databaseUp = new Gauge({
    name: 'geospatial_database_up',
    help: '1 if the database responds',
    registers,
  })
  const gauges = OF_CHAINS.map(
    ([name, help, read]) => [new Gauge({ name, help, labelNames: ['chain'], registers }), read] as const,
  )
  return {
    databaseUp,
    setChain(chain: string, figures: ChainFigures): void {
      for (const [gauge, read] of gauges) {
        const value = read(figures)
        // An unknown metric is left out, because its last value may be out of date.
        if (value === null || value === undefined) gauge.remove(chain)
        else gauge.set({ chain }, value)
      }
    },
  }
}

export interface ProcessParts extends Pick<ComputeParts, 'attesters' | 'measurer'> {
  store: Pick<Store, 'connections'>
  /** Number of refusals by kind; undefined if no chain has a quorum. */
  refusals?: Readonly<Record<string, number>> | undefined
  /** Number of open streams of records. */
  listeners: () => number
}

/** Registers the metrics of this process, which are summed over all API processes of the machine. */
export function metricsOfProcess(registry: Registry, parts: ProcessParts) {
  collectDefaultMetrics({ register: registry })
  // Uses the maximum, because an average would hide a single blocked process.
  Object.assign(registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds')!, { aggregator: 'max' })
  const registers = [registry]
  const { attesters } = parts
  registerRpcCalls({ Counter }, registry, () => [...attesters.values()].map(({ reader }) => reader.rpc))
  registerFigures(registry, figuresOf(parts))
  return {
    requests: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Requests by method, route and status',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    limited: new Counter({
      name: 'http_requests_rate_limited_total',
      help: 'Requests that returned 429',
      labelNames: ['route'],
      registers,
    }),
  }
}

function figuresOf({ store, attesters, measurer, refusals, listeners }: ProcessParts): Figure[] {
  const signing = () => [...attesters.values()].map(({ attester }) => attester)
  /** Values of the chains that have one. */
  const ofChains = (value: (attester: Attester) => number | undefined) => () =>
    signing().flatMap((attester) => {
      const known = value(attester)
      return known === undefined ? [] : [[{ chain: attester.chain.slug }, known] as const]
    })
  return [
    { name: 'geospatial_api_instances', help: 'API instances that share this port', read: () => 1 },
    {
      name: 'geospatial_database_connections',
      help: 'Connections to each database server, idle or busy, and requests queued for one',
      labels: ['server', 'state'],
      read: () =>
        store
          .connections()
          .flatMap(([server, states]) =>
            Object.entries(states).map(([state, count]) => [{ server, state }, count] as const),
          ),
    },
    {
      name: 'geospatial_measuring_tasks',
      help: 'Large geometries in worker threads, and those queued for one',
      labels: ['state'],
      read: () => labelled('state', measurer.load),
    },
    {
      name: 'geospatial_bound_violations_total',
      help: 'Violated error bounds of the kernel; nothing was signed',
      read: () => measurer.boundViolations,
    },
    {
      name: 'geospatial_stream_listeners',
      help: 'Clients of the record stream',
      read: listeners,
    },
    {
      name: 'geospatial_attester_nonce',
      help: "The attester's nonce in the chain's EAS at the last read: landed answers increase it",
      labels: ['chain'],
      aggregator: 'max',
      read: ofChains(({ lastNonce }) => lastNonce),
    },
    {
      name: 'geospatial_attester_balance',
      help: "The attester's balance in the chain's native coin at the last read: signing needs none, landing does",
      labels: ['chain'],
      aggregator: 'max',
      read: ofChains(({ balance }) => balance),
    },
    {
      name: 'geospatial_signatures_total',
      help: 'Signatures made, by chain and submission: direct (EAS), proxy or quorum',
      labels: ['chain', 'submission'],
      read: () =>
        signing().flatMap(({ chain, signatures }) =>
          Object.entries(signatures).map(
            ([submission, count]) => [{ chain: chain.slug, submission }, count] as const,
          ),
        ),
    },
    {
      name: 'geospatial_signature_failures_total',
      help: 'Failed signatures, by chain',
      labels: ['chain'],
      read: ofChains(({ failures }) => failures),
    },
    {
      name: 'geospatial_quorum_refusals_total',
      help: 'Requests to sign for a quorum that were refused, by kind',
      labels: ['refusal'],
      read: () => labelled('refusal', refusals ?? {}),
    },
  ]
}
