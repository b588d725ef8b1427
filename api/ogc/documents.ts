import { CRS84 } from '../query'
import type { GivenQuery } from '../http/parameters'
import { COLLECTION, MATRIX_SET, type Format } from './parameters'

/** Documents of OGC API - Features (OGC 17-069r4, 7), except the features. */

export const GEOJSON = 'application/geo+json'
export const JSON_TYPE = 'application/json'
export const HTML = 'text/html'
export const OPENAPI = 'application/vnd.oai.openapi+json;version=3.0'
export const SCHEMA = 'application/schema+json'

export interface Link {
  href: string
  rel: string
  type: string
  title: string
  /** True if the address is a URI template (RFC 6570). */
  templated?: true
}

export const TITLE = 'Location records'
export const DESCRIPTION =
  'Location attestations on blockchains (EAS), newest first, each with attester, time, ' +
  'geometry and revocation. Geometries are unchanged: their edges are shortest geodesics on ' +
  'the WGS84 ellipsoid, and they are not cut at the antimeridian. Records with an ambiguous ' +
  'location have no geometry.'

export type SchemaKind = 'schema' | 'queryables' | 'sortables'

/** Addresses of the documents. @param publicBaseUrl without a trailing slash */
export function ogcAddresses(publicBaseUrl: string) {
  const root = `${publicBaseUrl}/ogc`
  const collection = `${root}/collections/${COLLECTION}`
  const items = `${collection}/items`
  return {
    ...{ root, collection, items },
    /** URL of a JSON Schema (OGC 23-058r2): fields of features, of filters, or of orders. */
    schema: (kind: SchemaKind) => `${collection}/${kind}`,
    feature: (id: string) => `${items}/${encodeURIComponent(id)}`,
    matrixSets: `${root}/tileMatrixSets`,
    matrixSet: `${root}/tileMatrixSets/${MATRIX_SET}`,
    tilesets: `${collection}/tiles`,
    tileset: `${collection}/tiles/${MATRIX_SET}`,
  }
}
export type OgcAddresses = ReturnType<typeof ogcAddresses>

/** Adds parameters to an address. Commas, colons and slashes stay readable. */
function withParameters(href: string, parameters: GivenQuery): string {
  const query = Object.entries(parameters).map(
    ([name, value]) =>
      `${encodeURIComponent(name)}=${encodeURIComponent(value!).replace(/%(2C|3A|2F)/g, (escape) => decodeURIComponent(escape))}`,
  )
  return query.length ? `${href}${href.includes('?') ? '&' : '?'}${query.join('&')}` : href
}

/** Links of a document to itself and its other format. The JSON address has `f` if the request had it. */
export function selfLinks(
  href: string,
  type: string,
  title: string,
  format: Format,
  { f, ...parameters }: GivenQuery = {},
): Link[] {
  const json = link(
    withParameters(href, f === 'json' ? { ...parameters, f } : parameters),
    'self',
    type,
    `${title}, as JSON`,
  )
  const html = link(withParameters(href, { ...parameters, f: 'html' }), 'self', HTML, `${title}, as a page`)
  return format === 'json' ? [json, { ...html, rel: 'alternate' }] : [html, { ...json, rel: 'alternate' }]
}

/** Links of a page of features. @param cursor cursor of the next page */
export function itemsLinks(
  at: OgcAddresses,
  format: Format,
  given: GivenQuery,
  cursor: string | undefined,
): Link[] {
  const { f, cursor: here, ...filters } = given
  const type = format === 'html' ? HTML : GEOJSON
  const form: GivenQuery = format === 'html' ? { f: 'html' } : f === undefined ? {} : { f }
  return [
    ...selfLinks(at.items, GEOJSON, 'This page', format, given),
    ...(cursor === undefined
      ? []
      : [link(withParameters(at.items, { ...filters, cursor, ...form }), 'next', type, 'The next page')]),
    ...(here === undefined
      ? []
      : [link(withParameters(at.items, { ...filters, ...form }), 'first', type, 'The first page')]),
    link(at.collection, 'collection', JSON_TYPE, 'The collection'),
    schemaLink(at, 'queryables', 'Fields you can filter by (JSON Schema)'),
  ]
}

