import * as turf from '@turf/turf'
import { beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from './api'
import { createMigratedDatabase, rows, type TestDatabase } from './database'
import { answerChecker, documentProblems, resolve } from './openapi30'
import { addressesOf, foreignElements, HEADER } from './pages'
import { SCHEMA_A, SCHEMA_B, addressOf, insertRecords, somePlaces, uidOf, type Place } from './records'
import { seeded } from './seed'
import { sentence, testSentences } from './sentences'

/**
 * Tests OGC API - Features, Part 1: Core (OGC 17-069r4), requirement by requirement, following its abstract
 * test suite (Annex A) and the OGC's executable test suite. The deployment's public URL has a path, as behind
 * a reverse proxy.
 */

type Json = any
const DRAFT = 'https://json-schema.org/draft/2020-12/schema'
const BASE = 'https://geo.example/attest'
const COLLECTION = '/ogc/collections/location-records'
const ITEMS = `${COLLECTION}/items`
const SCHEMA_TYPE = 'application/schema+json'
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
const places = somePlaces(1_100, 17_069)
let database: TestDatabase
let api: TestApi
let definition: Json
let problems: ReturnType<typeof answerChecker>

beforeAll(async () => {
  database = await createMigratedDatabase()
  await insertRecords(database.url, places)
  await rows(database.url, 'ANALYZE location_record')
  api = await startApi({ databaseUrl: database.url, publicBaseUrl: BASE })
  definition = await (await fetch(`${api.url}/ogc/api`)).json()
  problems = answerChecker(definition)
})

interface Answer {
  status: number
  type: string
  headers: Headers
  body: string
  json: Json
}

/**
 * Sends a request like a client that knows only the public URL. Checks the response against the API's
 * definition.
 */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const url = (path.startsWith(BASE) ? path.slice(BASE.length) : path).replace(/^(?!\/)/, '/')
  const answer = await fetch(`${api.url}${url}`, { headers, method, redirect: 'error' })
  const body = await answer.text()
  const type = answer.headers.get('content-type') ?? ''
  const json = type.includes('json') && body ? JSON.parse(body) : undefined
  const documented = Object.keys(definition?.paths ?? {}).find((each) =>
    new RegExp(`^/ogc${each === '/' ? '/?' : each.replace(/\{\w+\}/, '[^/]+')}$`).test(url.split('?')[0]!),
  )
  if (method === 'GET' && documented && answer.status !== 304)
    expect(problems(documented, answer.status, type, json ?? body), url).toBeUndefined()
  return { status: answer.status, type, headers: answer.headers, body, json }
}
const items = (query: string, headers: Record<string, string> = {}) =>
  ask(`${ITEMS}${query && '?'}${query}`, headers)
const linkOf = (links: Json[], rel: string, type?: string) =>
  links.find((link) => link.rel === rel && (type === undefined || link.type === type))

/** Features of all pages, which are read by their next links. */
async function pages(query: string): Promise<{ features: Json[]; numberMatched: number; count: number }> {
  const features: Json[] = []
  let count = 0
  let numberMatched = NaN
  for (let path: string | undefined = `${ITEMS}${query && '?'}${query}`; path; count++) {
    const { status, json }: Answer = await ask(path)
    expect(status).toBe(200)
    if (count === 0) numberMatched = json.numberMatched
    else expect(json.numberMatched).toBe(numberMatched)
    features.push(...json.features)
    path = linkOf(json.links, 'next')?.href
  }
  return { features, numberMatched, count }
}
const idOf = ({ chain = 'celo', uid }: Place) => `${chain}-${uid}`
/** IDs of the places that pass the test, newest first. */
const idsWhere = (passes: (place: Place) => boolean) => places.filter(passes).map(idOf).reverse()
const idsOf = (features: Json[]) => features.map(({ id }) => id as string)

const DOCUMENTS = [
  ...['/ogc', '/ogc/api', '/ogc/conformance', '/ogc/collections', COLLECTION],
  ...['schema', 'schema/geojson', 'queryables', 'sortables', 'tiles', 'tiles/WebMercatorQuad'].map(
    (part) => `${COLLECTION}/${part}`,
  ),
  ...['/ogc/tileMatrixSets', '/ogc/tileMatrixSets/WebMercatorQuad', ITEMS, `${ITEMS}/${idOf(places[0]!)}`],
]
const statusOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).status
const essence = (type: string) => type.split(';')[0]

describe('OGC API - Tiles (OGC 20-057)', () => {
  const RELATION = 'http://www.opengis.net/def/rel/ogc/1.0'

  test('/req/geodata-tilesets, /req/tilesets-list: the collection links to its tileset, and this to tiles', async () => {
    const { links } = (await ask(COLLECTION)).json
    const list = (await ask(linkOf(links, `${RELATION}/tilesets-vector`).href)).json
    const [listed, ...others] = list.tilesets
    expect(others).toEqual([])
    expect(listed).toMatchObject({
      dataType: 'vector',
      crs: 'http://www.opengis.net/def/crs/EPSG/0/3857',
      tileMatrixSetURI: 'http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad',
    })
    const tileset = (await ask(linkOf(listed.links, 'self').href)).json
    expect(tileset).toMatchObject({ dataType: 'vector', tileMatrixSetURI: listed.tileMatrixSetURI })
    expect(tileset.layers.map(({ id }: Json) => id)).toEqual(['records', 'clusters'])
    expect(tileset.layers[0].propertiesSchema.properties.uid.type).toBe('string')
    const { href, templated, type } = linkOf(tileset.links, 'item')
    expect([templated, type]).toEqual([true, 'application/vnd.mapbox-vector-tile'])
    const tile = await ask(href.replace(/\{tile\w+\}/g, '0'))
    expect([tile.status, tile.type]).toEqual([200, type])
    expect(tile.body.length).toBeGreaterThan(0)
  })
  test('/req/tmxs/json: the tile matrix set is WebMercatorQuad (OGC 17-083r4, D.1)', async () => {
    const { links } = (await ask('/ogc')).json
    const [listed] = (await ask(linkOf(links, `${RELATION}/tiling-schemes`).href)).json.tileMatrixSets
    const { tileMatrices, ...set } = (await ask(linkOf(listed.links, 'self').href)).json
    expect(set).toMatchObject({ id: 'WebMercatorQuad', orderedAxes: ['X', 'Y'], crs: listed.crs })
    // Values from the figures of the standard.
    expect(tileMatrices).toHaveLength(23)
    expect(tileMatrices[0].scaleDenominator).toBeCloseTo(559082264.028717, 5)
    expect(tileMatrices[0].cellSize).toBeCloseTo(156543.033928041, 8)
    expect(tileMatrices[0].pointOfOrigin[1]).toBeCloseTo(20037508.3427892, 6)
    expect(tileMatrices[18].scaleDenominator).toBeCloseTo(2132.72958385, 7)
    expect(tileMatrices[18]).toMatchObject({ id: '18', matrixWidth: 262_144, matrixHeight: 262_144 })
  })
  test('/req/tmxs/json: the service has no other tile matrix set', async () => {
    for (const path of ['/tileMatrixSets', '/collections/location-records/tiles']) {
      const { status, json } = await ask(`/ogc${path}/WorldCRS84Quad`)
      expect([status, json.detail]).toEqual([404, sentence()])
    }
  })
})

