import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import { deserialize } from 'flatgeobuf/lib/mjs/generic.js'
import { parseProperties } from 'flatgeobuf/lib/mjs/generic/feature.js'
import * as geojson from 'flatgeobuf/lib/mjs/geojson.js'
import { parquetMetadata } from 'hyparquet'
import { fromGeometry } from 'flatgeobuf/lib/mjs/geojson/geometry.js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { COLUMNAR_WORKER, startApi, type TestApi } from '../../../test/api'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from '../../../test/database'
import { insertRecords, somePlaces, type Geometry, type GivenRecord } from '../../../test/records'
import { RECORD_FIELD_LIST } from '../../../src/location'
import { written } from '../../store/sql'
import { ColumnarFiles } from './file'
import { curveKey, LAST_KEY, shapeOf } from './shape'
import { OWN_WORK } from '../../http/work'
import { positions } from '../../../test/positions'
import { needing } from '../../../test/needs'

/** Tests GeoParquet and FlatGeobuf files by reading them with DuckDB, GDAL and flatgeobuf's own reader. */

const LIST = '/api/v0/location-records'
const GDAL = /\bFlatGeobuf\b/.test(spawnSync('ogrinfo', ['--formats'], { encoding: 'utf8' }).stdout ?? '')
const run = promisify(execFile)

/** Only some positions have a height. */
const MIXED: Geometry = {
  type: 'LineString',
  coordinates: [
    [7, 46, 500],
    [8, 46],
    [9, 46, -1.5],
  ],
}
/** Geometries that a format could change or lose. */
const SPECIAL: Geometry[] = [
  { type: 'Point', coordinates: [8.54, 47.37, 408.5] },
  MIXED,
  { type: 'MultiLineString', coordinates: [positions('1 2, 3 4')] },
  { type: 'MultiLineString', coordinates: [positions('1 2, 3 4'), positions('5 6, 7 8, 9 9')] },
  {
    type: 'Polygon',
    coordinates: [
      positions('0 0, 9 0, 9 9, 0 9, 0 0'),
      positions('1 1, 1 2, 2 2, 2 1, 1 1'),
      positions('3 3, 3 4, 4 4, 4 3, 3 3'),
    ],
  },
  // This line crosses the antimeridian, passes a pole and spans the whole world.
  { type: 'Polygon', coordinates: [positions('179 -17, -179 -17, -179 -16, 179 -16, 179 -17')] },
  { type: 'Polygon', coordinates: [positions('0 80, 120 80, -120 80, 0 80')] },
  { type: 'LineString', coordinates: positions('-180 -90, 0 0, 180 90') },
  { type: 'Point', coordinates: [-180, 90] },
  { type: 'Point', coordinates: [0.1 + 0.2, -1e-9] },
  {
    type: 'GeometryCollection',
    geometries: [
      { type: 'Point', coordinates: [1, 2] },
      {
        type: 'GeometryCollection',
        geometries: [
          { type: 'MultiPoint', coordinates: positions('3 4, 5 6') },
          { type: 'Polygon', coordinates: [positions('0 0, 1 0, 1 1, 0 0')] },
        ],
      },
    ],
  },
]
const TEXTS = [
  ...['=1+1', 'Zürich, 東京, 🗺️ \u{1F3F4}', '"quoted"\tand\nlines\r\n', '', "it's; -- a 'memo'"],
  ...['\u200f\ufeff'],
]
const ATTRIBUTES = [
  {
    owner: `0x${'ab'.repeat(20)}`,
    big: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  },
  { nested: { list: [1, 'two', [3.5, null, true]], 'é "key"': {} }, none: null },
  {},
]
const given: GivenRecord[] = [
  ...somePlaces(12_000, 2_511),
  ...SPECIAL.map((geometry, i) => ({
    ...{ chain: 'base-sepolia', geometry, timestamp: Date.UTC(2026, 5, 1) + i * 1_001 },
    ...{ memo: TEXTS[i % TEXTS.length]!, attributes: ATTRIBUTES[i % ATTRIBUTES.length]! },
    ...{ recipeTypes: TEXTS.slice(0, i % 4), media: i % 2 ? 'aGVsbG8=' : undefined! },
  })),
  // This geometry is larger than a block that is read ahead from a sorted run.
  {
    geometry: { type: 'Point', coordinates: [5, 5] },
    memo: 'A long text. '.repeat(40_000),
    timestamp: Date.UTC(2025, 1),
  },
  {
    columns: {
      timestamp: new Date('0001-01-01T00:00:00Z'),
      event_timestamp: new Date('9999-12-31T23:59:59.999Z'),
    },
  },
]