function schemaLink(at: OgcAddresses, kind: SchemaKind, title: string): Link {
  return link(at.schema(kind), `http://www.opengis.net/def/rel/ogc/1.0/${kind}`, SCHEMA, title)
}

export function link(href: string, rel: string, type: string, title: string): Link {
  return { href, rel, type, title }
}

/** @param links to the document itself @param more links to other documents */
export function landing(at: OgcAddresses, title: string, links: readonly Link[], more: Link) {
  const both = (href: string, rel: string, title: string) => [
    link(href, rel, JSON_TYPE, `${title}, as JSON`),
    link(`${href}?f=html`, rel, HTML, `${title}, as a page`),
  ]
  return {
    title,
    description: DESCRIPTION,
    links: [
      ...links,
      link(`${at.root}/api`, 'service-desc', OPENAPI, 'Definition of this API (OpenAPI 3.0)'),
      link(`${at.root}/api?f=html`, 'service-doc', HTML, 'Definition of this API, as a page'),
      ...both(`${at.root}/conformance`, 'conformance', 'Conformance classes of this API'),
      ...both(`${at.root}/collections`, 'data', 'The collections'),
      more,
    ],
  }
}

/**
 * Requirements classes that are implemented completely. basic-spatial-functions-plus is not: its literals
 * include polygons along 180 degrees of a meridian, which have no certain geodesic. The class of queryables
 * of OGC 23-058r2 is not: it forbids the geometry's $ref, which QGIS reads.
 */
export const CONFORMANCE = [
  ...['core', 'oas30', 'html', 'geojson'].map((name) => `ogcapi-features-1/1.0/conf/${name}`),
  ...['queryables', 'filter', 'features-filter'].map((name) => `ogcapi-features-3/1.0/conf/${name}`),
  ...['schemas', 'advanced-property-roles', 'returnables-and-receivables', 'sortables'].map(
    (name) => `ogcapi-common-3/1.0/conf/${name}`,
  ),
  ...['cql2-text', 'cql2-json', 'basic-cql2'].map((name) => `cql2/1.0/conf/${name}`),
  ...['advanced-comparison-operators', 'case-insensitive-comparison', 'basic-spatial-functions'].map(
    (name) => `cql2/1.0/conf/${name}`,
  ),
].map((name) => `http://www.opengis.net/spec/${name}`)

/** @param times times of the first and the last record */
export function collection(at: OgcAddresses, times: { first: Date; last: Date } | undefined, links: Link[]) {
  return {
    id: COLLECTION,
    title: TITLE,
    description: DESCRIPTION,
    itemType: 'feature',
    crs: [CRS84],
    extent: {
      // Attested positions may be anywhere, and the extent has to include them all (/req/core/fc-md-extent).
      spatial: { bbox: [[-180, -90, 180, 90]], crs: CRS84 },
      ...(times && {
        temporal: {
          interval: [[times.first.toISOString(), times.last.toISOString()] as const],
          trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian',
        },
      }),
    },
    links: [
      ...links,
      // The address has no query, because clients of GeoJSON append parameters and IDs to it.
      link(at.items, 'items', GEOJSON, 'The records, as GeoJSON'),
      link(`${at.items}?f=html`, 'items', HTML, 'The records, as pages'),
      // Link relations are compared without regard to case (RFC 8288, 2.1.1), but GDAL recognizes only this
      // spelling.
      link(`${at.schema('schema')}/geojson`, 'describedBy', SCHEMA, 'Schema of a feature (JSON Schema)'),
      schemaLink(at, 'schema', 'Fields of a record (JSON Schema)'),
      schemaLink(at, 'queryables', 'Fields you can filter by (JSON Schema)'),
      schemaLink(at, 'sortables', 'Fields you can sort by (JSON Schema)'),
    ],
  }
}
export type Collection = ReturnType<typeof collection>
