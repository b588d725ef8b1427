import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../dev/services'
import { startApi, type TestApi } from './api'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from './database'
import { insertRecords, somePlaces, uidOf, addressOf, type Place } from './records'
import { needing } from './needs'

/**
 * Tests that GDAL reads the records with its OAPIF driver, like QGIS, through a proxy that serves them below
 * a path.
 */

const HAS_GDAL = /\bOAPIF\b/.test(spawnSync('ogrinfo', ['--formats'], { encoding: 'utf8' }).stdout ?? '')
const run = promisify(execFile)
const places = somePlaces(3_600, 3_600)
const idOf = ({ chain = 'celo', uid }: Place) => `${chain}-${uid}`

interface Read {
  type: 'Feature'
  geometry: Place['geometry']
  properties: Record<string, unknown> & { id: string }
}

let database: TestDatabase
let api: TestApi
let proxy: Server
let source: string
const folder = temporaryFolder()
/** URLs that GDAL requested. */
const asked: string[] = []
const strays: string[] = []

beforeAll(async () => {
  if (!HAS_GDAL) return
  database = await createMigratedDatabase()
  await insertRecords(database.url, places)
  await rows(database.url, 'ANALYZE location_record')
  const port = await freePort()
  const publicBaseUrl = `http://127.0.0.1:${port}/far/away`
  api = await startApi({ databaseUrl: database.url, publicBaseUrl })
  const { hostname, port: behind } = new URL(api.url)
  proxy = createServer((incoming, outgoing) => {
    asked.push(incoming.url!)
    if (!incoming.url!.startsWith('/far/away/ogc')) {
      strays.push(incoming.url!)
      return void outgoing.writeHead(502).end()
    }
    const onward = forward(
      {
        hostname,
        port: behind,
        path: incoming.url!.slice('/far/away'.length),
        method: incoming.method,
        headers: incoming.headers,
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve))
  source = `OAPIF:${publicBaseUrl}/ogc`
})
afterAll(async () => {
  proxy?.closeAllConnections()
  proxy?.close()
})

let files = 0
/** Features that ogr2ogr copies, and the requests that it sends for them. */
async function copied(...options: string[]): Promise<{ features: Read[]; requests: string[] }> {
  asked.length = 0
  const file = path.join(folder, `${files++}.geojsonl`)
  const { stderr } = await run('ogr2ogr', [
    '-f',
    'GeoJSONSeq',
    file,
    source,
    'location-records',
    '-oo',
    'PAGE_SIZE=1000',
    ...options,
  ])
  expect(
    stderr.split('\n').filter((line) => line !== '' && !line.includes('does not natively support DateTime')),
  ).toEqual([])
  const features = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line.replace(/^\x1e/, '')) as Read)
  return { features, requests: asked.filter((url) => url.includes('/items')) }
}
const idsWhere = (passes: (place: Place) => boolean) => places.filter(passes).map(idOf).sort()
const idsOf = (features: Read[]) => features.map(({ properties }) => properties.id).sort()

