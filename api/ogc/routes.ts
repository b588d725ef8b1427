import { html } from '../http/html'
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { cut } from '../../src/cut'
import { version } from '../../package.json'
import { cursorText } from '../http/paging'
import { type GivenQuery, readingScope } from '../http/parameters'
import { type RecordSearch, type SearchQuery, Search } from '../query'
import { type Feature, orderOf } from '../pages'
import { Cache } from '../http/cache'
import { type Freshness } from '../http/freshness'
import type { Store } from '../store'
import {
  CONFORMANCE,
  DESCRIPTION,
  GEOJSON,
  JSON_TYPE,
  OPENAPI,
  SCHEMA,
  TITLE,
  collection,
  itemsLinks,
  landing,
  link,
  ogcAddresses,
  selfLinks,
  type Link,
  type OgcAddresses,
} from './documents'
import { ogcOpenApi, type OgcOpenApi } from './openapi'
import { JSON_FG_CONFORMANCE, profileHead, profileLinks, profileText } from './json-fg'
import { featureSchema, queryablesSchema, recordSchema, sortablesSchema } from './schemas'
import {
  apiBody,
  collectionBody,
  collectionsBody,
  conformanceBody,
  documentPage,
  itemPage,
  itemsPage,
  jsonBody,
} from './pages'
import {
  COLLECTION_PATH,
  cursorTag,
  FEATURE_QUERY,
  FEATURE_PATH,
  MATRIX_SET,
  formatOf,
  profileOf,
  ITEMS_QUERY,
  parseFeatureId,
  searchOf,
  type Format,
} from './parameters'
import {
  matrixSet,
  matrixSets,
  matrixSetsLink,
  tileset,
  TILES_CONFORMANCE,
  tilesets,
  tilesetsLink,
} from './tiles'
import { type Trail } from '../http/pages'
import { RecordsError } from '../http/problems'
import { finished, joined, workOf, type Work } from '../http/work'
import { send, OgcScope } from './scope'

interface OgcParts {
  store: Store
  records: RecordSearch
  freshness: Freshness
  clock: () => number
  /** Without a trailing slash. */
  publicBaseUrl: string
  deploymentName: string
}

/** Registers /ogc. It has its own OpenAPI document, and the service's document leaves it out. */
export async function ogcRoutes(app: FastifyInstance, parts: OgcParts): Promise<void> {
  const { freshness, publicBaseUrl, deploymentName } = parts
  readingScope(app, publicBaseUrl)
  freshness.keepAnswersOf(app)
  const at = ogcAddresses(publicBaseUrl)
  const definition = ogcOpenApi(publicBaseUrl, deploymentName)
  const edition = createHash('sha256')
    .update(`${version} ${publicBaseUrl} ${deploymentName} ${JSON.stringify(definition)}`)
    .digest('base64url')
    .slice(0, 8)
  const scope = new OgcScope(app, freshness, edition, at.root)
  const home = { href: `${at.root}?f=html`, title: 'OGC API' }
  const trail = [
    home,
    { href: `${at.root}/collections?f=html`, title: 'Collections' },
    { href: `${at.collection}?f=html`, title: 'Location records' },
  ] as const
  const above = { home, trail }
  documentRoutes(
    scope,
    deploymentName === 'unnamed' ? TITLE : `${TITLE} (${deploymentName})`,
    definition,
    at,
    above,
  )
  tilesRoutes(scope, publicBaseUrl, at, above)
  collectionRoutes(scope, parts.store, at, above)
  itemsRoute(scope, parts, at, trail)
  itemRoute(scope, parts, at, trail)
}

/** Breadcrumbs of the pages above a page. */
interface Above {
  home: Trail[number]
  trail: Trail
}

