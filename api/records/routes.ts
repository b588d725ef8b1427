import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ACTIVE_SLUGS, CHAINS } from '../../src/chains'
import type { ConnectedChain } from '../../src/config'
import { checksumAddress } from '../../src/eas'
import { LOCATION_SCHEMA, LOCATION_SCHEMAS } from '../../src/location'
import { sendPage } from '../http/pages'
import { RecordsError, itIsOn, recordsErrorHandler } from '../http/problems'
import { SharedRead } from '../http/shared'
import { workOf, type Work } from '../http/work'
import { listAbove, listPage, recordPage, type Feature } from '../pages'
import { cursorText, linkHeader, pageAddresses, MAX_OFFSET, positionIn } from '../http/paging'
import {
  choiceTag,
  type RecordSearch,
  checkBom,
  DEFAULT_LIMIT,
  MAX_LIMIT,
  choiceOf,
  type PageQuery,
} from '../query'
import {
  type RecordPage,
  readinessOf,
  type AgeLimits,
  type ChainReadiness,
  type ChainStatusRow,
  type Store,
  NEWEST_FIRST,
  type TimeSort,
  PROVENANCE_FIELDS,
} from '../store'
import { invalid, readParameters, type GivenQuery } from '../http/parameters'
import {
  type Exports,
  RECORD_FORMATS,
  TEXT_FORMATS,
  csvFormat,
  featureText,
  recordBytes,
  recordText,
  isColumnar,
  type ColumnarName,
} from '../formats'
import type { Freshness } from '../http/freshness'
import {
  recordsSchemas,
  type Configuration,
  type SchemaList,
  type Statistics,
  LIST_FORMATS,
  LIST_QUERY,
  SINGLE_FORMATS,
} from './openapi'
import { type FormatName, chooseFormat } from '../http/accept'

const JSON_TYPE = 'application/json; charset=utf-8'
const LIST_HEAD = Buffer.from('{"data":[')
const GEOJSON_TYPE = 'application/geo+json; charset=utf-8'
/** How long a count of all records is reused, milliseconds: only requests that skip very many need it. */
const COUNT_SHARED_MS = 250
const NOTHING: RecordPage = { rows: [] }

/**
 * The Records API (docs/spec/interface.md 7, and docs/reference/records.md for what goes beyond it), mounted
 * at /api/v0.
 */