/** Expects equal values. Thousands of calls of toEqual would take seconds. */
function same(actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) expect(actual).toEqual(wanted)
}

interface Feature {
  geometry: Geometry | null
  properties: Record<string, unknown>
}
let database: TestDatabase
let api: TestApi
let duckdb: DuckDBConnection
/** All records as GeoJSON represents them, by UID. */
let expected: Map<string, Feature>
const folder = temporaryFolder()

beforeAll(async () => {
  vi.spyOn(console, 'debug').mockImplementation(() => {})
  database = await createMigratedDatabase()
  await insertRecords(database.url, given)
  api = await startApi({ databaseUrl: database.url })
  duckdb = await (await DuckDBInstance.create(':memory:')).connect()
  const all = (await (await fetch(`${api.url}${LIST}?format=geojson`)).json()) as { features: Feature[] }
  expected = new Map(all.features.map((feature) => [feature.properties.uid as string, feature]))
  expect(expected.size).toBe(given.length)
})
afterAll(() => duckdb?.closeSync())

let files = 0
/** Requests a file and saves it. */
async function saved(query: string): Promise<string> {
  const response = await fetch(`${api.url}${LIST}${query}`)
  expect(response.status, await response.clone().text()).toBe(200)
  const name = path.join(folder, `${files++}.${/format=geoparquet/.test(query) ? 'parquet' : 'fgb'}`)
  writeFileSync(name, Buffer.from(await response.arrayBuffer()))
  return name
}
async function duck<Row>(sql: string): Promise<Row[]> {
  return (await duckdb.runAndReadAll(sql)).getRowObjectsJson() as Row[]
}

/**
 * Records of a GeoParquet file in the order of the file, with the geometry converted to GeoJSON by PostGIS.
 */
async function parquetFeatures(file: string): Promise<Feature[]> {
  const times = RECORD_FIELD_LIST.filter(([, { type }]) => type === 'time')
    .map(([name]) => `epoch_ms(${name})::VARCHAR AS ${name}`)
    .join(', ')
  const read = await duck<Record<string, unknown>>(
    `SELECT * REPLACE (${times}, hex(ST_AsWKB(geometry)) AS geometry) FROM read_parquet('${file}')`,
  )
  const shapes = await rows<{ geometry: string | null }>(
    database.url,
    `SELECT ST_AsText(ST_GeomFromWKB(decode(wkb, 'hex')), 17) AS geometry FROM unnest($1::text[]) WITH ORDINALITY AS t (wkb, n) ORDER BY n`,
    [read.map(({ geometry }) => geometry)],
  )
  return read.map(({ geometry: _, bbox: __, ...row }, i) => ({
    geometry: shapes[i]!.geometry as never,
    properties: Object.fromEntries(
      RECORD_FIELD_LIST.flatMap(([name, { type }]) => {
        const value = row[name]
        if (type === 'time') return [[name, new Date(Number(value)).toISOString()]]
        if (type === 'json') return value === null ? [] : [[name, JSON.parse(value as string) as unknown]]
        return [[name, value]]
      }),
    ),
  }))
}
/** WKT of GeoJSON, also by PostGIS. */
async function textsOf(features: readonly Feature[]): Promise<(string | null)[]> {
  const texts = await rows<{ geometry: string | null }>(
    database.url,
    `SELECT ST_AsText(ST_GeomFromGeoJSON(json), 17) AS geometry FROM unnest($1::text[]) WITH ORDINALITY AS t (json, n) ORDER BY n`,
    [features.map(({ geometry }) => geometry && JSON.stringify(geometry))],
  )
  return texts.map(({ geometry }, i) =>
    JSON.stringify(features[i]!.geometry) === JSON.stringify(MIXED)
      ? 'LINESTRING Z (7 46 500,8 46 NaN,9 46 -1.5)'
      : geometry,
  )
}