function documentRoutes(
  scope: OgcScope,
  title: string,
  definition: OgcOpenApi,
  at: OgcAddresses,
  { home, trail }: Above,
): void {
  scope.fixed({
    ...{ path: '', type: JSON_TYPE, title, trail: [] },
    make: (links) => ({
      document: landing(at, title, links, matrixSetsLink(at)),
      body: () => html`<p>${DESCRIPTION}</p>`,
    }),
  })
  const document = { conformsTo: [...CONFORMANCE, ...JSON_FG_CONFORMANCE, ...TILES_CONFORMANCE] }
  scope.fixed({
    ...{ path: '/conformance', type: JSON_TYPE, title: 'Conformance', trail: [home] },
    make: () => ({ document, body: () => conformanceBody(document) }),
  })
  scope.fixed({
    ...{ path: '/api', type: OPENAPI, title: definition.info.title, trail: [home] },
    make: () => ({ document: definition, body: () => apiBody(definition) }),
  })
  for (const [path, title, schemaOf, note] of SCHEMA_PAGES) {
    const document = schemaOf(`${at.collection}/${path}`)
    scope.fixed({
      ...{ path: `/collections/:collectionId/${path}`, type: SCHEMA, title, trail },
      make: () => ({ document, body: () => jsonBody(document, note) }),
    })
  }
}

function tilesRoutes(scope: OgcScope, publicBaseUrl: string, at: OgcAddresses, { home, trail }: Above): void {
  const fixed = (
    path: string,
    title: string,
    trail: Trail,
    documentOf: (links: Link[], format: Format) => object,
  ) =>
    scope.fixed({
      ...{ path, type: JSON_TYPE, title, trail, linkTitle: title },
      make: (links, format) => {
        const document = documentOf(links, format)
        return { document, body: () => jsonBody(document) }
      },
    })
  const tiles = '/collections/:collectionId/tiles'
  fixed('/tileMatrixSets', 'Tile matrix sets', [home], (links, format) => matrixSets(at, links, format))
  fixed('/tileMatrixSets/:tileMatrixSetId', MATRIX_SET, [home], matrixSet)
  fixed(tiles, 'Tilesets', trail, (links, format) => tilesets(at, links, format))
  fixed(`${tiles}/:tileMatrixSetId`, 'Vector tiles', trail, (links) => tileset(at, publicBaseUrl, links))
}

function collectionRoutes(scope: OgcScope, store: Store, at: OgcAddresses, { home, trail }: Above): void {
  /** By ETag: clients cache the document under the same ETag. */
  const extents = new Cache<ReturnType<Store['readExtent']>>('extents')
  const extentOf = (etag: string) => extents.of(etag, () => store.readExtent())

  const collectionOf = async (format: Format, given: GivenQuery, etag: string) =>
    collection(at, await extentOf(etag), [
      ...selfLinks(at.collection, JSON_TYPE, 'The collection', format, given),
      tilesetsLink(at),
    ])
  scope.live('/collections', async (format, given, etag) => {
    const links = selfLinks(`${at.root}/collections`, JSON_TYPE, 'This document', format, given)
    const collections = [await collectionOf(format, given, etag)]
    return {
      type: JSON_TYPE,
      links,
      json: () => JSON.stringify({ links, collections }),
      html: () =>
        documentPage('Collections', [home], links, collectionsBody(collections), 'Links of this page'),
    }
  })
  scope.live('/collections/:collectionId', async (format, given, etag) => {
    const document = await collectionOf(format, given, etag)
    return {
      type: JSON_TYPE,
      links: document.links,
      json: () => JSON.stringify(document),
      html: () => documentPage(document.title, trail.slice(0, 2), document.links, collectionBody(document)),
    }
  })
}

