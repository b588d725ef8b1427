import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { version } from '../package.json'
import { Freshness } from './freshness'
import {
  COLLECTION,
  CONFORMANCE,
  GEOJSON,
  HTML,
  JSON_TYPE,
  OPENAPI,
  OgcAddresses,
  SCHEMA,
  collection,
  landing,
  link,
  selfLinks,
  withParameters,
  type Link,
} from './ogc-documents'
import { featureSchema, ogcOpenApi, operationsOf } from './ogc-openapi'
import {
  apiPage,
  collectionPage,
  collectionsPage,
  conformancePage,
  itemPage,
  itemsPage,
  jsonPage,
  landingPage,
} from './ogc-pages'
import { cursorOf, parseFeatureId, parseFormat, parseItems, type Format } from './ogc-parameters'
import { sendPage } from './pages'
import { RecordsProblem, recordsErrorHandler } from './problems'
import { featureText } from './record-formats'
import type { Feature } from './record-pages'
import type { RecordSearch, Records } from './search'
import type { Store } from './store'

export interface OgcParts {
  store: Store
  records: Records
  clock: () => number
  /** No slash at its end. */
  publicBaseUrl: string
  deploymentName: string
}

/**
 * OGC API - Features, Part 1: Core (OGC 17-069r4) with GeoJSON, HTML and OpenAPI 3.0: the records for GIS software, mounted at /ogc.
 * Its own OpenAPI document describes it; the one of the service leaves it out.
 */