needing(HAS_GDAL ? [] : ['gdal-bin']).describe('GDAL', () => {
  test('ogrinfo reads the layer, its number of features, and the types of its fields', async () => {
    const { stdout, stderr } = await run('ogrinfo', ['-so', '-al', source])
    expect(stderr).toBe('')
    expect(stdout).toContain('Layer name: location-records')
    expect(stdout).toContain(`Feature Count: ${places.length}`)
    expect(stdout).toContain('Extent: (-180.000000, -90.000000) - (180.000000, 90.000000)')
    expect(stdout).toContain('ID["EPSG",4326]')
    expect(stdout).toMatch(/TEMPORAL_INTERVAL_MIN=2026-01-01T00:00:00\.000Z/)
    const fields = [
      ...stdout.matchAll(/^(\w+): (String|DateTime|Real|StringList|Integer\(Boolean\)) \(0\.0\)$/gm),
    ].map(([, name, type]) => `${name} ${type}`)
    expect(fields.join('; ')).toBe(
      'id String; uid String; chain String; prover String; subject String; timestamp DateTime; event_timestamp DateTime; srs String; location_type String; location String; longitude Real; latitude Real; recipe_types StringList; recipe_payloads StringList; media_types StringList; media_data StringList; memo String; revoked Integer(Boolean); created_at DateTime; updated_at DateTime; problem String; attributes String',
    )
  })
  test('ogr2ogr copies the whole collection: every feature once, each geometry as it was attested', async () => {
    const { features, requests } = await copied()
    expect(idsOf(features)).toEqual(idsWhere(() => true))
    const attested = new Map(places.map((place) => [idOf(place), place]))
    for (const { geometry, properties } of features) {
      const { geometry: original, timestamp, memo, revoked } = attested.get(properties.id)!
      expect(geometry).toEqual(original)
      expect([Date.parse(properties.timestamp as string), properties.memo, properties.revoked]).toEqual([
        timestamp,
        memo,
        revoked,
      ])
    }
    // GDAL requests the first page twice, because it also reads it to describe the layer. Further pages are
    // requested by cursor, never by offset.
    expect(requests.length).toBeLessThanOrEqual(1 + 1 + 4)
    expect(requests.filter((url) => url.includes('cursor=')).length).toBe(3)
  })
  test('ogrinfo reads a single collection by its own URL', async () => {
    const { stdout } = await run('ogrinfo', [
      '-so',
      `${source}/collections/location-records`,
      'location-records',
    ])
    expect(stdout).toContain(`Feature Count: ${places.length}`)
  })
  test('the default page size of GDAL suffices to read the whole collection', async () => {
    const file = path.join(folder, 'small.geojsonl')
    await run('ogr2ogr', ['-f', 'GeoJSONSeq', file, source, 'location-records', '-where', "chain='celo'"])
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(places.length / 4)
  })
  test('-spat of ogrinfo is sent as a request with bbox', async () => {
    const [west, south, east, north] = [-10, -20, 60, 50]
    const { features, requests } = await copied('-spat', `${west}`, `${south}`, `${east}`, `${north}`)
    expect(requests.some((url) => /bbox=-10,-20,60,50/.test(url))).toBe(true)
    const points = (all: Place[]) => all.filter(({ geometry }) => geometry?.type === 'Point')
    const inside = points(places).filter(({ geometry }) => {
      const [lng, lat] = geometry!.coordinates as [number, number]
      return lng >= west && lng <= east && lat >= south && lat <= north
    })
    expect(idsOf(features.filter(({ geometry }) => geometry?.type === 'Point'))).toEqual(
      inside.map(idOf).sort(),
    )
    expect(inside.length).toBeGreaterThan(50)
    // GDAL itself omits features without a geometry.
    expect(features.filter(({ geometry }) => geometry === null)).toEqual([])
  })
  test.each<[string, string, (place: Place) => boolean]>([
    ["chain = 'celo'", 'chain=celo', ({ chain }) => chain === 'celo'],
    [
      "chain = 'celo' AND revoked = 1",
      'chain=celo&revoked=1',
      ({ chain, revoked }) => chain === 'celo' && revoked!,
    ],
    [`prover = '${addressOf(103)}'`, `prover=${addressOf(103)}`, ({ prover }) => prover === addressOf(103)],
    [
      "location_type = 'geojson-point'",
      'location_type=geojson-point',
      ({ geometry }) => geometry?.type === 'Point',
    ],
    [`uid = '${uidOf(12)}'`, `uid=${uidOf(12)}`, ({ uid }) => uid === uidOf(12)],
    [`id = '${idOf(places[12]!)}'`, `/items/${idOf(places[12]!)}`, ({ uid }) => uid === places[12]!.uid],
    [
      "timestamp >= '2026/01/01 10:00:00' AND timestamp <= '2026/01/01 12:00:00'",
      'datetime=2026-01-01T10:00:00Z%2F2026-01-01T12:00:00Z',
      ({ timestamp: at }) => at >= Date.UTC(2026, 0, 1, 10) && at <= Date.UTC(2026, 0, 1, 12),
    ],
    [
      "timestamp >= '2026/01/03'",
      'datetime=2026-01-03T%2F..',
      ({ timestamp: at }) => at >= Date.UTC(2026, 0, 3),
    ],
    [
      "timestamp <= '2026/01/01 00:30:00'",
      'datetime=..%2F2026-01-01T00:30:00Z',
      ({ timestamp: at }) => at <= Date.UTC(2026, 0, 1, 0, 30),
    ],
    [
      "chain = 'celo' AND memo = 'Place 7'",
      'chain=celo',
      ({ memo, chain }) => chain === 'celo' && memo === 'Place 7',
    ],
    ["memo = 'Place 8'", 'limit=1000', ({ memo }) => memo === 'Place 8'],
  ])('the option -where "%s" is sent as a request with %s', async (where, request, passes) => {
    const { features, requests } = await copied('-where', where)
    expect(idsOf(features)).toEqual(idsWhere(passes))
    expect(
      requests.some((url) => url.includes(request)),
      requests.join('\n'),
    ).toBe(true)
  })
  // GDAL 3.6 sends filters only in the language of the draft, and only if the service declares it. It applies
  // other conditions itself.
  test.each<[string, string, (place: Place) => boolean]>([
    [
      "chain = 'celo' OR chain = 'arbitrum'",
      "(chain = 'celo') OR (chain = 'arbitrum')",
      ({ chain }) => chain === 'celo' || chain === 'arbitrum',
    ],
    [
      "NOT (revoked = 1) AND location_type LIKE 'geojson-p%'",
      "(NOT (revoked = 1)) AND (location_type LIKE 'geojson-p%')",
      ({ revoked, locationType }) => !revoked && locationType!.startsWith('geojson-p'),
    ],
    [
      "location_type <> 'it''s' AND problem IS NULL",
      "(location_type <> 'it''s') AND ((problem IS NULL))",
      ({ geometry }) => geometry !== null,
    ],
    [
      "subject > '0x00000000000000000000000000000000000000cd'",
      "subject > '0x00000000000000000000000000000000000000cd'",
      ({ subject }) => subject! > '0x00000000000000000000000000000000000000cd',
    ],
    [
      "memo = 'Place 8' AND revoked = 0",
      'revoked = 0',
      ({ memo, revoked }) => memo === 'Place 8' && !revoked,
    ],
  ])('OGR_OAPIF_ALLOW_CQL_TEXT=YES: -where "%s" is sent as the filter %s', async (where, filter, passes) => {
    const { features, requests } = await copied(
      '--config',
      'OGR_OAPIF_ALLOW_CQL_TEXT',
      'YES',
      '-where',
      where,
    )
    expect(idsOf(features)).toEqual(idsWhere(passes))
    const filters = requests.map((url) => new URL(url, 'http://x').searchParams)
    expect(
      filters.some((query) => query.get('filter') === filter && query.get('filter-lang') === 'cql-text'),
      requests.join('\n'),
    ).toBe(true)
  })
  test('every link stays within the path that the proxy serves', () => {
    expect(strays).toEqual([])
  })
})
