import { html } from '../http/html'
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
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
  OgcAddresses,
  SCHEMA,
  collection,
  itemsLinks,
  landing,
  link,
  selfLinks,
  type Link,
} from './documents'
import { ogcOpenApi, operationsOf, type OgcOpenApi } from './openapi'
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
  COLLECTION,
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

/**
 * Registers OGC API - Features at /ogc, which serves the records to GIS software: Part 1: Core (OGC 17-069r4)
 * with GeoJSON, HTML and OpenAPI 3.0, and Part 3: Filtering (OGC 19-079r2) with CQL2. It has its own OpenAPI
 * document, and the service's document leaves it out.
 */
export async function ogcRoutes(app: FastifyInstance, parts: OgcParts): Promise<void> {
  const { freshness, publicBaseUrl, deploymentName } = parts
  readingScope(app, publicBaseUrl)
  freshness.keepAnswersOf(app)
  const at = new OgcAddresses(publicBaseUrl)
  const definition = ogcOpenApi(publicBaseUrl, deploymentName)
  const edition = createHash('sha256')
    .update(`${version} ${publicBaseUrl} ${deploymentName} ${JSON.stringify(definition)}`)
    .digest('base64url')
    .slice(0, 8)
  const scope = new OgcScope(app, freshness, edition)
  const home = { href: `${at.root}?f=html`, title: 'OGC API' }
  const trail = [
    home,
    { href: `${at.root}/collections?f=html`, title: 'Collections' },
    { href: `${at.collection}?f=html`, title: 'Location records' },
  ] as const
  const above = { home, trail }
  documentRoutes(scope, deploymentName, definition, at, above)
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
  deploymentName: string,
  definition: OgcOpenApi,
  at: OgcAddresses,
  { home, trail }: Above,
): void {
  scope.fixed('', JSON_TYPE, (format, given) => {
    const document = landing(at, deploymentName, format, given, [matrixSetsLink(at)])
    return {
      document,
      links: document.links,
      html: () => documentPage(document.title, [], document.links, html`<p>${document.description}</p>`),
    }
  })
  scope.fixed('/conformance', JSON_TYPE, (format, given) => {
    const links = selfLinks(`${at.root}/conformance`, JSON_TYPE, 'This document', format, given)
    const document = { conformsTo: [...CONFORMANCE, ...JSON_FG_CONFORMANCE, ...TILES_CONFORMANCE] }
    return {
      document,
      links,
      html: () => documentPage('Conformance', [home], links, conformanceBody(document)),
    }
  })
  scope.fixed('/api', OPENAPI, (format, given) => {
    const links = selfLinks(`${at.root}/api`, OPENAPI, 'This document', format, given)
    return {
      document: definition,
      links,
      html: () =>
        documentPage(definition.info.title, [home], links, apiBody(definition, operationsOf(definition))),
    }
  })
  for (const [path, title, schemaOf, note] of SCHEMA_PAGES)
    scope.fixed(`/collections/:collectionId/${path}`, SCHEMA, (format, given) => {
      const href = `${at.collection}/${path}`
      const document = schemaOf(href)
      const links = selfLinks(href, SCHEMA, 'This document', format, given)
      return { document, links, html: () => documentPage(title, trail, links, jsonBody(document, note)) }
    })
}

/** Routes of the tile documents. `make` receives the links of a document to itself and its other format. */
function tilesRoutes(scope: OgcScope, publicBaseUrl: string, at: OgcAddresses, { home, trail }: Above): void {
  const getTiles = (
    path: string,
    title: string,
    above: Trail,
    make: (links: Link[], format: Format) => object & { links?: readonly Link[] },
  ) =>
    scope.fixed(path, JSON_TYPE, (format, given) => {
      const href = `${at.root}${path.replace(':collectionId', COLLECTION).replace(':tileMatrixSetId', MATRIX_SET)}`
      const own = selfLinks(href, JSON_TYPE, title, format, given)
      const document = make(own, format)
      const links = document.links?.filter(({ templated }) => !templated) ?? own
      const parts = Object.values(document)
        .flat()
        .flatMap((part) => (part as { links?: readonly Link[] } | null)?.links ?? [])
      return {
        document,
        links,
        html: () => documentPage(title, above, [...links, ...parts], jsonBody(document)),
      }
    })
  getTiles('/tileMatrixSets', 'Tile matrix sets', [home], (links, format) => matrixSets(at, links, format))
  getTiles('/tileMatrixSets/:tileMatrixSetId', MATRIX_SET, [home], () => matrixSet())
  getTiles('/collections/:collectionId/tiles', 'Tilesets', trail, (links, format) =>
    tilesets(at, links, format),
  )
  getTiles('/collections/:collectionId/tiles/:tileMatrixSetId', 'Vector tiles', trail, (links) =>
    tileset(at, publicBaseUrl, DESCRIPTION, links),
  )
}

function collectionRoutes(scope: OgcScope, store: Store, at: OgcAddresses, { home, trail }: Above): void {
  /**
   * Times of the first and the last record, cached by ETag: clients cache the document under the same ETag.
   */
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
  /**
   * Counts, cached by ETag and filters, so that a client that reads page after page has them counted once.
   */
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
              `Feature not found: '${featureId.slice(0, 100)}'. The ID of a feature is <chain>-<uid>`,
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