export async function ogcRoutes(
  app: FastifyInstance,
  { store, records, clock, publicBaseUrl, deploymentName }: OgcParts,
): Promise<void> {
  const at = new OgcAddresses(publicBaseUrl)
  const freshness = new Freshness(store, clock)
  const definition = ogcOpenApi(publicBaseUrl, deploymentName)
  // What answers are made of beside the records: another version or address must not pass for the copy that a client has.
  const edition = createHash('sha256')
    .update(`${version} ${publicBaseUrl} ${deploymentName} ${JSON.stringify(definition)}`)
    .digest('base64url')
    .slice(0, 8)
  const variant = (format: Format) => `${format}-${edition}`
  const home = { href: `${at.root}?f=html`, title: 'OGC API' }
  const trail = [
    home,
    { href: `${at.root}/collections?f=html`, title: 'Collections' },
    { href: `${at.collection}?f=html`, title: 'Location records' },
  ] as const

  /** When the first and the last record were attested, by the state of the data: an older one under a newer ETag would be kept for good. */
  const extents = new LRUCache<string, ReturnType<Store['readExtent']>>({ max: 16 })
  const extentOf = (state: string) => remembered(extents, state, () => store.readExtent())

  /** Counts by the state of the data and the filters: who reads page after page has them counted once. */
  const counts = new LRUCache<string, ReturnType<Records['count']>>({ max: 1_000 })
  const countOf = (state: string, { limit: _, from: __, ...filters }: RecordSearch) =>
    remembered(counts, `${state} ${JSON.stringify(filters)}`, () => records.count({ limit: 0, ...filters }))

  app.setErrorHandler(recordsErrorHandler(publicBaseUrl))

  /** Sends a document in the form that was asked for. */
  const send = (
    reply: FastifyReply,
    format: Format,
    links: readonly Link[],
    type: string,
    json: () => string,
    html: () => string,
  ): FastifyReply => {
    reply
      .header('x-content-type-options', 'nosniff')
      .header(
        'link',
        links.map(({ href, rel, type: linked }) => `<${href}>; rel="${rel}"; type="${linked}"`).join(', '),
      )
    // As bytes: Fastify would write the type of a text anew, with a charset and with quotes that GDAL does not take for what it asked for.
    if (format === 'json') return reply.type(type).send(Buffer.from(json()))
    return sendPage(reply, html())
  }
  /** Sends a document that changes with the deployment only. */
  const sendFixed = (
    request: FastifyRequest,
    reply: FastifyReply,
    type: string,
    make: (
      format: Format,
      query: Record<string, string>,
    ) => { document: object; links: readonly Link[]; html: () => string },
  ): FastifyReply => {
    const format = parseFormat(request.query, request.headers.accept)
    const { document, links, html } = make(format, request.query as Record<string, string>)
    const etag = `W/"${variant(format)}"`
    reply.headers({ etag, 'cache-control': 'public, no-cache', vary: 'accept' })
    if (request.headers['if-none-match']?.split(',').some((tag) => tag.trim() === etag))
      return reply.status(304).send()
    return send(reply, format, links, type, () => JSON.stringify(document), html)
  }
  const get = <Params>(
    path: string,
    handler: (
      request: FastifyRequest<{ Params: Params }>,
      reply: FastifyReply,
    ) => Promise<FastifyReply> | FastifyReply,
  ) => {
    app.get<{ Params: Params }>(path, { schema: { hide: true } }, handler)
    app.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE'],
      url: path,
      schema: { hide: true },
      onRequest: onlyReading,
      handler: onlyReading,
    })
  }

  get('', (request, reply) =>
    sendFixed(request, reply, JSON_TYPE, (format, query) => {
      const document = landing(at, deploymentName, format, query)
      return { document, links: document.links, html: () => landingPage(document) }
    }),
  )
  get('/conformance', (request, reply) =>
    sendFixed(request, reply, JSON_TYPE, (format, query) => {
      const links = selfLinks(`${at.root}/conformance`, JSON_TYPE, 'This document', format, query)
      return { document: CONFORMANCE, links, html: () => conformancePage(CONFORMANCE, [home], links) }
    }),
  )
  get('/api', (request, reply) =>
    sendFixed(request, reply, OPENAPI, (format, query) => {
      const links = selfLinks(`${at.root}/api`, OPENAPI, 'This document', format, query)
      return {
        document: definition,
        links,
        html: () => apiPage(definition, operationsOf(definition), [home], links),
      }
    }),
  )
  get<{ collectionId: string }>('/collections/:collectionId/schema', (request, reply) => {
    onlyOurs(request.params.collectionId)
    return sendFixed(request, reply, SCHEMA, (format, query) => {
      const document = featureSchema(`${at.collection}/schema`)
      const links = selfLinks(`${at.collection}/schema`, SCHEMA, 'This document', format, query)
      return {
        document,
        links,
        html: () =>
          jsonPage(
            'Schema of a record',
            'What a feature looks like, as JSON Schema. A property that is null counts as missing.',
            document,
            trail,
            links,
          ),
      }
    })
  })

  const collectionOf = async (reply: FastifyReply, format: Format, query: Record<string, string>) =>
    collection(
      at,
      await extentOf(String(reply.getHeader('etag'))),
      selfLinks(at.collection, JSON_TYPE, 'The collection', format, query),
    )
  get('/collections', async (request, reply) => {
    const format = parseFormat(request.query, request.headers.accept)
    if (await freshness.isKnown(request, reply, variant(format))) return reply
    const query = request.query as Record<string, string>
    const links = selfLinks(`${at.root}/collections`, JSON_TYPE, 'This document', format, query)
    const collections = [await collectionOf(reply, format, query)]
    return send(
      reply,
      format,
      links,
      JSON_TYPE,
      () => JSON.stringify({ links, collections }),
      () => collectionsPage(collections, [home], links),
    )
  })
  get<{ collectionId: string }>('/collections/:collectionId', async (request, reply) => {
    onlyOurs(request.params.collectionId)
    const format = parseFormat(request.query, request.headers.accept)
    if (await freshness.isKnown(request, reply, variant(format))) return reply
    const document = await collectionOf(reply, format, request.query as Record<string, string>)
    return send(
      reply,
      format,
      document.links,
      JSON_TYPE,
      () => JSON.stringify(document),
      () => collectionPage(document, trail.slice(0, 2)),
    )
  })

  get<{ collectionId: string }>('/collections/:collectionId/items', async (request, reply) => {
    onlyOurs(request.params.collectionId)
    const { format, search } = parseItems(request.query, request.headers.accept)
    if (await freshness.isKnown(request, reply, variant(format))) return reply
    const [{ rows, next }, { total, exact }] = await Promise.all([
      records.page(search),
      countOf(String(reply.getHeader('etag')), search),
    ])
    const query = request.query as Record<string, string>
    const { f, cursor, ...filters } = query
    const [type, form] =
      format === 'html'
        ? [HTML, { f: 'html' }]
        : [GEOJSON, (f === undefined ? {} : { f }) as Record<string, string>]
    const links = [
      ...selfLinks(at.items, GEOJSON, 'This page', format, query),
      ...(next
        ? [
            link(
              withParameters(at.items, { ...filters, cursor: cursorOf(next), ...form }),
              'next',
              type,
              'The next page',
            ),
          ]
        : []),
      ...(cursor === undefined
        ? []
        : [link(withParameters(at.items, { ...filters, ...form }), 'first', type, 'The first page')]),
      link(at.collection, 'collection', JSON_TYPE, 'The collection'),
    ]
    const head = {
      ...(exact && { numberMatched: total }),
      numberReturned: rows.length,
      timeStamp: new Date(clock()).toISOString(),
      links,
    }
    const features = rows.map(featureText)
    return send(
      reply,
      format,
      links,
      GEOJSON,
      () =>
        `{"type":"FeatureCollection",${JSON.stringify(head).slice(1, -1)},"features":[${features.join()}]}`,
      () =>
        itemsPage(
          { ...head, features: features.map((text) => JSON.parse(text) as Feature) },
          (id) => `${at.feature(id)}?f=html`,
          trail,
          search.bbox,
        ),
    )
  })

  get<{ collectionId: string; featureId: string }>(
    '/collections/:collectionId/items/:featureId',
    async (request, reply) => {
      const { collectionId, featureId } = request.params
      onlyOurs(collectionId)
      const format = parseFormat(request.query, request.headers.accept)
      const id = parseFeatureId(featureId)
      const find = async () => {
        const row = id && (await store.recordByUid(id.uid, id.chain, true))
        if (!row)
          throw new RecordsProblem(
            'Location record not found',
            `There is no feature '${featureId.slice(0, 100)}'. The ID of a feature is <chain>-<uid>`,
          )
        return row
      }
      // Of what does not exist nobody has a copy: neither of any (`*`), nor by the ETag of another answer.
      if (request.headers['if-none-match'] !== undefined) await find()
      if (id && (await freshness.isKnown(request, reply, variant(format)))) return reply
      const row = await find()
      const links = [
        ...selfLinks(
          at.feature(`${row.chain}-${row.uid}`),
          GEOJSON,
          'This record',
          format,
          request.query as Record<string, string>,
        ),
        link(at.collection, 'collection', JSON_TYPE, 'The collection that holds it'),
      ]
      const text = `${featureText(row).slice(0, -1)},"links":${JSON.stringify(links)}}`
      return send(
        reply,
        format,
        links,
        GEOJSON,
        () => text,
        () =>
          itemPage(JSON.parse(text) as Feature & { links: Link[] }, [
            ...trail,
            { href: `${at.items}?f=html`, title: 'Records' },
          ]),
      )
    },
  )
}

/** What was read before under this key, or is read now; a failed read is not kept. */
function remembered<T>(cache: LRUCache<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const known = cache.get(key)
  if (known) return known
  const value = read()
  cache.set(key, value)
  value.catch(() => cache.delete(key))
  return value
}

async function onlyReading({ method }: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('allow', 'GET, HEAD')
  throw new RecordsProblem('Method not allowed', `${method} is not possible here; use GET`)
}

function onlyOurs(collectionId: string): void {
  if (collectionId !== COLLECTION)
    throw new RecordsProblem(
      'Not found',
      `There is no collection '${collectionId.slice(0, 100)}'. There is one: ${COLLECTION}`,
    )
}
