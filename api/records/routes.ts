import type { FastifyInstance, FastifyReply } from 'fastify'
import { rootOf, sendPage, type Trail } from '../http/pages'
import { RecordsError, itIsOn } from '../http/problems'
import { SharedRead } from '../http/shared'
import { workOf } from '../http/work'
import { listAbove, listPage, recordPage, type Feature } from '../pages'
import { cursorText, linkHeader, pageAddresses, positionIn } from '../http/paging'
import { choiceTag, checkBom, DEFAULT_LIMIT, MAX_LIMIT, choiceOf, type Search } from '../query'
import { DEEP_OFFSET, type RecordPage, NEWEST_FIRST, type TimeSort, PROVENANCE_FIELDS } from '../store'
import { invalid, readingScope, type ReadingScope } from '../http/parameters'
import {
  GEOPARQUET_2,
  RECORD_FORMATS,
  TEXT_FORMATS,
  csvFormat,
  featureText,
  recordBytes,
  recordText,
} from '../formats'
import { recordsSchemas, LIST_FORMATS, LIST_QUERY, SINGLE_FORMATS } from './openapi'
import { chooseFormat, isColumnar } from '../http/accept'
import { statisticsRoutes, type RecordsParts } from './statistics'

const JSON_TYPE = 'application/json; charset=utf-8'
const GEOJSON_TYPE = 'application/geo+json; charset=utf-8'
const NOTHING: RecordPage = { rows: [] }
const addressOf = (publicBaseUrl: string) => `${publicBaseUrl}/api/v0/location-records`

/** The Records API (docs/spec/interface.md 7; extensions: docs/reference/records.md), mounted at /api/v0. */
export function recordsRoutes(parts: RecordsParts) {
  const { freshness, publicBaseUrl, fileExports } = parts
  const home = [{ href: `${publicBaseUrl}/docs`, title: 'API' }]

  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = readingScope(scope, publicBaseUrl)
    freshness.keepAnswersOf(app)
    app.addHook('preClose', (closed) => {
      fileExports.stop()
      closed()
    })
    listRoute(app, parts, home)
    recordRoute(app, parts, home)
    statisticsRoutes(app, parts)
    done()
  }
}

function listRoute(app: ReadingScope, parts: RecordsParts, home: Trail): void {
  const { records, freshness, publicBaseUrl, fileExports } = parts
  const listAddress = addressOf(publicBaseUrl)
  // A count from before the state that `answers` has read would leave out records of its ETag.
  const known = new SharedRead(() => records.search({}).count(), 0)

  app.get('/location-records', { schema: recordsSchemas.list }, async (request, reply) => {
    const asked = listRequest(request.query, request.headers.accept)
    const { format, search: page } = asked
    if (await freshness.answers(request, reply, format)) return reply
    const isBeyond = page.offset >= DEEP_OFFSET && page.offset >= (await known.get()).total
    const search = records.search(isBeyond && asked.whole ? { ...page, limit: 0 } : page, workOf(request))
    if (asked.whole)
      return fileExports.send(
        request,
        reply,
        search.pages(),
        asked.version === '2'
          ? GEOPARQUET_2
          : asked.format === 'csv'
            ? csvFormat(asked.columns, asked.bom)
            : RECORD_FORMATS[asked.format],
      )
    const [found, counted] = await Promise.all([
      isBeyond ? NOTHING : search.page(),
      asked.withTotal ? (asked.format === 'html' ? search.cheapCount() : search.count()) : undefined,
    ])
    return sendList(reply, asked, found, counted, listAddress, home)
  })
}

function sendList(
  reply: FastifyReply,
  { search, format, columns, bom, byCursor, given }: ReturnType<typeof listRequest> & { whole: false },
  { rows, next }: RecordPage,
  counted: Awaited<ReturnType<Search['count']>> | undefined,
  listAddress: string,
  home: Trail,
): FastifyReply {
  const { sort, limit, offset } = search
  const nextCursor = next ? cursorText(next, choiceTag(search, sort)) : null
  const addresses = pageAddresses(listAddress, given, { limit, offset, nextCursor, byCursor })
  const links = linkHeader(addresses)
  if (links !== undefined) void reply.header('link', links)
  if (format === 'html')
    return sendPage(reply, listPage({ rows, search, given, addresses, counted, byCursor }, listAddress, home))
  // Without a Link header, a page with fewer records than requested looks like the last one.
  if (links === undefined && format !== 'json' && next && rows.length < limit)
    throw invalid(
      'limit',
      `These records are so large that the page ends after ${rows.length}, and the cursor of the ` +
        `next page does not fit into a Link header. Set limit=${rows.length} or less, leave limit ` +
        'out to get all records, or choose JSON.',
    )
  if (format !== 'json') {
    const { type, file, head, write, tail } =
      format === 'csv' ? csvFormat(columns, bom) : TEXT_FORMATS[format]
    return reply
      .type(type)
      .header('content-disposition', file)
      .send(head + write(rows) + tail)
  }
  // The next page by offset starts `limit` records later, so a page that ends early has a lower limit.
  const applied = next && rows.length > 0 ? rows.length : limit
  const total = counted ? `,"total":${counted.total},"total_exact":${counted.exact}` : ''
  const end = `],"count":${rows.length},"limit":${applied},"offset":${offset},"next_cursor":${JSON.stringify(nextCursor)}${total}}`
  return reply.type(JSON_TYPE).send(recordBytes('{"data":[', rows, end))
}