/** Offsets of the parts of a FlatGeobuf file. */
function layoutOf(file: Buffer) {
  const headerEnd = 12 + file.readUInt32LE(8)
  const levels = [given.length]
  while (levels.at(-1)! > 1) levels.push(Math.ceil(levels.at(-1)! / 16))
  const nodes = levels.reduce((sum, each) => sum + each)
  const featuresAt = headerEnd + 40 * nodes
  const leaves = Array.from({ length: given.length }, (_, i) => {
    const at = headerEnd + 40 * (nodes - given.length + i)
    const bounds = [0, 8, 16, 24].map((side) => file.readDoubleLE(at + side))
    return { bounds, at: featuresAt + Number(file.readBigUInt64LE(at + 32)) }
  })
  return { featuresAt, leaves }
}
/** Features of a FlatGeobuf file, read by flatgeobuf's own reader. */
async function flatFeatures(bytes: Buffer, rect?: object): Promise<Feature[]> {
  const features: Feature[] = []
  const fromFeature = (_: number, feature: never, header: never) => {
    const { columns, geometryType } = header as { columns: never; geometryType: never }
    const geometry = (feature as { geometry: () => unknown }).geometry()
    const read = {
      geometry: geometry ? (fromGeometry(geometry as never, geometryType) as never) : null,
      properties: parseProperties(feature, columns) as Record<string, unknown>,
    }
    features.push(read)
    return read
  }
  // The reader's arrays of doubles need a separate buffer.
  const copy = new Uint8Array(bytes)
  for await (const _ of deserialize(copy, {
    fromFeature,
    ...(rect && { rect }),
  } as never) as AsyncIterable<unknown>);
  return features
}
/** A record as a FlatGeobuf file represents it, without null. */
const withoutNull = (properties: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== null))
/** GDAL writes times as 2026/01/31 12:00:00+00, or in ISO 8601. */
const timeOf = (text: string) => Date.parse(text.replaceAll('/', '-').replace(' ', 'T').replace(/\+00$/, 'Z'))
const ids = (features: readonly { properties: Record<string, unknown> }[]) =>
  features.map(({ properties }) => properties.uid as string).sort()
const expectedIn = ([west, south, east, north]: readonly number[]) =>
  [...expected.values()].filter(({ geometry }) => {
    if (!geometry) return false
    const [w, s, e, n] = shapeOf(JSON.stringify(geometry)).bounds
    return w <= east! && e >= west! && s <= north! && n >= south!
  })