export function recordsRoutes(parts: {
  store: Store
  records: RecordSearch
  freshness: Freshness
  clock: () => number
  publicBaseUrl: string
  chains: readonly ConnectedChain[]
  limits: AgeLimits
  /** Sends files of any length. */
  fileExports: Exports
}) {
  const { store, records, freshness, clock, publicBaseUrl, chains, limits, fileExports } = parts
  const listAddress = `${publicBaseUrl}/api/v0/location-records`
  const home = [{ href: `${publicBaseUrl}/docs`, title: 'API' }]
  const known = new SharedRead(() => records.search({}).count(), COUNT_SHARED_MS)
  const stats = new SharedRead(() => store.stats(new Date(clock())), 0)

  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = scope.withTypeProvider<TypeBoxTypeProvider>()
    app.setValidatorCompiler(readParameters)
    app.setErrorHandler(recordsErrorHandler(publicBaseUrl))
    freshness.keepAnswersOf(app)
    app.addHook('preClose', (closed) => {
      fileExports.stop()
      closed()
    })

    app.get('/location-records', { schema: recordsSchemas.list }, async (request, reply) => {
      const asked = listRequest(request.query, request.headers.accept)
      const { search, format } = asked
      if (isDeep(search) && search.offset < (await known.get()).total)
        throw invalid(
          'offset',
          `At most ${MAX_OFFSET}: so many records cannot be skipped at once. Go on from the page before with cursor=<its next_cursor>, or part the records by time`,
        )
      if (await freshness.answers(request, reply, format)) return reply
      if (asked.whole)
        return fileExports.send(
          request,
          reply,
          records.search(isDeep(search) ? { ...search, limit: 0 } : search, workOf(request)).pages(),
          asked.format === 'csv' ? csvFormat(asked.columns, asked.bom) : RECORD_FORMATS[asked.format],
        )
      return sendList(reply, asked, workOf(request))
    })

    async function sendList(
      reply: FastifyReply,
      { search, format, columns, bom, byCursor, withTotal, given }: ListRequest & { whole: false },
      work: Work,
    ): Promise<FastifyReply> {
      const { sort, limit, offset } = search
      const found = records.search(search, work)
      // A deep offset that was not refused lies beyond the last record.
      const [{ rows, next }, counted] = await Promise.all([
        isDeep(search) ? NOTHING : found.page(),
        withTotal ? found.count() : undefined,
      ])
      const nextCursor = next ? cursorText(next, choiceTag(search, sort)) : null
      const addresses = pageAddresses(listAddress, given, { limit, offset, nextCursor, byCursor })
      const links = linkHeader(addresses)
      if (links !== undefined) void reply.header('link', links)
      if (format === 'html')
        return sendPage(
          reply,
          listPage({ rows, search, given, addresses, counted, byCursor }, listAddress, home),
        )
      // Without a Link header, a page with fewer records than asked for looks like the last one.
      if (links === undefined && format !== 'json' && next && rows.length < limit)
        throw invalid(
          'limit',
          `These records are so large that a page ends after ${rows.length}, and where to go on does not fit into a Link header: give limit=${rows.length} or less, leave it out to get them all, or take JSON`,
        )
      if (format !== 'json') {
        const { type, file, head, write, tail } =
          format === 'csv' ? csvFormat(columns, bom) : TEXT_FORMATS[format]
        return reply
          .type(type)
          .header('content-disposition', file)
          .send(head + write(rows) + tail)
      }
      const total = counted ? `,"total":${counted.total},"total_exact":${counted.exact}` : ''
      return reply
        .type(JSON_TYPE)
        .send(
          Buffer.concat([
            LIST_HEAD,
            recordBytes(rows, ',').subarray(0, -1),
            Buffer.from(
              `],"count":${rows.length},"limit":${limit},"offset":${offset},"next_cursor":${JSON.stringify(nextCursor)}${total}}`,
            ),
          ]),
        )
    }

    app.get('/location-records/stats', { schema: recordsSchemas.stats }, async (): Promise<Statistics> => {
      const [counts, statuses] = await Promise.all([stats.fresh(), store.chainStatuses()])
      return {
        total: counts.total,
        // Active chains always, others where they have records: so all of them add up to the total.
        by_chain: {
          ...Object.fromEntries(ACTIVE_SLUGS.map((slug) => [slug, 0])),
          ...Object.fromEntries(
            Object.entries(counts.byChain).filter(
              ([slug, count]) => count > 0 || ACTIVE_SLUGS.includes(slug),
            ),
          ),
        },
        by_time: {
          last_24_hours: counts.last24Hours,
          last_7_days: counts.last7Days,
          last_30_days: counts.last30Days,
        },
        revoked: counts.revoked,
        chains: freshnessOf(statuses, chains, limits),
      }
    })

    app.get('/location-records/:uid', { schema: recordsSchemas.byUid }, async (request, reply) => {
      const { uid } = request.params
      const { chain, include, given } = request.query
      const format = chooseFormat(request.query.format, request.headers.accept, SINGLE_FORMATS)
      const find = async () => {
        const own = store.of(workOf(request))
        const found = await own.recordByUid(uid.toLowerCase(), chain, {
          withGeometry: format !== 'json',
          // People want to know where it comes from.
          withProvenance: include === 'provenance' || format === 'html',
        })
        if (found) return found
        const unreadable = await own.unreadable(uid, chain)
        if (unreadable !== undefined || chain === undefined)
          throw new RecordsError('record-not-found', unreadable ?? `No attestation with UID ${uid} found`)
        const elsewhere = await own.recordByUid(uid.toLowerCase())
        throw new RecordsError(
          'record-not-found',
          `No attestation with UID ${uid} found on ${given.chain}${itIsOn(elsewhere ? [elsewhere.chain] : [])}`,
        )
      }
      const row = await freshness.find(request, reply, find, format)
      if (!row) return reply
      if (format === 'html') {
        const trail = [...home, ...listAbove(listAddress, 'Location records', given)]
        return sendPage(reply, recordPage(JSON.parse(featureText(row)) as Feature, publicBaseUrl, trail))
      }
      return format === 'geojson'
        ? reply.type(GEOJSON_TYPE).send(featureText(row))
        : reply.type(JSON_TYPE).send(recordText(row))
    })

    app.get('/schemas', { schema: recordsSchemas.schemas }, async (request): Promise<SchemaList> => {
      const data = await store.of(workOf(request)).foundSchemas()
      return {
        data: data.map((each) => ({ ...each, resolver: checksumAddress(each.resolver) })),
        built_in: LOCATION_SCHEMAS,
      }
    })

    app.get('/config', { schema: recordsSchemas.config }, (_request, reply): Configuration => {
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

/**
 * How far the copy of each chain goes: of the chains that this deployment is connected to, and of any other
 * that an indexer has written.
 */
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

/** A request of the list, as it was read. */
type ListRequest = ListOptions &
  (
    | { whole: false; format: PageFormat; search: PageQuery }
    /** All matching records are sent, not a page of them. */
    | { whole: true; format: FileFormat; search: PageQuery & { sort: TimeSort } }
  )
type PageFormat = Exclude<FormatName, ColumnarName>
type FileFormat = Exclude<FormatName, 'json' | 'html'>
interface ListOptions {
  /** Of CSV, beyond those of the record. */
  columns: readonly string[]
  /** Parameters of CSV. */
  bom: boolean
  byCursor: boolean
  withTotal: boolean
  given: GivenQuery
}

/**
 * JSON and HTML come in pages. So do formats of text if `limit` is at most a page's; else they contain all
 * matching records, as columnar files always do. Throws a RecordsError for parameters that exclude each
 * other.
 */
function listRequest(query: typeof LIST_QUERY.static, accept: string | undefined): ListRequest {
  const { limit, total, given, include, geometry, bom = false, sort = NEWEST_FIRST } = query
  const choice = choiceOf(query)
  const format = chooseFormat(query.format, accept, LIST_FORMATS)
  if (query.cursor !== undefined && query.offset !== undefined)
    throw invalid('offset', 'Give offset or cursor, not both')
  const from = query.cursor === undefined ? undefined : positionIn(query.cursor, choiceTag(choice, sort))
  const paged = format === 'json' || format === 'html'
  if (total && !paged) throw invalid('total', 'It is told in JSON only')
  if (geometry && format !== 'csv') throw invalid('geometry', 'It is a column of format=csv')
  checkBom(bom, format)
  if (include && isColumnar(format))
    throw invalid('include', 'GeoParquet and FlatGeobuf have the fields of the record: take another format')
  const whole = isColumnar(format) || (!paged && !(limit !== undefined && limit <= MAX_LIMIT))
  const search = {
    ...choice,
    // A larger limit becomes the maximum; the answer has the limit that was applied.
    limit: whole ? (limit ?? Infinity) : Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: query.offset ?? 0,
    from,
    withGeometry: format === 'geojson' || isColumnar(format) || geometry !== undefined,
    withProvenance: include === 'provenance',
  }
  if (isColumnar(format) && sort.by === 'distance')
    throw invalid(
      'sort',
      'GeoParquet and FlatGeobuf are in space order: leave it out, or take another format',
    )
  if (whole && sort.by === 'distance')
    throw invalid('limit', `sort=distance comes in pages: give ${MAX_LIMIT} or less, and go on by cursor`)
  return {
    ...(whole
      ? { whole, format, search: { ...search, sort: sort as TimeSort } }
      : { whole, format, search: { ...search, sort } }),
    columns: [
      ...(include ? Object.keys(PROVENANCE_FIELDS) : []),
      ...(sort.by === 'distance' ? ['distance_meters'] : []),
      ...(geometry ? ['geometry'] : []),
    ],
    bom,
    byCursor: from !== undefined,
    // HTML pages show the total. All are near a place that no radius bounds: they would all be measured.
    withTotal:
      total === true || (format === 'html' && !(sort.by === 'distance' && query.radius === undefined)),
    given,
  }
}