describe('OGC API - Features, Part 5 (OGC 23-058r2)', () => {
  /** Schema to which a link relation of the collection leads, and which its address returns. */
  const schemaOf = async (kind: string) => {
    const { links } = (await ask(COLLECTION)).json
    const { href, type } = linkOf(links, `http://www.opengis.net/def/rel/ogc/1.0/${kind}`)
    const found = await ask(href, { accept: SCHEMA_TYPE })
    expect([type, found.status, found.type]).toEqual([found.type, 200, SCHEMA_TYPE])
    expect(found.json).toMatchObject({ $schema: DRAFT, $id: href, type: 'object' })
    return found.json
  }
  const withRole = ({ properties }: Json, role: string) =>
    Object.keys(properties).filter((name) => properties[name]['x-ogc-role'] === role)

  test('/req/schemas/properties, /req/advanced-property-roles: the schema has each property of a feature, with its type and role', async () => {
    const schema = await schemaOf('schema')
    for (const [name, property] of Object.entries<Json>(schema.properties)) {
      expect([name, typeof property.title, typeof property.description]).toEqual([name, 'string', 'string'])
      const { format, type, $ref } = property
      if (name === 'geometry') expect([format, type, $ref]).toEqual(['geometry-any', undefined, undefined])
      else expect(type, name).toMatch(/^(string|number|boolean|array|object)$/)
    }
    const roles = ['id', 'primary-geometry', 'primary-instant']
    expect(roles.flatMap((role) => withRole(schema, role))).toEqual(['id', 'geometry', 'timestamp'])
    const kindOf = (value: Json) => (Array.isArray(value) ? 'array' : typeof value)
    for (const { properties } of (await items('limit=1000')).json.features)
      for (const [name, value] of Object.entries<Json>(properties))
        if (value !== null) expect(kindOf(value), name).toBe(schema.properties[name].type)
  })
  test('/req/sortables/response: sortby accepts exactly the properties of the schema', async () => {
    const { properties, additionalProperties } = await schemaOf('sortables')
    expect([Object.keys(properties), additionalProperties]).toEqual([['timestamp', 'event_timestamp'], false])
    for (const name of Object.keys((await schemaOf('schema')).properties))
      expect((await items(`limit=1&sortby=${name}`)).status, name).toBe(name in properties ? 200 : 400)
  })
})

describe('OGC API - Features, Part 3 (OGC 19-079r2)', () => {
  const RELATION = 'http://www.opengis.net/def/rel/ogc/1.0/queryables'
  const QUERYABLES = `${BASE}${COLLECTION}/queryables`

  test('/req/queryables/queryables-link: the collection and its items lead to the queryables, in the Link header as well', async () => {
    for (const path of [COLLECTION, ITEMS]) {
      const { json, headers } = await ask(path)
      expect(linkOf(json.links, RELATION)).toMatchObject({ href: QUERYABLES, type: SCHEMA_TYPE })
      expect(headers.get('link')).toContain(`<${QUERYABLES}>; rel="${RELATION}"; type="${SCHEMA_TYPE}"`)
    }
  })
  test('/req/queryables/get-queryables-op, get-queryables-response: each property has its type, and the geometry is known by its role', async () => {
    const { status, type, json } = await ask(QUERYABLES, { accept: SCHEMA_TYPE })
    expect([status, type]).toEqual([200, SCHEMA_TYPE])
    const form = { $schema: DRAFT, $id: QUERYABLES, type: 'object', additionalProperties: false }
    expect(json).toMatchObject(form)
    const { geometry, ...others } = json.properties
    expect(geometry).toMatchObject({
      // QGIS looks only for this reference type.
      $ref: 'https://geojson.org/schema/Geometry.json',
      format: 'geometry-any',
      'x-ogc-role': 'primary-geometry',
    })
    expect(geometry.type).toBeUndefined()
    expect(
      Object.entries<Json>(others).map(([name, { type, format }]) => [name, ...[format ?? type]].join(' ')),
    ).toEqual([
      ...['id string', 'uid string', 'chain string', 'prover string', 'subject string'],
      ...['timestamp date-time', 'event_timestamp date-time', 'srs string', 'location_type string'],
      ...['longitude number', 'latitude number', 'memo string', 'revoked boolean'],
      ...['created_at date-time', 'updated_at date-time', 'problem string', 'schema string'],
    ])
    for (const [name, { title, description }] of Object.entries<Json>(json.properties))
      expect([name, typeof title, typeof description]).toEqual([name, 'string', 'string'])
  })
  test(
    'CQL2, conf/basic-cql2, advanced-comparison-operators, basic-spatial-functions: each expression of the abstract tests is evaluated',
    { tags: ['slow'] },
    async () => {
      const { properties } = (await ask(QUERYABLES)).json
      const literal = ({ type, format }: Json): string =>
        format === 'date-time'
          ? "TIMESTAMP('2022-04-14T14:48:46Z')"
          : ({ string: "'foo'", boolean: 'true', number: '3.14' } as Json)[type]
      // Uses few of the records, so that the test's roughly 150 responses take less time.
      const few = `chain=celo&prover=${addressOf(103)}`
      const found = async (filter: string) => {
        const { status, json } = await items(`limit=1000&${few}&filter=${encodeURIComponent(filter)}`)
        expect([filter, status]).toEqual([filter, 200])
        return new Set(idsOf(json.features))
      }
      const disjoint = async (...filters: [string, string]) => {
        const [one, other] = [await found(filters[0]), await found(filters[1])]
        expect([filters, [...one].filter((id) => other.has(id))]).toEqual([filters, []])
      }
      for (const [name, schema] of Object.entries<Json>(properties)) {
        await disjoint(`"${name}" IS NULL`, `"${name}" is not null`)
        if (name === 'geometry') continue
        const value = literal(schema)
        for (const [one, other] of [
          ['=', '<>'],
          ['>', '<='],
          ['<', '>='],
        ])
          await disjoint(`${name} ${one!} ${value}`, `${name} ${other!} ${value}`)
        await found(`${name} in (${value}, ${value})`)
        if (schema.format === 'date-time')
          await found(`${name} in ('2022-04-14T14:52:56Z', '2022-04-14T15:52:56Z')`)
        else if (schema.type === 'string') {
          await disjoint(`${name} like '_%'`, `${name} like ''`)
          expect(await found(`${name} LIKE '%'`)).toEqual(await found(`${name} like '%%'`))
          await found(`${name} like '\\%\\_'`)
          await found(`${name} like '\\\\%\\\\_'`)
        } else if (schema.type === 'number') {
          await found(`${name} BETWEEN 0 AND 100`)
          await found(`${name} between 100.0 and 1.0`)
        }
      }
      expect((await found('false')).size).toBe(0)
      expect((await found('true')).size).toBe(40)
      for (const filter of [
        'S_INTERSECTS(geometry,BBOX(-180,-90,180,90))',
        'S_INTERSECTS(geometry,POINT(7.02 49.92))',
        'S_INTERSECTS(geometry,BBOX(-180,-90,-90,90)) AND S_INTERSECTS(geometry,BBOX(90,-90,180,90))',
        "(NOT chain='celo' AND revoked=true) OR (memo>'foo' and NOT S_INTERSECTS(geometry,BBOX(0,0,9,9))) or not (uid IS NULL AND longitude<3)",
      ])
        await found(filter)
      // The conformance class basic-spatial-functions-plus is not declared, because one of its literals has
      // ambiguous edges: this one.
      const ambiguous = 'S_INTERSECTS(geometry,POLYGON((-180 -90, -90 -90, -90 90, -180 90, -180 -90)))'
      const { status, json } = await items(`filter=${encodeURIComponent(ambiguous)}`)
      const antipodal = expect.stringMatching(/antipodal, so no unique shortest path/)
      expect([status, json.detail]).toEqual([400, antipodal])
    },
  )
  /**
   * Requests of QGIS 3.44 for a layer with a filter, following its QgsOapifCql2TextExpressionCompiler and
   * QgsOapifFeatureDownloader. QGIS percent-encodes the compiled filter, but not the name of the language.
   */
  const somewhere = places.find(({ geometry }) => geometry?.type === 'Point')!
  test.each<[string, string, (place: Place) => boolean]>([
    ['"chain" = \'celo\'', "(chain = 'celo')", ({ chain }) => chain === 'celo'],
    [
      "\"location_type\" IN ('geojson-point','it\\'s')",
      "\"location_type\" IN ('geojson-point','it''s')",
      ({ geometry }) => geometry?.type === 'Point',
    ],
    ['NOT "revoked"  = true', '(NOT ((revoked = TRUE)))', ({ revoked }) => !revoked],
    [
      '"event_timestamp" >= \'2026-01-01T10:00:00.000Z\'',
      '("event_timestamp" >= TIMESTAMP(\'2026-01-01T10:00:00.000Z\'))',
      ({ eventTimestamp }) => eventTimestamp! >= Date.UTC(2026, 0, 1, 10),
    ],
    [
      '"timestamp" < make_date(2026, 1, 2) AND "memo" LIKE \'Place 1%\'',
      "((timestamp < DATE('2026-01-02')) AND (memo LIKE 'Place 1%'))",
      ({ memo, timestamp }) => memo!.startsWith('Place 1') && timestamp < Date.UTC(2026, 0, 2),
    ],
    [
      '"longitude" NOT BETWEEN -10.5 AND 60',
      'longitude NOT BETWEEN -10.5 AND 60',
      ({ geometry }) => {
        const [lng] = geometry?.type === 'Point' ? (geometry.coordinates as [number]) : [0]
        return lng < -10.5 || lng > 60
      },
    ],
    [
      "intersects_bbox($geometry, geomFromWkt('LINESTRING(-10 -20, 60 50)')) AND \"chain\" <> 'celo'",
      "(S_INTERSECTS(geometry,BBOX(-10,-20,60,50)) AND (chain <> 'celo'))",
      ({ chain, geometry }) =>
        chain !== 'celo' &&
        geometry !== null &&
        turf.booleanIntersects(geometry, turf.bboxPolygon([-10, -20, 60, 50])),
    ],
    [
      "intersects($geometry, geomFromWkt('POINT(...)'))",
      `S_INTERSECTS(geometry,POINT(${(somewhere.geometry!.coordinates as number[]).join(' ')}))`,
      ({ uid }) => uid === somewhere.uid,
    ],
  ])('QGIS: the service evaluates the filter %s', async (_, compiled, passes) => {
    const expected = idsWhere(passes)
    expect(expected.length).toBeGreaterThan(0)
    const filter = `filter=${encodeURIComponent(compiled)}&filter-lang=cql2-text&filter-crs=${encodeURIComponent(CRS84)}`
    expect(idsOf((await pages(`limit=1000&${filter}`)).features)).toEqual(expected)
    // Request for a part of the map, with the part's box, and with the filter of the part and of the layer.
    const both = `limit=1000&filter=(${encodeURIComponent(compiled)}) AND (${encodeURIComponent("(chain <> 'solana')")})&filter-lang=cql2-text&bbox=-180,-90,180,90`
    expect(idsOf((await pages(both)).features)).toEqual(expected)
  })
})