describe('GeoParquet', () => {
  let file: string
  beforeAll(async () => {
    file = await saved('?format=geoparquet')
  })
  test('is read by DuckDB with every record unchanged', async () => {
    const read = await parquetFeatures(file)
    expect(ids(read)).toEqual([...expected.keys()].sort())
    const originals = read.map(({ properties }) => expected.get(properties.uid as string)!)
    const texts = await textsOf(originals)
    for (const [i, { properties, geometry }] of read.entries()) {
      same(properties, originals[i]!.properties)
      same(geometry, texts[i])
    }
  })
  test('has columns with their types, and a geometry that DuckDB recognizes, longitude first', async () => {
    const [types] = await duck<Record<string, string>>(
      `SELECT ${RECORD_FIELD_LIST.map(([name]) => `typeof(${name}) AS ${name}`).join()}, typeof(geometry) AS geometry, typeof(bbox) AS bbox FROM read_parquet('${file}') LIMIT 1`,
    )
    const sqlTypes = {
      ...{ text: 'VARCHAR', address: 'VARCHAR', time: 'TIMESTAMP WITH TIME ZONE', number: 'DOUBLE' },
      ...{ boolean: 'BOOLEAN', texts: 'VARCHAR[]', json: 'JSON' },
    }
    expect(types).toEqual({
      ...Object.fromEntries(RECORD_FIELD_LIST.map(([name, { type }]) => [name, sqlTypes[type]])),
      geometry: "GEOMETRY('OGC:CRS84')",
      bbox: 'STRUCT(xmin DOUBLE, ymin DOUBLE, xmax DOUBLE, ymax DOUBLE)',
    })
  })
  test('has the metadata of GeoParquet 1.1', async () => {
    const [{ geo }] = (await duck<{ geo: string }>(
      `SELECT decode(value) AS geo FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'geo'`,
    )) as [{ geo: string }]
    const { columns, ...rest } = JSON.parse(geo) as { columns: Record<string, Record<string, unknown>> }
    expect(rest).toEqual({ version: '1.1.0', primary_column: 'geometry' })
    expect(columns.geometry).toMatchObject({
      encoding: 'WKB',
      edges: 'spherical',
      geometry_types: [
        ...['GeometryCollection', 'LineString', 'LineString Z', 'MultiLineString', 'MultiPoint'],
        ...['MultiPolygon', 'Point', 'Point Z', 'Polygon'],
      ],
      bbox: [-180, -90, 180, 90],
      crs: { type: 'GeographicCRS', id: { authority: 'OGC', code: 'CRS84' } },
      covering: {
        bbox: {
          ...{ xmin: ['bbox', 'xmin'], ymin: ['bbox', 'ymin'] },
          ...{ xmax: ['bbox', 'xmax'], ymax: ['bbox', 'ymax'] },
        },
      },
    })
  })
  test('sorts records along the curve, those without a geometry last, with geodesics inside bbox', async () => {
    const read = await duck<{ uid: string; bbox: Record<string, number> | null }>(
      `SELECT uid, bbox FROM read_parquet('${file}')`,
    )
    const keys = read.map(({ bbox }) =>
      bbox ? curveKey([bbox.xmin!, bbox.ymin!, bbox.xmax!, bbox.ymax!]) : LAST_KEY,
    )
    expect(keys.every((key, i) => i === 0 || key >= keys[i - 1]!)).toBe(true)
    expect(new Set(keys).size).toBeGreaterThan(8_000)
    for (const { uid, bbox } of read) same(bbox === null, expected.get(uid)!.geometry === null)
    const groups = await duck<{ rows: string }>(
      `SELECT DISTINCT row_group_id, row_group_num_rows AS rows FROM parquet_metadata('${file}') ORDER BY row_group_id`,
    )
    expect(groups.map(({ rows }) => Number(rows))).toEqual([10_000, given.length - 10_000])
    const around = (geometry: Geometry) =>
      read.find(({ uid }) => JSON.stringify(expected.get(uid)!.geometry) === JSON.stringify(geometry))!.bbox!
    const across = SPECIAL.find(({ coordinates }) => JSON.stringify(coordinates).startsWith('[[[179,'))!
    expect(around(across)).toMatchObject({ xmin: -180, xmax: 180 })
    // The polygon's edges span 120 degrees and come closer to the pole than their ends.
    const polar = SPECIAL.find(({ coordinates }) => JSON.stringify(coordinates).startsWith('[[[0,80]'))!
    expect(around(polar)).toMatchObject({ ymax: 90 })
  })
  test('has the geography type of version=2, with geodesic edges, bounds per row group and equal records', async () => {
    const native = await saved('?format=geoparquet&version=2')
    const [before, after] = [await parquetFeatures(file), await parquetFeatures(native)]
    const plain = (read: Feature[]) =>
      read.map(({ properties: { bbox: _, ...properties }, geometry }) => ({ properties, geometry }))
    same(plain(after), plain(before))
    const bytes = readFileSync(native)
    const { schema, row_groups, key_value_metadata } = parquetMetadata(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    )
    expect(schema.find(({ name }) => name === 'geometry')!.logical_type).toEqual({
      type: 'GEOGRAPHY',
      algorithm: 'KARNEY',
    })
    expect(schema.map(({ name }) => name)).not.toContain('bbox')
    const geo = JSON.parse(key_value_metadata!.find(({ key }) => key === 'geo')!.value!) as {
      version: string
      columns: { geometry: object }
    }
    expect([geo.version, geo.columns.geometry]).toEqual([
      '2.0.0',
      expect.objectContaining({ edges: 'karney' }),
    ])
    expect(geo.columns.geometry).not.toHaveProperty('covering')
    const boxes = await duck<{ bbox: Record<string, number> | null }>(
      `SELECT bbox FROM read_parquet('${file}')`,
    )
    let at = 0
    for (const { num_rows, columns } of row_groups) {
      const group = boxes.slice(at, (at += Number(num_rows))).flatMap(({ bbox }) => (bbox ? [bbox] : []))
      const least = (side: string) => Math.min(...group.map((box) => box[side]!))
      const most = (side: string) => Math.max(...group.map((box) => box[side]!))
      const column = columns.find(({ meta_data }) => meta_data!.path_in_schema[0] === 'geometry')!
      expect(column.meta_data!.geospatial_statistics?.bbox).toEqual({
        ...{ xmin: least('xmin'), xmax: most('xmax'), ymin: least('ymin'), ymax: most('ymax') },
      })
    }
  })
  test('may have padding before the row groups, which prevents timeouts of proxies', async () => {
    const makes = new ColumnarFiles(2 ** 30, COLUMNAR_WORKER)
    const made = await makes.begin('geoparquet', OWN_WORK)
    const [{ uid, chain, text }] = (await rows<{ uid: string; chain: string; text: string }>(
      database.url,
      `SELECT uid, chain, E'\\r' || location_fields(id) AS text FROM location_record LIMIT 1`,
    )) as [{ uid: string; chain: string; text: string }]
    await made.add([{ uid, chain, text: written(text), geometry: null }])
    const chunks: Uint8Array[] = [made.magic, new Uint8Array(7).fill(made.padding!)]
    for await (const chunk of made.rest(11)) chunks.push(chunk)
    await made.close()
    await makes.close()
    const name = path.join(folder, 'padded.parquet')
    writeFileSync(name, Buffer.concat(chunks))
    expect(await duck(`SELECT uid FROM read_parquet('${name}')`)).toEqual([{ uid }])
  })
})