function recordRoute(
  app: ReadingScope,
  { store, freshness, publicBaseUrl, hasPlaces }: RecordsParts,
  home: Trail,
): void {
  const listAddress = addressOf(publicBaseUrl)

  app.get('/location-records/:uid', { schema: recordsSchemas.byUid }, async (request, reply) => {
    const { uid } = request.params
    const { chain, include, given } = request.query
    const format = chooseFormat(request.query.format, request.headers.accept, SINGLE_FORMATS)
    const find = async () => {
      const own = store.of(workOf(request))
      const found = await own.recordByUid(uid.toLowerCase(), chain, {
        withGeometry: format !== 'json',
        // The HTML page shows people where a record comes from.
        withProvenance: include === 'provenance' || format === 'html',
      })
      if (found) return found
      const unreadable = await own.unreadable(uid, chain)
      if (unreadable !== undefined || chain === undefined)
        throw new RecordsError('record-not-found', unreadable ?? `No attestation with UID ${uid} found`)
      throw new RecordsError(
        'record-not-found',
        `No attestation with UID ${uid} found on ${given.chain}${itIsOn(await own.otherChainsOf(uid, chain))}`,
      )
    }
    const row = await freshness.find(request, reply, find, format)
    if (!row) return reply
    if (format === 'html') {
      if (hasPlaces && request.query.format === undefined)
        return reply.redirect(`${rootOf(request.url)}r/${row.chain}/${row.uid}`, 303)
      const trail = [...home, ...listAbove(listAddress, 'Location records', given)]
      return sendPage(reply, recordPage(JSON.parse(featureText(row)) as Feature, publicBaseUrl, trail))
    }
    return format === 'geojson'
      ? reply.type(GEOJSON_TYPE).send(featureText(row))
      : reply.type(JSON_TYPE).send(recordText(row))
  })
}

/**
 * Parses a request of the list. JSON and HTML are paged, and so are text formats with `limit` up to
 * MAX_LIMIT. Other files contain all matching records (`whole`). Throws a RecordsError.
 */
function listRequest(query: typeof LIST_QUERY.static, accept: string | undefined) {
  const { limit, total, given, include, geometry, bom = false, version, sort = NEWEST_FIRST } = query
  const choice = choiceOf(query)
  const format = chooseFormat(query.format, accept, LIST_FORMATS)
  if (query.cursor !== undefined && query.offset !== undefined)
    throw invalid('offset', 'Set offset or cursor, but not both')
  const from = query.cursor === undefined ? undefined : positionIn(query.cursor, choiceTag(choice, sort))
  const paged = format === 'json' || format === 'html'
  if (total && !paged) throw invalid('total', 'Available with format=json only')
  if (geometry && format !== 'csv') throw invalid('geometry', 'Available with format=csv only')
  checkBom(bom, format)
  if (version !== undefined && format !== 'geoparquet')
    throw invalid('version', 'Available with format=geoparquet only')
  if (include && isColumnar(format))
    throw invalid(
      'include',
      'GeoParquet and FlatGeobuf have only the fields of the record. Choose another format.',
    )
  const whole = isColumnar(format) || (!paged && !(limit !== undefined && limit <= MAX_LIMIT))
  const search = {
    ...choice,
    // A larger limit is reduced to the maximum. The response states the limit that was applied.
    limit: whole ? (limit ?? Infinity) : Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT),
    offset: query.offset ?? 0,
    from,
    withGeometry: format === 'geojson' || isColumnar(format) || geometry !== undefined,
    withProvenance: include === 'provenance',
  }
  if (isColumnar(format) && sort.by === 'distance')
    throw invalid(
      'sort',
      'GeoParquet and FlatGeobuf are in spatial order. Leave it out, or choose another format.',
    )
  if (whole && sort.by === 'distance')
    throw invalid(
      'limit',
      limit === undefined
        ? `Missing; format=${format} with sort=distance needs a limit of at most ${MAX_LIMIT}`
        : `The maximum with sort=distance is ${MAX_LIMIT}. Read further pages by cursor.`,
    )
  return {
    ...(whole
      ? { whole, format, search: { ...search, sort: sort as TimeSort } }
      : { whole, format, search: { ...search, sort } }),
    // CSV columns beyond the fields of the record.
    columns: [
      ...(include ? Object.keys(PROVENANCE_FIELDS) : []),
      ...(sort.by === 'distance' ? ['distance_meters'] : []),
      ...(geometry ? ['geometry'] : []),
    ],
    bom,
    version: version ?? '1.1',
    byCursor: from !== undefined,
    // HTML shows the total, unless by distance without a radius, which would measure every record.
    withTotal:
      total === true || (format === 'html' && !(sort.by === 'distance' && query.radius === undefined)),
    given,
  }
}
