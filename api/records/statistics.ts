import { ACTIVE_SLUGS, CHAINS } from '../../src/chains'
import type { ConnectedChain } from '../../src/config'
import { checksumAddress } from '../../src/eas'
import { LOCATION_SCHEMA, LOCATION_SCHEMAS } from '../../src/location'
import { SharedRead } from '../http/shared'
import { workOf, type Work } from '../http/work'
import { choiceOf, groupsRequest, type RecordSearch } from '../query'
import {
  readinessOf,
  recordGroups,
  type AgeLimits,
  type ChainReadiness,
  type ChainStatusRow,
  type Stats,
  type Store,
} from '../store'
import { groupsJson, sendGroups, type Exports } from '../formats'
import type { Freshness } from '../http/freshness'
import {
  recordsSchemas,
  STATISTICS_QUERY,
  type Configuration,
  type SchemaList,
  type Statistics,
} from './openapi'
import { readQuery, type ReadingScope, type TextQuery } from '../http/parameters'

export interface RecordsParts {
  store: Store
  records: RecordSearch
  freshness: Freshness
  clock: () => number
  publicBaseUrl: string
  chains: readonly ConnectedChain[]
  limits: AgeLimits
  /** Streams files of any length. */
  fileExports: Exports
  /** True if each record has a page at /r/<chain>/<uid>, which browsers get. */
  hasPlaces: boolean
}
/** Groups of records for other interfaces, with the parameters of the route. */
export function recordGroupsQuery(parts: Pick<RecordsParts, 'store' | 'records'>): TextQuery {
  return {
    description: 'Counts of records by group.',
    parameters: STATISTICS_QUERY.properties,
    answer: async (texts, work) => {
      const { query, read } = groupsOf(parts, readQuery(STATISTICS_QUERY, texts), undefined)
      return JSON.parse(groupsJson(await read(work), query, JSON.stringify)) as object
    },
  }
}

/** Reads a request for groups. Throws a RecordsError for parameters that exclude each other. */
function groupsOf(
  { store, records }: Pick<RecordsParts, 'store' | 'records'>,
  { by, top, sort, sum, format, bom, ...filters }: typeof STATISTICS_QUERY.static,
  accept: string | undefined,
) {
  const query = groupsRequest({ by, top, sort, sum, format, bom }, accept)
  const choice = choiceOf(filters)
  const read = async (work: Work) =>
    recordGroups(store.of(work), query, await records.search(choice, work).filter())
  return { query, read }
}

/** Routes for counts of records, the indexed state of each chain, location schemas, and the configuration. */
export function statisticsRoutes(
  app: ReadingScope,
  { store, records, freshness, clock, chains, limits }: RecordsParts,
): void {
  const stats = new SharedRead(() => store.stats(new Date(clock())), 0)

  app.get('/location-records/stats', { schema: recordsSchemas.stats }, async (request, reply) => {
    if (Object.keys(request.query.given).length === 0) {
      const [counts, statuses] = await Promise.all([stats.fresh(), store.chainStatuses()])
      return statisticsOf(counts, freshnessOf(statuses, chains, limits))
    }
    const { query, read } = groupsOf({ store, records }, request.query, request.headers.accept)
    if (await freshness.answers(request, reply, query.format)) return reply
    return sendGroups(reply, await read(workOf(request)), query, 'location-records')
  })

  app.get('/schemas', { schema: recordsSchemas.schemas }, async (request): Promise<SchemaList> => {
    const data = await store.of(workOf(request)).foundSchemas()
    return {
      data: data.map((each) => ({ ...each, resolver: checksumAddress(each.resolver) })),
      built_in: LOCATION_SCHEMAS,
    }
  })

  app.get('/config', { schema: recordsSchemas.config }, (_request, reply): Configuration => {
    // The configuration changes only with the program.
    void reply.header('cache-control', 'public, max-age=60')
    return {
      chains: Object.fromEntries(CHAINS.map((chain) => [chain.slug, chain.active])),
      schema: LOCATION_SCHEMA.uid,
      schema_fields: LOCATION_SCHEMA.fields,
      version: 'v0',
    }
  })
}

function statisticsOf(counts: Stats, freshness: Statistics['chains']): Statistics {
  return {
    total: counts.total,
    // Other chains are listed only if they have records, so that the counts add up to the total.
    by_chain: {
      ...Object.fromEntries(ACTIVE_SLUGS.map((slug) => [slug, 0])),
      ...Object.fromEntries(
        Object.entries(counts.byChain).filter(([slug, count]) => count > 0 || ACTIVE_SLUGS.includes(slug)),
      ),
    },
    by_time: {
      last_24_hours: counts.last24Hours,
      last_7_days: counts.last7Days,
      last_30_days: counts.last30Days,
    },
    revoked: counts.revoked,
    chains: freshness,
  }
}

/** Reports how far the connected chains are indexed, and any other chain that an indexer has written. */
function freshnessOf(
  statuses: readonly ChainStatusRow[],
  connected: readonly ConnectedChain[],
  limits: AgeLimits,
): Record<string, ChainReadiness> {
  const rows = new Map(statuses.map((row) => [row.chain, row]))
  return Object.fromEntries(
    CHAINS.flatMap((chain) => {
      const row = rows.get(chain.slug)
      const isConnected = connected.some((each) => each.chain === chain)
      return isConnected || row ? [[chain.slug, readinessOf(chain, row, limits)]] : []
    }),
  )
}