function itemsRoute(
  scope: OgcScope,
  { records, clock }: Pick<OgcParts, 'records' | 'clock'>,
  at: OgcAddresses,
  trail: Trail,
): void {
  /** By ETag and filters, so that a client that reads page after page has them counted once. */
  const counts = new Cache<ReturnType<Search['cheapCount']>>('counts')
  const countOf = (etag: string, { limit: _, from: __, sort: ___, ...filters }: SearchQuery, work: Work) => {
    const key = `${etag} ${JSON.stringify(filters)}`
    return joined(
      () => counts.get(key),
      () => {
        counts.delete(key)
        return counts.of(key, () => records.search(filters, finished(work)).cheapCount())
      },
    )
  }

  scope.get(
    '/collections/:collectionId/items',
    { params: COLLECTION_PATH, querystring: ITEMS_QUERY },
    async (request, reply) => {
      const { given } = request.query
      const search = searchOf(request.query)
      const format = formatOf(request.query, request.headers.accept)
      const profile = profileOf(request.query, format)
      if (await scope.freshness.answers(request, reply, scope.variant(format, profile))) return reply
      const work = workOf(request)
      const [{ rows, next }, counted] = await Promise.all([
        records.search(search, work).page(),
        countOf(String(reply.getHeader('etag')), search, work),
      ])
      const links = [
        ...itemsLinks(at, format, given, next && cursorText(next, cursorTag(search.sort))),
        ...profileLinks(profile),
      ]
      const head = {
        ...profileHead(profile, at),
        ...(counted?.exact && { numberMatched: counted.total }),
        numberReturned: rows.length,
        timeStamp: new Date(clock()).toISOString(),
        links,
      }
      const features = rows.map((row) => profileText(row, profile))
      return send(reply, format, {
        type: GEOJSON,
        links,
        json: () =>
          `{"type":"FeatureCollection",${JSON.stringify(head).slice(1, -1)},"features":[${features.join()}]}`,
        html: () =>
          itemsPage(
            { ...head, features: features.map((text) => JSON.parse(text) as Feature) },
            (id) => `${at.feature(id)}?f=html`,
            trail,
            orderOf(search.sort),
            search.bbox,
          ),
      })
    },
  )
}

function itemRoute(
  scope: OgcScope,
  { store }: Pick<OgcParts, 'store'>,
  at: OgcAddresses,
  trail: Trail,
): void {
  scope.get(
    '/collections/:collectionId/items/:featureId',
    { params: FEATURE_PATH, querystring: FEATURE_QUERY },
    async (request, reply) => {
      const { featureId } = request.params
      const format = formatOf(request.query, request.headers.accept)
      const profile = profileOf(request.query, format)
      const id = parseFeatureId(featureId)
      const own = store.of(workOf(request))
      const find = async () => {
        const found =
          id &&
          (await own.recordByUid(id.uid, id.chain, {
            withGeometry: true,
            withProvenance: request.query.include === 'provenance',
          }))
        if (!found)
          throw new RecordsError(
            'record-not-found',
            (id && (await own.unreadable(id.uid, id.chain))) ??
              `Feature not found: '${cut(featureId, 100)}'. The ID of a feature is <chain>-<uid>`,
          )
        return found
      }
      const row = await scope.freshness.find(request, reply, find, scope.variant(format, profile))
      if (!row) return reply
      const href = at.feature(`${row.chain}-${row.uid}`)
      const links = [
        ...selfLinks(href, GEOJSON, 'This record', format, request.query.given),
        link(at.collection, 'collection', JSON_TYPE, 'Collection of the record'),
        ...profileLinks(profile),
      ]
      const more = { ...profileHead(profile, at), links }
      const text = `${profileText(row, profile).slice(0, -1)},${JSON.stringify(more).slice(1)}`
      return send(reply, format, {
        type: GEOJSON,
        links,
        json: () => text,
        html: () =>
          itemPage(JSON.parse(text) as Feature & { links: Link[] }, [
            ...trail,
            { href: `${at.items}?f=html`, title: 'Records' },
          ]),
      })
    },
  )
}

/** Path under the collection, title, document and note of each page of a JSON Schema. */
const SCHEMA_PAGES = [
  ['schema', 'Fields of a record', recordSchema, 'JSON Schema of the fields of a record in all formats.'],
  [
    'schema/geojson',
    'Schema of a feature',
    featureSchema,
    'JSON Schema of a feature as GeoJSON. A null property counts as missing.',
  ],
  ['queryables', 'Queryables', queryablesSchema, 'JSON Schema of the properties that a CQL2 filter may use.'],
  ['sortables', 'Sortables', sortablesSchema, 'JSON Schema of the properties that `sortby` may name.'],
] as const