describe('OGC API - Features, A.2 Core', () => {
  test('/req/core/http: the service uses HTTP/1.1, its status codes, and HEAD as GET', async () => {
    for (const path of DOCUMENTS) {
      const [get, head] = [await ask(path), await ask(path, {}, 'HEAD')]
      expect([get.status, head.status, head.body], path).toEqual([200, 200, ''])
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, headers } = await ask(path, {}, method)
        expect([status, headers.get('allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD'])
      }
    }
    expect(await statusOf('/ogc/nothing')).toBe(404)
  })
  test('/req/core/crs84: all geometries are longitude and latitude, in range', async () => {
    const { features } = await pages('limit=1000')
    const sources = new Map(places.map((place) => [idOf(place), place.geometry]))
    for (const { id, geometry } of features) {
      expect(geometry).toEqual(sources.get(id))
      if (geometry)
        for (const [lng, lat] of turf.coordAll(geometry))
          expect(Math.abs(lng!) <= 180 && Math.abs(lat!) <= 90).toBe(true)
    }
  })
  test('/req/core/root-op: the landing page is at {root} and at {root}/', async () => {
    for (const path of ['/ogc', '/ogc/'])
      expect(await statusOf(path, { accept: 'application/json' })).toBe(200)
  })
  test('/req/core/root-success: the landing page links to the definition, conformance and collections', async () => {
    const { json } = await ask('/ogc')
    for (const [rel, type, to] of [
      ['self', 'application/json', ''],
      ['alternate', 'text/html', '?f=html'],
      ['service-desc', 'application/vnd.oai.openapi+json;version=3.0', '/api'],
      ['service-doc', 'text/html', '/api?f=html'],
      ['conformance', 'application/json', '/conformance'],
      ['data', 'application/json', '/collections'],
    ])
      expect(linkOf(json.links, rel!, type).href).toBe(`${BASE}/ogc${to}`)
    for (const { href, type } of json.links) {
      const answer = await ask(href)
      expect([answer.status, essence(answer.type)]).toEqual([200, essence(type)])
    }
  })
  test('/req/core/api-definition-op: every link to the API definition returns the definition', async () => {
    const { links } = (await ask('/ogc')).json
    for (const { href, type } of [linkOf(links, 'service-desc'), linkOf(links, 'service-doc')]) {
      const answer = await ask(href, { accept: type })
      const sent = type === 'text/html' ? 'text/html; charset=utf-8' : type
      expect([answer.status, answer.type]).toEqual([200, sent])
    }
    const acceptOfGdal =
      'application/vnd.oai.openapi+json;version=3.0, application/openapi+json;version=3.0, application/json'
    expect((await ask('/ogc/api', { accept: acceptOfGdal })).json.openapi).toBe('3.0.3')
  })
  test('/req/core/api-definition-success: the definition is a valid OpenAPI 3.0 document', () => {
    expect(documentProblems(definition)).toEqual([])
  })
  test('/req/core/conformance-op, /req/core/conformance-success: the document lists the conformance classes', async () => {
    const { status, json } = await ask('/ogc/conformance', { accept: 'application/json' })
    const of = (standard: string, ...names: string[]) =>
      names.map((name) => `http://www.opengis.net/spec/${standard}/conf/${name}`)
    const common = ['schemas', 'advanced-property-roles', 'returnables-and-receivables', 'sortables']
    const cql2 = [
      ...['cql2-text', 'cql2-json', 'basic-cql2', 'advanced-comparison-operators'],
      ...['case-insensitive-comparison', 'basic-spatial-functions'],
    ]
    const tiles = ['core', 'tileset', 'tilesets-list', 'geodata-tilesets', 'mvt']
    const sets = ['tilematrixset', 'json-tilematrixset', 'tilesetmetadata', 'json-tilesetmetadata']
    expect(status).toBe(200)
    expect(json).toEqual({
      conformsTo: [
        ...of('ogcapi-features-1/1.0', 'core', 'oas30', 'html', 'geojson'),
        ...of('ogcapi-features-3/1.0', 'queryables', 'filter', 'features-filter'),
        ...[...of('ogcapi-common-3/1.0', ...common), ...of('cql2/1.0', ...cql2)],
        ...of('json-fg-1/1.0', 'core', 'types-schemas'),
        ...[...of('ogcapi-tiles-1/1.0', ...tiles), ...of('tms/2.0', ...sets)],
      ],
    })
  })
  test('/req/core/query-param-unknown: the service returns 400 for an unknown parameter', async () => {
    for (const path of DOCUMENTS) {
      const { status, json } = await ask(`${path}?unknownQueryParameter12345=1`)
      expect([path, status, json.message]).toEqual([path, 400, 'Invalid query parameter'])
    }
    for (const query of [
      ...['offset=10', 'Limit=1', 'bbox[]=1', 'datetimes=2026-01-01', 'location=x', 'resultType=hits'],
      'filter_lang=cql2-text',
    ])
      expect([query, (await items(query)).status]).toEqual([query, 400])
  })
  test.each([
    ...['limit=unlimited', 'limit=0', 'limit=-1', 'limit=1.5', 'limit=', 'limit=1&limit=2'],
    'limit=1e3',
    ...['bbox=', 'bbox=1', 'bbox=1,2,3', 'bbox=1,2,3,4,5', 'bbox=1,2,3,4,5,6,7', 'bbox=a,b,c,d'],
    ...['bbox=0,1,2,NaN', 'bbox=0,0,1,Infinity', 'bbox=0,5,1,4', 'bbox=-181,0,1,1', 'bbox=0,-91,1,1'],
    ...['bbox=0,0,1,', 'bbox=0,0,0x1,1', 'bbox=0,0,9,1,1,2', 'bbox=0,0,x,1,1,2'],
    ...['bbox=0,0,1,1&bbox=0,0,1,1'],
    ...[
      'bbox-crs=EPSG:4326&bbox=0,0,1,1',
      'bbox-crs=http://www.opengis.net/def/crs/EPSG/0/3857&bbox=0,0,1,1',
      'bbox-crs=',
    ],
    ...['datetime=', 'datetime=now', 'datetime=2026', 'datetime=2026-02-30'],
    ...['datetime=2026-13-01T00:00:00Z', 'datetime=2026-01-01T25:00:00Z'],
    ...['datetime=2026-01-01T24:00:00Z', 'datetime=2026-01-01T00:60:00Z'],
    ...['datetime=2026-01-01T00:00:61Z', 'datetime=2026-01-01T00:00:00'],
    ...['datetime=2026-01-01T00:00:00%2B25:00', 'datetime=..', 'datetime=../..', 'datetime=/'],
    ...['datetime=2026-01-02T00:00:00Z/2026-01-01T00:00:00Z', 'datetime=a/b/c'],
    ...['datetime=2026-01-01T00:00:00Z/2026-01-02T00:00:00Z/..', 'datetime=2026-01-01T00:00:00Z/P'],
    ...['datetime=2026-01-01T00:00:00Z/PT', 'datetime=2026-01-01T00:00:00Z/P1'],
    ...['datetime=2026-01-01T00:00:00Z/PD1', 'datetime=P1D', 'datetime=P1D/P1D', 'datetime=../P1D'],
    ...['datetime=2026-01-01/-P1D', 'datetime=2026-01-01/P99999999999Y'],
    'datetime=2026-01-01/P1,5M',
    `datetime=${'9'.repeat(5_000)}`,
    ...[
      'cursor=',
      'cursor=x',
      'cursor=MA',
      `cursor=${Buffer.from(`9999999999999999 ${idOf(places[0]!)}`).toString('base64url')}`,
      `cursor=${Buffer.from("1 celo-0x' OR 1").toString('base64url')}`,
    ],
    ...['chain=solana', 'chain=base', 'chain=', 'prover=0x12', 'prover=', 'subject=vitalik.eth'],
    ...['schema=0x12', 'uid=0x12', `uid=${uidOf(1)}00`, 'revoked=maybe', 'revoked=', 'location_type='],
    ...['location_type=%00', `location_type=${'x'.repeat(201)}`, 'f=xml', 'f='],
  ])('/req/core/query-param-invalid: the service rejects %s', async (query) => {
    const { status, json } = await items(query)
    const title = expect.stringMatching(/^Invalid [\w -]+ (parameter|format)$|^Invalid query parameter$/)
    expect([status, json.status, json.message]).toEqual([400, 'error', title])
    expect(json.detail.length).toBeLessThan(400)
  })
  test('/req/core/fc-md-op, fc-md-success, fc-md-links: the collections link to their document and its form', async () => {
    const { status, json } = await ask('/ogc/collections', { accept: 'application/json' })
    expect(status).toBe(200)
    expect(json.links).toMatchObject([
      { rel: 'self', type: 'application/json', href: `${BASE}/ogc/collections` },
      { rel: 'alternate', type: 'text/html', href: `${BASE}/ogc/collections?f=html` },
    ])
  })
  test('/req/core/fc-md-items, fc-md-items-links: each collection is listed once, with links to its items', async () => {
    const { collections } = (await ask('/ogc/collections')).json
    const text: string = expect.any(String)
    expect(collections).toMatchObject([
      { id: 'location-records', itemType: 'feature', crs: [CRS84], title: text, description: text },
    ])
    const { links } = collections[0]
    expect(linkOf(links, 'items', 'application/geo+json').href).toBe(`${BASE}${ITEMS}`)
    expect(linkOf(links, 'items', 'text/html').href).toBe(`${BASE}${ITEMS}?f=html`)
    for (const link of links) {
      expect(link).toEqual({ href: text, rel: text, type: text, title: text })
      const answer = await ask(link.href, { accept: link.type })
      expect([answer.status, essence(answer.type)]).toEqual([200, link.type])
    }
  })
  test('/req/core/fc-md-extent: the extent includes all features, in space and time', async () => {
    const { spatial, temporal } = (await ask('/ogc/collections')).json.collections[0].extent
    expect(spatial).toEqual({ bbox: [[-180, -90, 180, 90]], crs: CRS84 })
    const iso = ({ timestamp }: Place) => new Date(timestamp).toISOString()
    expect(temporal).toEqual({
      interval: [[iso(places[0]!), iso(places.at(-1)!)]],
      trs: 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian',
    })
  })
  test('/req/core/sfc-md-op, /req/core/sfc-md-success: a single collection equals its entry in the list', async () => {
    const [listed] = (await ask('/ogc/collections')).json.collections
    expect((await ask(COLLECTION)).json).toEqual(listed)
    for (const part of ['', '/items', '/schema', `/items/${idOf(places[0]!)}`]) {
      const { status, json } = await ask(`/ogc/collections/dUmmY${part}`)
      expect([status, json.detail]).toEqual([404, sentence()])
    }
  })
  test('/req/core/fc-op, /req/core/fc-response: the pages contain every feature once', async () => {
    const { features, numberMatched, count } = await pages('')
    expect([idsOf(features), numberMatched, count]).toEqual([idsWhere(() => true), places.length, 11])
  })

  const parameter = (name: string): Json =>
    definition.paths['/collections/location-records/items'].get.parameters
      .map((each: Json) => resolve(definition, each))
      .find((each: Json) => each.name === name)
  test('/req/core/fc-bbox-definition, /req/core/fc-limit-definition, /req/core/fc-time-definition: the parameters are defined as the standard requires', () => {
    const form = { in: 'query', required: false, style: 'form', explode: false }
    const numbers = (count: number) => ({ minItems: count, maxItems: count })
    const box = { type: 'array', minItems: 4, maxItems: 6, items: { type: 'number' } }
    expect(parameter('bbox')).toMatchObject({ ...form, schema: { ...box, oneOf: [numbers(4), numbers(6)] } })
    const limit = { type: 'integer', minimum: 1, maximum: 1000, default: 100 }
    expect(parameter('limit')).toMatchObject({ ...form, schema: limit })
    expect(parameter('datetime')).toMatchObject({ ...form, schema: { type: 'string' } })
  })

  /** True if a place has no geometry, or if another library finds that it intersects a box in the plane. */
  const inBox =
    ([west, south, east, north]: number[]) =>
    ({ geometry }: Place) => {
      if (geometry === null) return true
      const spans =
        west! > east! ? [[west!, 180] as const, [-180, east!] as const] : [[west!, east!] as const]
      const feature = { type: 'Feature' as const, properties: {}, geometry }
      return spans.some(([from, to]) =>
        turf.booleanIntersects(feature, turf.bboxPolygon([from, south!, to, north!])),
      )
    }
  const random = seeded()
  const between = (low: number, high: number) => Math.round((low + random() * (high - low)) * 1e3) / 1e3
  test.each([
    // Boxes of the OGC's suite: the extent, the prime meridian, the equator, the antimeridian, the polar
    // regions.
    ...[
      [-180, -90, 180, 90],
      [-1.5, 50, 1.5, 53],
      [-80, -5, -70, 5],
      [177, 65, -177, 70],
      [-180, 85, 180, 90],
      [-180, -90, 180, -85],
      [150, -60, -150, 60],
    ],
    ...Array.from({ length: 6 }, () => [between(-180, 0), between(-90, 0), between(0, 180), between(0, 90)]),
    ...Array.from({ length: 3 }, () => [
      between(100, 180),
      between(-90, 0),
      between(-180, -100),
      between(0, 90),
    ]),
  ])(
    '/req/core/fc-bbox-response: bbox=%s,%s,%s,%s returns features that intersect it and those without a geometry',
    async (...box) => {
      const expected = idsWhere(inBox(box))
      expect(expected.length).toBeGreaterThan(places.filter(({ geometry }) => !geometry).length - 1)
      const { features, numberMatched } = await pages(`limit=1000&bbox=${box.join()}`)
      expect([idsOf(features), numberMatched]).toEqual([expected, expected.length])
    },
  )
  test('/req/core/fc-bbox-response: bbox may be escaped, and have heights and a coordinate system', async () => {
    const boxes = [
      [-1.5, 50, 1.5, 53],
      [177, 65, -177, 70],
    ]
    for (const box of boxes) {
      const [west, south, east, north] = box
      for (const form of [
        [west, south, -10, east, north, 9e3].join(),
        `${box.join('%2C')}&bbox-crs=${encodeURIComponent(CRS84)}`,
      ])
        expect(idsOf((await pages(`limit=1000&bbox=${form}`)).features)).toEqual(idsWhere(inBox(box)))
    }
  })
  test.each([1, 2, 50, 99, 100, 101, 999, 1000, 1001, 10_000, 999_999_999_999_999])(
    '/req/core/fc-limit-response-1: a page has up to limit=%s features, and at most 1,000',
    async (limit) => {
      const { json } = await items(`limit=${limit}`)
      const { features, numberReturned, numberMatched } = json
      const most = Math.min(limit, 1000)
      expect([features.length, numberReturned, numberMatched]).toEqual([most, most, places.length])
      if (limit >= 1000)
        expect((await ask(linkOf(json.links, 'next').href)).json.features).toHaveLength(places.length - 1000)
    },
  )
  test('/rec/core/fc-limit: a page has 100 features without a limit', async () => {
    expect((await items('')).json.features).toHaveLength(100)
  })

  const at = (i: number) => places[i]!.timestamp
  const iso = (i: number) => new Date(at(i)).toISOString()
  const offset = (i: number) => `${new Date(at(i) + 90 * 60_000).toISOString().slice(0, 19)}%2B01:30`
  test.each<[string, string, (at: number) => boolean]>([
    ['a time', iso(7), (t) => t === at(7)],
    ['a time between two', '2026-01-01T00:07:00.001Z', () => false],
    ['a time, finer than milliseconds', '2026-01-01T00:07:00.0000000Z', (t) => t === at(7)],
    ['a time between two milliseconds', '2026-01-01T00:07:00.0000001Z', () => false],
    ['a time at an offset', offset(7), (t) => t === at(7)],
    ['a time at an offset whose + was not escaped', offset(7).replace('%2B', '+'), (t) => t === at(7)],
    ['lower-case letters', iso(7).toLowerCase(), (t) => t === at(7)],
    ['a leap second', '2026-01-01T00:06:60Z', (t) => t === at(7)],
    ['a closed interval', `${iso(10)}/${iso(20)}`, (t) => t >= at(10) && t <= at(20)],
    ['a closed interval, escaped', `${iso(10)}%2F${iso(20)}`, (t) => t >= at(10) && t <= at(20)],
    [
      'a closed interval a little shorter',
      '2026-01-01T00:10:00.0001Z/2026-01-01T00:19:59.9999Z',
      (t) => t > at(10) && t < at(20),
    ],
    ['an interval of one time', `${iso(10)}/${iso(10)}`, (t) => t === at(10)],
    ['open at its start (..)', `../${iso(20)}`, (t) => t <= at(20)],
    ['open at its start (empty)', `/${iso(20)}`, (t) => t <= at(20)],
    ['open at its end (..)', `${iso(1_000)}/..`, (t) => t >= at(1_000)],
    ['open at its end (empty)', `${iso(1_000)}/`, (t) => t >= at(1_000)],
    ['the year 0', '0000-01-01T00:00:00Z/..', () => true],
    ['the year 9999', '../9999-12-31T23:59:59.999-23:59', () => true],
    ['beyond the standard, a day', '2026-01-01', () => true],
    ['beyond the standard, another day', '2026-01-02', () => false],
    ['beyond the standard, days', '2025-12-01/2026-01-01', () => true],
    ['beyond the standard, a duration after', `${iso(10)}/PT10M`, (t) => t >= at(10) && t <= at(20)],
    ['beyond the standard, a duration before', `PT10M/${iso(20)}`, (t) => t >= at(10) && t <= at(20)],
    ['beyond the standard, a comma', `${iso(10)}/PT0,1H`, (t) => t >= at(10) && t <= at(16)],
    ["as in the OGC's suite", '2026-01-01/P2D', () => true],
    ['midnight as GDAL writes it', '2026-01-01T', (t) => t === at(0)],
  ])('/req/core/fc-time-response: datetime selects features by %s (%s)', async (_, datetime, passes) => {
    const expected = idsWhere((place) => passes(place.timestamp))
    const { features, numberMatched } = await pages(`limit=1000&datetime=${datetime}`)
    expect([idsOf(features), numberMatched]).toEqual([expected, expected.length])
  })

  test('/req/core/fc-links, fc-rel-type: a page links to itself, its other form and the next page', async () => {
    const query = 'limit=2&chain=celo&datetime=2026-01-01T00:00:00Z/..&bbox=-180,-90,180,90'
    const { json } = await items(query)
    for (const { href, rel, type } of json.links) {
      expect(href).toMatch(/^https:\/\/geo\.example\/attest\/ogc\//)
      expect([typeof rel, typeof type]).toEqual(['string', 'string'])
    }
    expect(linkOf(json.links, 'self', 'application/geo+json').href).toBe(`${BASE}${ITEMS}?${query}`)
    expect(linkOf(json.links, 'alternate', 'text/html').href).toBe(`${BASE}${ITEMS}?${query}&f=html`)
    expect(linkOf(json.links, 'collection').href).toBe(`${BASE}${COLLECTION}`)
    expect((await ask(linkOf(json.links, 'self').href)).json.features).toEqual(json.features)
    const next = await ask(linkOf(json.links, 'next', 'application/geo+json').href)
    const first = idsWhere(({ chain }) => chain === 'celo').slice(0, 4)
    expect(idsOf([...json.features, ...next.json.features])).toEqual(first)
    expect((await ask(linkOf(next.json.links, 'first').href)).json.features).toEqual(json.features)
    // An HTML page links to the next HTML page.
    const html = await ask(linkOf(json.links, 'alternate').href)
    const [, nextPage] = /<a href="([^"]+)" rel="next"/.exec(html.body)!
    const nextHtml = await ask(nextPage!.replace(/&#38;/g, '&'))
    expect(nextHtml.type).toBe('text/html; charset=utf-8')
    expect(nextHtml.body).toContain(next.json.features[0].id)
    // The next link has the parameter `f` if the request has it.
    const { links } = (await items('f=json&limit=1', { accept: 'text/html' })).json
    expect(linkOf(links, 'next').href).toMatch(/&f=json$/)
  })
  test('/rec/core/fc-next-1: the last page has no next link, even if the page is full', async () => {
    for (const limit of [40, 55, 550])
      expect((await pages(`limit=${limit}&chain=celo`)).count).toBe(Math.ceil(275 / limit))
    const last = (await items(`limit=275&chain=celo`)).json
    expect([last.numberReturned, linkOf(last.links, 'next')]).toEqual([275, undefined])
  })
  test('/req/core/fc-timeStamp, fc-numberReturned: a page has its time and its number of features', async () => {
    const before = Date.now()
    const { timeStamp, numberReturned, features } = (await items('limit=7')).json
    expect(Date.parse(timeStamp)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(timeStamp)).toBeLessThanOrEqual(Date.now())
    expect([numberReturned, features.length]).toEqual([7, 7])
    const none = (await items(`uid=${uidOf(0xffff)}`)).json
    expect(none).toMatchObject({ numberReturned: 0, numberMatched: 0, features: [] })
    expect(linkOf(none.links, 'next')).toBeUndefined()
  })
  test.each<[string, (place: Place) => boolean]>([
    ['chain=celo', ({ chain }) => chain === 'celo'],
    ['chain=ethereum-sepolia', ({ chain }) => chain === 'sepolia'],
    [`prover=${addressOf(103)}`, ({ prover }) => prover === addressOf(103)],
    [
      `subject=${addressOf(0xcf).toUpperCase().replace('X', 'x')}`,
      ({ subject }) => subject === addressOf(0xcf),
    ],
    [`schema=${SCHEMA_A}`, ({ schema }) => schema === SCHEMA_A],
    [
      `schema=${SCHEMA_B}&chain=celo&revoked=false`,
      ({ schema, chain, revoked }) => schema === SCHEMA_B && chain === 'celo' && !revoked,
    ],
    ['location_type=GeoJSON-Point', ({ geometry }) => geometry?.type === 'Point'],
    ['location_type=address', ({ geometry }) => geometry === null],
    ['revoked=true', ({ revoked }) => revoked!],
    ['revoked=1', ({ revoked }) => revoked!],
    ['revoked=0', ({ revoked }) => !revoked],
    [`uid=${uidOf(77)}`, ({ uid }) => uid === uidOf(77)],
    [`uid=${uidOf(77)}&chain=celo`, () => false],
    [
      'bbox=0,0,90,80&datetime=2026-01-01T05:00:00Z/..&revoked=false',
      (place) => inBox([0, 0, 90, 80])(place) && place.timestamp >= Date.UTC(2026, 0, 1, 5) && !place.revoked,
    ],
  ])('/rec/core/fc-filters, /req/core/fc-numberMatched: the service selects by %s', async (query, passes) => {
    const expected = idsWhere(passes)
    const { features, numberMatched } = await pages(`limit=150&${query}`)
    expect([idsOf(features), numberMatched]).toEqual([expected, expected.length])
  })
  test('the extent of a collection is never older than its ETag', async () => {
    const changing = await createMigratedDatabase()
    const place = (i: number): Place => ({ uid: uidOf(i), timestamp: i * 1000, geometry: null })
    await insertRecords(changing.url, [place(1)])
    const served = await startApi({ databaseUrl: changing.url, publicBaseUrl: BASE })
    const described = async () => {
      const response = await fetch(`${served.url}/ogc/collections/location-records`)
      const { extent } = (await response.json()) as Json
      return { etag: response.headers.get('etag'), last: Date.parse(extent.temporal.interval[0][1]) }
    }
    const before = await described()
    await insertRecords(changing.url, [place(2)])
    let after = before
    while (after.etag === before.etag) after = await described()
    expect(after.last).toBe(before.last + 1000)
    await served.close()
    await changing.drop()
  })
  test(
    '/req/core/fc-numberMatched: a page omits numberMatched above the limit of the count',
    { tags: ['slow'] },
    async () => {
      const more = await createMigratedDatabase()
      const geometry = { type: 'Point', coordinates: [0, 0] }
      const many = Array.from({ length: 10_002 }, (_, i) => ({
        uid: uidOf(i),
        timestamp: i * 1000,
        geometry,
      }))
      await insertRecords(more.url, many)
      const large = await startApi({ databaseUrl: more.url, publicBaseUrl: BASE })
      const matched = async (query: string) =>
        ((await (await fetch(`${large.url}${ITEMS}?limit=1&${query}`)).json()) as { numberMatched?: number })
          .numberMatched
      expect(await matched('')).toBe(10_002)
      expect(await matched('revoked=false')).toBe(10_002)
      expect(await matched('bbox=-1,-1,1,1')).toBeUndefined()
      expect(await matched('bbox=-1,-1,1,1&datetime=1970-01-01T00:00:00Z/1970-01-01T02:46:39Z')).toBe(10_000)
      await large.close()
      await more.drop()
    },
  )
  test('/req/core/f-op, /req/core/f-success: every feature by its ID equals its entry in the list', async () => {
    for (const feature of (await items('limit=12')).json.features) {
      const { status, type, json } = await ask(`${ITEMS}/${feature.id}`)
      expect([status, type]).toEqual([200, 'application/geo+json'])
      const { links: _, ...alone } = json
      expect(alone).toEqual(feature)
    }
    const capitals = idOf(places[7]!).replace(/[a-f]/g, (digit) => digit.toUpperCase())
    expect(await statusOf(`${ITEMS}/${capitals}`)).toBe(404)
    expect(await statusOf(`${ITEMS}/celo-0x${uidOf(0xaabb4).slice(2).toUpperCase()}`)).toBe(404)
    expect((await ask(`${ITEMS}/arbitrum-0x${uidOf(0xab).slice(2).toUpperCase()}`)).json.id).toBe(
      `arbitrum-${uidOf(0xab)}`,
    )
  })
  test('/req/core/f-links: a feature links to itself, its other form and its collection', async () => {
    const id = idOf(places[3]!)
    expect((await ask(`${ITEMS}/${id}`)).json.links).toMatchObject([
      { rel: 'self', type: 'application/geo+json', href: `${BASE}${ITEMS}/${id}` },
      { rel: 'alternate', type: 'text/html', href: `${BASE}${ITEMS}/${id}?f=html` },
      { rel: 'collection', type: 'application/json', href: `${BASE}${COLLECTION}` },
    ])
  })
  test.each([
    ...[`celo-${uidOf(0xffff)}`, `solana-${uidOf(1)}`, uidOf(1), 'x', '%00', '..%2f..%2fapi'],
    ...[`celo-${uidOf(1)}0`, '0', "' OR 1=1", 'x'.repeat(4_000)],
  ])('/req/core/f-op: the service has no feature %s', async (id) => {
    const { status, json } = await ask(`${ITEMS}/${id}`)
    expect([status, json.message]).toEqual([404, 'Location record not found'])
  })

  test('/rec/core/etag: the service returns 304 while the records are unchanged, for the same form and page', async () => {
    for (const path of DOCUMENTS) {
      const etag = (await ask(path)).headers.get('etag')!
      const again = await ask(path, { 'if-none-match': etag })
      expect([path, again.status, again.body]).toEqual([path, 304, ''])
      expect(await statusOf(`${path}?f=html`, { 'if-none-match': etag })).toBe(200)
      expect(await statusOf(`${path}?g=html`, { 'if-none-match': etag })).toBe(400)
      expect((await ask(path)).headers.get('vary')?.toLowerCase()).toMatch(/accept/)
    }
    const etag = (await items('')).headers.get('etag')!
    const revokedSubjects = `revoked=true&subject=${addressOf(200)}&limit=1`
    const { numberMatched } = (await items(revokedSubjects)).json
    const setRevoked = (value: string, i: number) =>
      rows(database.url, `UPDATE location_record SET revoked = ${value} WHERE id = $1`, [idOf(places[i]!)])
    await setRevoked('NOT revoked', 5)
    await expect.poll(async () => (await items('', { 'if-none-match': etag })).status).toBe(200)
    await setRevoked('NOT revoked', 5)
    // A count is not reused after a change: one more record of the subject is revoked.
    await setRevoked('true', 11)
    const matched = async () => (await items(revokedSubjects)).json.numberMatched
    await expect.poll(matched).toBe(numberMatched + 1)
    await setRevoked('false', 11)
    await expect.poll(matched).toBe(numberMatched)
  })
  test('/rec/core/cross-origin: pages of any origin may read responses and errors', async () => {
    const origin = 'https://map.example'
    const allowed = ({ headers }: { headers: Headers }) => headers.get('access-control-allow-origin')
    for (const path of [...DOCUMENTS, '/ogc/nothing', `${ITEMS}?limit=0`])
      expect(allowed(await ask(path, { origin }))).toBe('*')
    const wanted = { method: 'GET', headers: 'if-none-match' }
    const requested = Object.entries(wanted).map(([name, value]) => [`access-control-request-${name}`, value])
    const preflight = await ask(ITEMS, { origin, ...Object.fromEntries(requested) }, 'OPTIONS')
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('if-none-match')
    const limited = await startApi({ databaseUrl: database.url, rateLimitPerHour: 1 })
    const asked = async () => await fetch(`${limited.url}${ITEMS}?limit=1`)
    const [first, second] = [await asked(), await asked()]
    expect([first.status, second.status, allowed(second)]).toEqual([200, 429, '*'])
    expect(Number(second.headers.get('retry-after'))).toEqual(expect.any(Number))
    expect(
      problems('/collections/location-records/items', 429, 'application/json', await second.json()),
    ).toBeUndefined()
    // All routes that read records share one rate limit.
    expect((await fetch(`${limited.url}/api/v0/config`)).status).toBe(429)
    await limited.close()
  })
  test('/rec/core/link-header: the Link header has the links of the document', async () => {
    for (const path of DOCUMENTS) {
      const { headers, json } = await ask(path)
      const listed = headers
        .get('link')!
        .split(', ')
        .map((each) => /^<([^>]+)>; rel="([^"]+)"; type="([^"]+)"$/.exec(each)!.slice(1))
      // A URI template is not a URL.
      const links = json.links?.filter(({ templated }: Json) => !templated)
      if (links) expect(listed).toEqual(links.map(({ href, rel, type }: Json) => [href, rel, type]))
      else expect(listed.map(([, rel]) => rel)).toEqual(['self', 'alternate'])
    }
  })
  test('the Link header omits links that repeat a long filter', async () => {
    const filter = `memo IN (${Array.from({ length: 500 }, (_, i) => `'Place ${i}'`).join()})`
    const first = await items(new URLSearchParams({ filter, limit: '1' }).toString())
    const { headers, json } = await ask(linkOf(first.json.links, 'next').href)
    expect(json.links.map(({ rel }: Json) => rel)).toContain('first')
    expect(headers.get('link')!.match(/rel="[^"]+"/g)).toEqual([
      'rel="collection"',
      'rel="http://www.opengis.net/def/rel/ogc/1.0/queryables"',
    ])
  })
})

