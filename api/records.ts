import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ACTIVE_SLUGS, CHAINS } from '../src/chains'
import type { ConnectedChain } from '../src/config'
import { LOCATION_SCHEMA } from '../src/location'
import { Freshness } from './freshness'
import { readinessOf, type ChainReadiness } from './monitoring'
import { recordsSchemas } from './openapi'
import { sendPage } from './pages'
import { RecordsProblem, recordsErrorHandler } from './problems'
import { RecordExports } from './record-exports'
import { RECORD_FORMATS, chooseFormat, featureText, recordText, type FormatName } from './record-formats'
import { linkHeader, pageAddresses } from './record-links'
import { listPage, recordPage, type Feature } from './record-pages'
import {
  DEFAULT_LIMIT,
  FILTER_PARAMETERS,
  MAX_LIMIT,
  MAX_OFFSET,
  cursorText,
  invalid,
  knownParameters,
  parseBoolean,
  parseChain,
  parseCursor,
  parseFilters,
  parseSort,
  parseWhole,
  type Query,
} from './record-parameters'
import type { RecordPage, RecordSearch, Records } from './search'
import { SharedRead } from './shared'
import type { ChainStatusRow, Store } from './store'
import type { Sort } from './store-records'

const JSON_TYPE = 'application/json; charset=utf-8'
const GEOJSON_TYPE = 'application/geo+json; charset=utf-8'
const FORMATS = ['json', 'geojson', 'ndjson', 'csv', 'html'] as const
const LIST_PARAMETERS = [
  ...FILTER_PARAMETERS,
  'sort',
  'limit',
  'offset',
  'cursor',
  'total',
  'format',
] as const
/** How long the number of records is believed, milliseconds: asked for only by those who skip very many. */
const COUNT_SHARED_MS = 250
const NOTHING: RecordPage = { rows: [] }

/** What is asked of the list. */
interface ListRequest {
  search: RecordSearch & { offset: number; sort: Sort }
  format: FormatName
  /** Whether it is read to its end, however far that is: no page. */
  whole: boolean
  byCursor: boolean
  withTotal: boolean
}

/** The Records API (INTERFACE.md, Records API, and docs/api.md for what goes beyond it), mounted at /api/v0. */
export function recordsRoutes(parts: {
  store: Store
  records: Records
  clock: () => number
  publicBaseUrl: string
  chains: readonly ConnectedChain[]
  maxLagSeconds: number
}) {
  const { store, records, clock, publicBaseUrl, chains, maxLagSeconds } = parts
  const freshness = new Freshness(store, clock)
  const recordExports = new RecordExports(records, clock)
  const listAddress = `${publicBaseUrl}/api/v0/location-records`
  const home = [{ href: `${publicBaseUrl}/docs`, title: 'API' }]
  const known = new SharedRead(() => records.count({ limit: 0 }), COUNT_SHARED_MS, clock)

  return (app: FastifyInstance, _options: object, done: () => void): void => {
    app.setErrorHandler(recordsErrorHandler(publicBaseUrl))
    app.addHook('preClose', (closed) => {
      recordExports.stop()
      closed()
    })

    app.get('/location-records', { schema: recordsSchemas.list }, async (request, reply) => {
      const query = knownParameters(request.query, LIST_PARAMETERS)
      const asked = parseList(query, request.headers.accept)
      const { search, format, whole } = asked
      if (isDeep(search) && search.offset < (await known.get()).total)
        throw invalid(
          'offset',
          `At most ${MAX_OFFSET}: so many records cannot be skipped at once. Go on from the page before with cursor=<its next_cursor>, or part the records by time`,
        )
      if (await freshness.isKnown(request, reply, format)) return reply
      if (whole && format !== 'json' && format !== 'html')
        return recordExports.send(
          request,
          reply,
          isDeep(search) ? { ...search, limit: 0 } : search,
          RECORD_FORMATS[format],
        )
      return sendList(request, reply, query, asked)
    })

    async function sendList(
      request: FastifyRequest,
      reply: FastifyReply,
      query: Query<string>,
      { search, format, byCursor, withTotal }: ListRequest,
    ): Promise<FastifyReply> {
      const { sort, limit, offset } = search
      // What is deep and not too far is beyond the last record.
      const [{ rows, next }, counted] = await Promise.all([
        isDeep(search) ? NOTHING : records.page(search),
        withTotal ? records.count(search) : undefined,
      ])
      const nextCursor = next ? cursorText(next, search, sort) : null
      const addresses = pageAddresses(listAddress, query, { limit, offset, nextCursor, byCursor })
      const links = linkHeader(addresses)
      if (links !== undefined) void reply.header('link', links)
      if (format === 'html')
        return sendPage(
          reply,
          listPage({ rows, search, query, addresses, counted: counted!, byCursor }, listAddress, home),
        )
      // Fewer than asked for would pass for the end.
      if (links === undefined && format !== 'json' && next && rows.length < limit)
        throw invalid(
          'limit',
          `These records are so large that a page ends after ${rows.length}, and where to go on does not fit into a Link header: give limit=${rows.length} or less, leave it out to get them all, or take JSON`,
        )
      if (format !== 'json') {
        const { type, file, head, write, tail } = RECORD_FORMATS[format]
        return reply
          .type(type)
          .header('content-disposition', file)
          .send(head + write(rows) + tail)
      }
      const total = counted ? `,"total":${counted.total},"total_exact":${counted.exact}` : ''
      return reply
        .type(JSON_TYPE)
        .send(
          Buffer.from(
            `{"data":[${rows.map(recordText).join()}],"count":${rows.length},"limit":${limit},"offset":${offset},"next_cursor":${JSON.stringify(nextCursor)}${total}}`,
          ),
        )
    }

    app.get('/location-records/stats', { schema: recordsSchemas.stats }, async (request) => {
      knownParameters(request.query, [])
      const now = clock()
      const [stats, statuses] = await Promise.all([store.stats(new Date(now)), store.chainStatuses()])
      return {
        total: stats.total,
        // The active ones always; others where there is something to count, so that all add up to the total.
        by_chain: {
          ...Object.fromEntries(ACTIVE_SLUGS.map((slug) => [slug, 0])),
          ...Object.fromEntries(
            Object.entries(stats.byChain).filter(([slug, count]) => count > 0 || ACTIVE_SLUGS.includes(slug)),
          ),
        },
        by_time: {
          last_24_hours: stats.last24Hours,
          last_7_days: stats.last7Days,
          last_30_days: stats.last30Days,
        },
        revoked: stats.revoked,
        chains: freshnessOf(statuses, chains, maxLagSeconds, now),
      }
    })

    app.get<{ Params: { uid: string } }>(
      '/location-records/:uid',
      { schema: recordsSchemas.byUid },
      async (request, reply) => {
        const { uid } = request.params
        if (!/^0x[0-9a-fA-F]{64}$/.test(uid))
          throw new RecordsProblem(
            'Invalid UID format',
            'UID must be a 66-character hex string starting with 0x',
          )
        const { chain, format: given } = knownParameters(request.query, ['chain', 'format'])
        const slug = chain === undefined ? undefined : parseChain(chain)
        const format = chooseFormat(given, request.headers.accept, ['json', 'geojson', 'html'])
        const find = async () => {
          const row = await store.recordByUid(uid.toLowerCase(), slug, format !== 'json')
          if (!row)
            throw new RecordsProblem(
              'Location record not found',
              `No attestation with UID ${uid} found${chain === undefined ? '' : ` on ${chain}`}`,
            )
          return row
        }
        // Of what does not exist nobody has a copy: neither of any (`*`), nor by the ETag of another answer.
        if (request.headers['if-none-match'] !== undefined) await find()
        if (await freshness.isKnown(request, reply, format)) return reply
        const row = await find()
        if (format === 'html') {
          const list = {
            href: `${listAddress}${given === undefined ? '' : '?format=html'}`,
            title: 'Location records',
          }
          return sendPage(
            reply,
            recordPage(JSON.parse(featureText(row)) as Feature, publicBaseUrl, [...home, list]),
          )
        }
        return format === 'geojson'
          ? reply.type(GEOJSON_TYPE).send(featureText(row))
          : reply.type(JSON_TYPE).send(recordText(row))
      },
    )

    app.get('/config', { schema: recordsSchemas.config }, (request, reply) => {
      knownParameters(request.query, [])
      // It changes with the program only.
      void reply.header('cache-control', 'public, max-age=60')
      return {
        chains: Object.fromEntries(CHAINS.map((chain) => [chain.slug, chain.active])),
        schema: LOCATION_SCHEMA.uid,
        schema_fields: LOCATION_SCHEMA.fields,
        version: 'v0',
      }
    })
    done()
  }
}