describe('FlatGeobuf', () => {
  let file: string
  let bytes: Buffer
  beforeAll(async () => {
    file = await saved('?format=flatgeobuf')
    bytes = readFileSync(file)
  })
  test('is read by the reader of flatgeobuf with every record unchanged', async () => {
    const read = await flatFeatures(bytes)
    expect(ids(read)).toEqual([...expected.keys()].sort())
    for (const { properties, geometry } of read) {
      const original = expected.get(properties.uid as string)!
      same(properties, withoutNull(original.properties))
      const text = JSON.stringify(original.geometry)
      same(
        geometry,
        text === JSON.stringify(MIXED)
          ? {
              type: 'LineString',
              coordinates: [
                [7, 46, 500],
                [8, 46, NaN],
                [9, 46, -1.5],
              ],
            }
          : original.geometry,
      )
    }
  })
  test('has an index that finds the features of a box', async () => {
    for (const [west, south, east, north] of [
      [-10, -20, 60, 50],
      [-180, -90, -179.99, 90],
      [13, 52, 14, 53],
    ] as const) {
      const rect = { minX: west, minY: south, maxX: east, maxY: north }
      const wanted = ids(expectedIn([west, south, east, north]))
      expect(wanted.length).toBeGreaterThan(0)
      // All bytes that a reader of the index does not need are destroyed, so no other reader can read the
      // file.
      const damaged = Buffer.from(bytes)
      const { leaves } = layoutOf(bytes)
      for (const [i, { bounds, at }] of leaves.entries()) {
        const [w, s, e, n] = bounds as [number, number, number, number]
        if (!(w <= east && e >= west && s <= north && n >= south))
          damaged.fill(0xff, at, leaves[i + 1]?.at ?? bytes.length)
      }
      const found = await flatFeatures(damaged, rect)
      expect(ids(found)).toEqual(wanted)
      const library: { properties: Record<string, unknown> }[] = []
      for await (const feature of geojson.deserialize(new Uint8Array(damaged), { rect }))
        library.push(feature as never)
      expect(ids(library)).toEqual(wanted)
      if (!GDAL) continue
      const name = path.join(folder, `damaged-${files++}.fgb`)
      writeFileSync(name, damaged)
      const { stdout } = await run(
        'ogr2ogr',
        [...['-f', 'GeoJSON', '/vsistdout/', name, '-spat', `${west}`, `${south}`, `${east}`, `${north}`]],
        { maxBuffer: 2 ** 28 },
      )
      const read = (JSON.parse(stdout) as { features: Feature[] }).features
      // After the index, GDAL checks the geometries on the plane, where points and boxes are the same.
      const points = (features: readonly Feature[]) =>
        ids(features.filter(({ geometry }) => geometry?.type === 'Point'))
      expect(points(read)).toEqual(points(expectedIn([west, south, east, north])))
    }
  })
  needing(GDAL ? [] : ['gdal-bin']).test('is read by GDAL with every record unchanged', async () => {
    const { stdout: about } = await run('ogrinfo', ['-so', '-al', file])
    expect(about).toContain('Layer name: location-records')
    expect(about).toContain(`Feature Count: ${given.length}`)
    expect(about).toContain('Extent: (-180.000000, -90.000000) - (180.000000, 90.000000)')
    expect(about).toContain('ID["EPSG",4326]')
    const fields = [...about.matchAll(/^(\w+): (String|DateTime|Real|Integer\(Boolean\)) \(0\.0\)/gm)]
    const types = {
      ...{ text: 'String', address: 'String', time: 'DateTime', number: 'Real' },
      ...{ boolean: 'Integer(Boolean)', texts: 'String', json: 'String' },
    }
    expect(fields.map(([, name, type]) => [name, type])).toEqual(
      RECORD_FIELD_LIST.map(([name, { type }]) => [name, types[type]]),
    )
    const { stdout, stderr } = await run(
      'ogr2ogr',
      ['-f', 'GeoJSON', '/vsistdout/', file, '-lco', 'COORDINATE_PRECISION=17'],
      { maxBuffer: 2 ** 28 },
    )
    expect(
      stderr.split('\n').filter((line) => line && !line.includes('does not natively support DateTime')),
    ).toEqual([])
    const read = (JSON.parse(stdout) as { features: Feature[] }).features
    expect(ids(read)).toEqual([...expected.keys()].sort())
    const flat = (geometry: Geometry | null) =>
      // Not all records have heights, so the file as a whole declares no heights. GDAL writes 15 digits.
      JSON.stringify(geometry, (_, value: unknown) =>
        typeof value === 'number'
          ? Number(value.toPrecision(15))
          : Array.isArray(value) && typeof value[0] === 'number'
            ? value.slice(0, 2)
            : value,
      )
    for (const { properties, geometry } of read) {
      const original = expected.get(properties.uid as string)!
      same(flat(geometry), flat(original.geometry))
      for (const [name, { type }] of RECORD_FIELD_LIST) {
        const [value, was] = [properties[name] ?? null, original.properties[name] ?? null]
        if (type === 'time') same(timeOf(value as string), Date.parse(was as string))
        else if (type === 'number') same(value, was === null ? null : Number((was as number).toPrecision(15)))
        // ogr2ogr writes text that looks like JSON as JSON.
        else if (typeof value === 'object' && typeof was === 'string') same(value, JSON.parse(was))
        else same(type === 'texts' && typeof value === 'string' ? JSON.parse(value) : value, was)
      }
    }
  })
})