describe('OGC API - Features, A.3 OpenAPI 3.0', () => {
  test('/req/oas30/oas-definition-1, oas-definition-2: the document is OpenAPI 3.0 of this deployment', () => {
    expect(definition.openapi).toBe('3.0.3')
    expect(definition.servers).toEqual([{ url: `${BASE}/ogc`, description: 'test' }])
    expect(documentProblems(definition)).toEqual([])
    // The checker reports keywords of OpenAPI 3.1 and broken references.
    const broken = JSON.parse(JSON.stringify(definition))
    broken.components.schemas.Link.properties.title.type = ['string', 'null']
    broken.components.schemas.Feature.properties.id.const = 'x'
    broken.paths['/'].get.parameters[0].$ref = '#/components/parameters/nothing'
    expect(documentProblems(broken).length).toBeGreaterThanOrEqual(3)
  })
  test('/req/oas30/oas-impl: every path exists, and accepts every parameter that it documents', async () => {
    const cursor = /cursor=([\w-]+)/.exec((await items('limit=1')).body)![1]!
    const example: Record<string, string> = {
      ...{ bbox: '0,0,1,1', 'bbox-crs': CRS84, datetime: '2026-01-01', limit: '1', cursor, f: 'json' },
      ...{ chain: 'celo', prover: addressOf(1), subject: addressOf(1), schema: uidOf(1), uid: uidOf(1) },
      ...{ location_type: 'x', revoked: 'true', filter: 'revoked = TRUE', 'filter-lang': 'cql2-text' },
      ...{ 'filter-crs': CRS84, sortby: '-timestamp', include: 'provenance', profile: 'jsonfg' },
    }
    for (const [path, { get }] of Object.entries<Json>(definition.paths)) {
      const url = `/ogc${path === '/' ? '' : path}`.replace('{featureId}', idOf(places[0]!))
      const pairs: string[] = get.parameters
        .map((each: Json) => resolve(definition, each))
        .filter((each: Json) => each.in === 'query')
        .map(({ name }: Json) => `${name}=${encodeURIComponent(example[name]!)}`)
      for (const query of [...pairs, pairs.join('&')])
        expect([url, query, await statusOf(`${url}?${query}`)]).toEqual([url, query, 200])
    }
  })
  test('/req/oas30/completeness, exceptions-codes: the document has every status and its content', async () => {
    // ask() checks all other responses of this file. These responses need a broken service.
    const broken = await startApi({ publicBaseUrl: BASE })
    for (const path of ['/ogc/collections', COLLECTION, ITEMS, `${ITEMS}/${idOf(places[0]!)}`]) {
      const answer = await fetch(`${broken.url}${path}`)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
      const documented = path.slice('/ogc'.length).replace(/[\w-]+-0x.*/, '{featureId}')
      expect(problems(documented, 503, 'application/json', await answer.json())).toBeUndefined()
    }
    for (const path of ['', '/api', '/conformance', '/collections/location-records/schema'])
      expect((await fetch(`${broken.url}/ogc${path}`)).status).toBe(200)
    await broken.close()
    await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN line TO lines')
    // The request must be new, because responses to earlier requests stay cached until a record changes.
    const { status, body } = await items('limit=77')
    await rows(database.url, 'ALTER TABLE location_record RENAME COLUMN lines TO line')
    expect([status, body]).toEqual([500, sentence()])
  })
  test('/req/oas30/security: the service has no access control, and documents none', () => {
    expect([definition.security, definition.components.securitySchemes]).toEqual([undefined, undefined])
  })
  test('a feature has the properties of the schema from which GDAL reads types', async () => {
    const { links } = (await ask(COLLECTION)).json
    const { json } = await ask(linkOf(links, 'describedBy').href)
    expect(json.$id).toBe(`${BASE}${COLLECTION}/schema/geojson`)
    const { properties } = json.properties.properties
    // The schemas of these records have no further fields.
    const names = [...Object.keys((await items('limit=1')).json.features[0].properties), 'attributes']
    expect(Object.keys(properties)).toEqual(names)
    expect(Object.values<Json>(properties).every(({ type }) => typeof type === 'string')).toBe(true)
  })
})