function isDeep({ offset }: { offset: number }): boolean {
  return offset > MAX_OFFSET
}

/** How far the copy of each chain goes: of those that this deployment is connected to, and of any other that an indexer has written of. */
function freshnessOf(
  statuses: readonly ChainStatusRow[],
  connected: readonly ConnectedChain[],
  maxLagSeconds: number,
  now: number,
): Record<string, ChainReadiness> {
  const rows = new Map(statuses.map((row) => [row.chain, row]))
  return Object.fromEntries(
    CHAINS.flatMap((chain) => {
      const row = rows.get(chain.slug)
      const known = connected.find((each) => each.chain === chain)
      return known || row
        ? [[chain.slug, readinessOf(known ?? { chain, rpcUrls: [] }, row, maxLagSeconds, now)]]
        : []
    }),
  )
}

/** JSON and HTML come in pages. The other formats do where a limit of a page is given; else they are read to the end. */
function parseList(query: Query<(typeof LIST_PARAMETERS)[number]>, accept: string | undefined): ListRequest {
  const choice = parseFilters(query)
  const sort = parseSort(query.sort)
  const format = chooseFormat(query.format, accept, FORMATS)
  const limit =
    query.limit === undefined
      ? undefined
      : parseWhole('limit', query.limit, 1, `; in JSON more than ${MAX_LIMIT} gives ${MAX_LIMIT}`)
  const offset = query.offset === undefined ? 0 : parseWhole('offset', query.offset, 0)
  if (query.cursor !== undefined && query.offset !== undefined)
    throw invalid('offset', 'Give offset or cursor, not both')
  const from = query.cursor === undefined ? undefined : parseCursor(query.cursor, choice, sort)
  const withTotal = query.total !== undefined && parseBoolean('total', query.total)
  if (withTotal && format !== 'json' && format !== 'html') throw invalid('total', 'It is told in JSON only')
  const whole = format !== 'json' && format !== 'html' && !(limit !== undefined && limit <= MAX_LIMIT)
  return {
    // More than the maximum gives the maximum; the answer says which limit was applied.
    search: {
      ...choice,
      sort,
      limit: whole ? (limit ?? Infinity) : Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT),
      offset,
      ...(from && { from }),
      withGeometry: format === 'geojson',
    },
    format,
    whole,
    byCursor: from !== undefined,
    // Who looks at a page wants to know of how many.
    withTotal: withTotal || format === 'html',
  }
}