describe('OGC API - Features, A.4 GeoJSON', () => {
  test('/req/geojson/definition: features are application/geo+json, and all other documents JSON', async () => {
    const kinds = new Set<string>()
    for (const path of DOCUMENTS) {
      const expected = path.startsWith(ITEMS)
        ? 'application/geo+json'
        : path.endsWith('/api')
          ? 'application/vnd.oai.openapi+json;version=3.0'
          : /\/(schema|geojson|queryables|sortables)$/.test(path)
            ? SCHEMA_TYPE
            : 'application/json'
      const others = [
        ...[
          '*/*',
          'application/json',
          'application/geo+json',
          'application/geo+json, application/json;q=0.9',
        ],
        ...['image/png', 'text/html;q=0.5, application/*', 'text/html;q=0, */*', 'text/html;q=0.1,*/*;q=0.2'],
        ';q=x,,',
      ]
      // Documents of one type share the choice of their form.
      for (const accept of kinds.has(expected) ? [undefined] : [undefined, ...others])
        expect((await ask(path, accept === undefined ? {} : { accept })).type, `${path} ${accept}`).toBe(
          expected,
        )
      expect((await ask(`${path}?f=json`, { accept: 'text/html' })).type).toBe(expected)
      kinds.add(expected)
    }
  })
  test('/req/geojson/content: a FeatureCollection and a Feature have links', async () => {
    const { json } = await items('')
    const members = ['type', 'numberMatched', 'numberReturned', 'timeStamp', 'links', 'features']
    expect(Object.keys(json)).toEqual(members)
    const ofFeature = ['type', 'id', 'geometry', 'properties']
    for (const feature of json.features) expect(Object.keys(feature)).toEqual(ofFeature)
    const one = (await ask(`${ITEMS}/${json.features[0].id}`)).json
    expect(Object.keys(one)).toEqual([...ofFeature, 'links'])
  })
})

describe('JSON-FG (OGC 21-045r1)', () => {
  const CORE = 'http://www.opengis.net/spec/json-fg-1/1.0/conf/core'
  const PROFILE = 'http://www.opengis.net/def/profile/OGC/0/jsonfg'
  const plain = ({ time: _, place: __, ...feature }: Json) => feature

  test('adds the time of each feature, and their type and schema, to the same features', async () => {
    // An attested field may have the same name as the time property.
    const attributes = { timestamp: '1999-01-01T00:00:00Z', place: '"timestamp":"1998-01-01T00:00:00Z"' }
    const uid = uidOf(0xf9)
    const memo = '"timestamp":"1997-01-01T00:00:00Z"'
    await insertRecords(
      database.url,
      [{ uid, attributes, memo, timestamp: Date.UTC(2031, 0, 1) + 7 }],
      900_000,
    )
    try {
      const query = 'limit=200&include=provenance'
      const [fg, geojson] = [await items(`${query}&profile=jsonfg`), await items(query)]
      expect(fg.type).toBe('application/geo+json')
      expect(fg.json).toMatchObject({
        conformsTo: expect.arrayContaining([CORE]),
        featureType: 'location-records',
        featureSchema: `${BASE}${COLLECTION}/schema`,
      })
      expect(await statusOf(fg.json.featureSchema)).toBe(200)
      expect(linkOf(fg.json.links, 'profile')?.href).toBe(PROFILE)
      expect(fg.headers.get('link')).toContain(`<${PROFILE}>; rel="profile"`)
      expect(fg.json.features[0].id).toBe(`celo-${uid}`)
      for (const { time, place, properties } of fg.json.features)
        expect([time, place]).toEqual([{ timestamp: properties.timestamp }, null])
      expect(fg.json.features.map(plain)).toEqual(geojson.json.features)
      expect(linkOf(fg.json.links, 'next')?.href).toContain('profile=jsonfg')
      const one = (await ask(`${ITEMS}/celo-${uid}?profile=jsonfg`)).json
      expect(one).toMatchObject({
        conformsTo: fg.json.conformsTo,
        ...{ featureType: 'location-records', featureSchema: fg.json.featureSchema },
        ...{ time: { timestamp: '2031-01-01T00:00:00.007Z' }, place: null },
      })
    } finally {
      await rows(database.url, 'DELETE FROM location_record WHERE uid = $1', [uid])
    }
  })
  test('has its own ETags, accepts the URI of the profile, and leaves pages unchanged', async () => {
    const { headers, json } = await items('limit=3&profile=jsonfg')
    const known = { 'if-none-match': headers.get('etag')! }
    expect((await items('limit=3&profile=jsonfg', known)).status).toBe(304)
    expect((await items('limit=3', known)).status).toBe(200)
    for (const uri of [PROFILE, PROFILE.replace('OGC/0', 'ogc/0')])
      expect((await items(`limit=3&profile=${encodeURIComponent(uri)}`)).json.features).toEqual(json.features)
    expect((await items('limit=3&profile=rfc7946')).json).not.toHaveProperty('featureType')
    expect((await items('limit=3&profile=jsonfg&f=html')).type).toContain('text/html')
    const refused = { message: 'Invalid profile parameter', detail: sentence() }
    expect((await items('profile=gml')).json).toMatchObject(refused)
  })
})

describe('OGC API - Features, A.5 HTML', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
  /** Text of an HTML page, and its links. */
  const read = (html: string) => {
    const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    return {
      text: plain(html.replace(/<style>[^]*?<\/style>/, '').replace(/<[^>]+>/g, '\n')),
      links: [...html.matchAll(/<a href="([^"]+)"(?: rel="([^"]+)" type="([^"]+)")?>/g)].map(
        ([, href, rel, type]) => ({ href: plain(href!), rel, type }),
      ),
    }
  }
  test('/req/html/definition: every document is also a page', async () => {
    for (const path of DOCUMENTS)
      for (const answer of [
        await ask(path, { accept: browser }),
        await ask(`${path}?f=html`),
        await ask(path, { accept: 'text/html' }),
      ]) {
        expect([path, answer.status, answer.type]).toEqual([path, 200, 'text/html; charset=utf-8'])
        expect(answer.body).toMatch(/^<!DOCTYPE html>\n<html lang="en">/)
        expect(answer.headers.get('content-security-policy')).toMatch(
          /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
        )
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      }
  })
  test('/req/html/content: a page has all texts and links of the JSON, and every link works', async () => {
    const leaves = (value: Json): string[] =>
      typeof value === 'string'
        ? [value]
        : typeof value === 'object' && value !== null
          ? Object.values(value).flatMap(leaves)
          : []
    const linksIn = (value: Json): Json[] =>
      typeof value !== 'object' || value === null
        ? []
        : [
            ...(value.href && value.rel?.length && !value.templated ? [value] : []),
            ...Object.values(value).flatMap(linksIn),
          ]
    const followed = new Set<string>()
    for (const path of DOCUMENTS.map((each) => (each === ITEMS ? `${each}?limit=5&chain=celo` : each))) {
      const [{ json, headers }, { body }] = [await ask(path), await ask(path, { accept: browser })]
      const { text, links } = read(body.replace(HEADER, ''))
      // Only the time of the response differs.
      const { timeStamp: _, ...content } = json
      const said = leaves(content).filter(
        (leaf) => !/^(Feature|FeatureCollection)$/.test(leaf) && !leaf.startsWith(BASE),
      )
      for (const leaf of said)
        expect([
          path,
          text.includes(leaf) || text.includes(JSON.stringify(leaf).slice(1, -1)) ? leaf : 'missing',
        ]).toEqual([path, leaf])
      // In HTML, self and alternate are swapped.
      const other: Record<string, string> = { self: 'alternate', alternate: 'self' }
      for (const { href, rel } of linksIn(json))
        expect(
          links.some(
            (link) =>
              link.href.replace(/[?&]f=(json|html)$/, '') === href.replace(/[?&]f=html$/, '') &&
              link.rel === (other[rel] ?? rel),
          ),
          `${path}: ${rel} ${href}`,
        ).toBe(true)
      expect(links.map(({ rel }) => rel)).toEqual(
        expect.arrayContaining(headers.get('link')!.match(/(?<=rel=")[^"]+/g)!),
      )
      for (const { href, type = 'text/html' } of links) {
        if (followed.has(href)) continue
        followed.add(href)
        const answer = await ask(href, { accept: browser })
        expect([href, answer.status, essence(answer.type)]).toEqual([href, 200, essence(type)])
      }
    }
  })
  test('attested text is escaped on a page', async () => {
    const bad = [
      ...[`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'><svg/onload=alert(1)>`],
      ...['</title></style><script>', 'javascript:alert(1)', '{{7*7}}${7*7}', '‮txt.exe'],
      ...['&lt;b&gt;&amp;', '</svg></details></dl>', '\u2028\u2029\ud83d\ude00', '<!--', ']]>'],
    ].join(' ')
    const hostile: Place = {
      ...{ chain: 'celo', uid: uidOf(0xbad), timestamp: Date.UTC(2027, 0, 1) },
      geometry: { type: 'Point', coordinates: [1, 2] },
      ...{ memo: bad, locationType: bad.slice(0, 150), location: bad, media: bad },
    }
    await insertRecords(database.url, [hostile])
    await expect.poll(async () => (await items('limit=1')).json.features[0].id).toBe(idOf(hostile))
    for (const path of [`${ITEMS}?limit=3`, `${ITEMS}/${idOf(hostile)}`]) {
      const { body } = await ask(path, { accept: browser })
      expect(body).toContain('&#60;script&#62;alert(1)')
      expect(foreignElements(body, ['details', 'summary'])).toEqual([])
      expect(body.match(/<[^>]*\son[a-z]+\s*=/i)).toBeNull()
      const addresses = addressesOf(body.replace(HEADER, ''), BASE + path)
      expect(addresses.filter((to) => !to.startsWith(`${BASE}/ogc`))).toEqual([])
      expect(read(body).text).toContain(bad)
    }
    // The page shows text from the URL, too.
    for (const path of [
      `/ogc/collections/%3Cscript%3E`,
      `${ITEMS}/%3Cscript%3Ealert(1)`,
      `${ITEMS}?f=html&%3Cscript%3E=1`,
      `${ITEMS}?f=html&datetime=%3Cscript%3E`,
    ]) {
      const page = await ask(path, { accept: browser })
      expect(page.status, path).toBeGreaterThanOrEqual(400)
      expect([page.type, page.body.includes('<script')], path).toEqual(['text/html; charset=utf-8', false])
      expect(page.headers.get('content-security-policy'), path).toMatch(/^default-src 'none'/)
      // Programs, and clients that request JSON, receive the same error as JSON.
      for (const [other, accept] of [
        [path.replace('f=html&', ''), '*/*'],
        [path.includes('f=html') ? path.replace('f=html', 'f=json') : `${path}?f=json`, browser],
      ] as const)
        expect((await ask(other, { accept })).type, other).toBe('application/json; charset=utf-8')
    }
    const echoed = await ask(`${ITEMS}?f=html&location_type=%22%3E%3Cscript%3E`)
    expect([echoed.status, echoed.body.includes('<script')]).toEqual([200, false])
    await rows(database.url, 'DELETE FROM location_record WHERE id = $1', [idOf(hostile)])
  })
  test('the map has a linked mark for every geometry', async () => {
    const { body } = await ask(`${ITEMS}?f=html&limit=100`)
    const drawn = (await items('limit=100')).json.features.filter(({ geometry }: Json) => geometry)
    for (const { id } of drawn) expect(/<svg[^]*<\/svg>/.exec(body)![0]).toContain(`${ITEMS}/${id}?f=html`)
    expect(body).not.toMatch(/NaN|undefined|Infinity/)
  })
})

testSentences()
