import { beforeAll, expect, test } from 'vitest'
import { createOrmConfig } from '@subsquid/typeorm-config'
import { DataSource } from 'typeorm'
import { AbiCoder } from 'ethers'
import { envelope, meets } from '../api/store/sql'
import { readGeometry } from '../src/geodesy'
import { project } from '../src/indexer/project'
import { LOCATION_PROTOCOL_SCHEMA, RECORD_FIELD_LIST } from '../src/location'
import { planeShape } from '../src/location/plane'
import { EventKind } from '../src/model'
import { createMigratedDatabase, rows, type TestDatabase } from './database'
import { positions } from './positions'
import { hunt } from './seed'

let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})

/** Types of columns in the entity. */
const COLUMN_TYPES = {
  text: 'text',
  address: 'text',
  time: 'timestamp with time zone',
  number: 'numeric',
  boolean: 'bool',
  texts: 'text',
  json: 'jsonb',
}
test("a record's fields are columns of the entity, and the projection fills all of its columns", async () => {
  process.env.DB_URL = database.url
  const source = await new DataSource(createOrmConfig()).initialize()
  try {
    const columns = new Map(
      source.getMetadata('LocationRecord').columns.map((column) => [column.databaseName, column]),
    )
    for (const [name, { type, nullable = false }] of RECORD_FIELD_LIST) {
      const column = columns.get(name)!
      expect([name, column.type, column.isNullable, column.isArray]).toEqual([
        ...[name, COLUMN_TYPES[type], nullable, type === 'texts'],
      ])
    }
    // Lists read these two fields from the beginning of a record's JSON.
    expect(RECORD_FIELD_LIST.slice(0, 2).map(([name]) => name)).toEqual(['uid', 'chain'])
    expect(Object.keys(projectedRecord()).sort()).toEqual(
      [...columns.keys(), 'geom', 'line', 'line_version'].sort(),
    )
  } finally {
    await source.destroy()
  }
})
/** A record in the form that the indexer writes. */
function projectedRecord(): object {
  const [uid, schemaUid] = [`0x${'1'.repeat(64)}`, LOCATION_PROTOCOL_SCHEMA.uid]
  const values = ['0.2', 'EPSG:4326', 'coordinate-decimal+lon-lat', '1,2']
  const data = AbiCoder.defaultAbiCoder().encode(Array(4).fill('string'), values)
  const [attester, recipient] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
  const event = { kind: EventKind.ATTESTED, uid, schemaUid, attester, recipient }
  const block = { blockNumber: 1, blockHash: uid, blockTimestamp: 0, transactionHash: uid, logIndex: 0 }
  const body = {
    uid,
    schema: schemaUid,
    attester,
    recipient,
    refUID: uid,
    time: 0n,
    data: Buffer.from(data.slice(2), 'hex'),
  }
  const { rows: projected } = project(
    'celo',
    [{ ...event, ...block }],
    new Map([[uid, { ...body, expirationTime: 0n, revocationTime: 0n, revocable: true }]]),
    new Date(),
  )
  return projected.location_record[0]!
}

const planeOf = (geojson: object) => planeShape(readGeometry(geojson, 'location'))
/** Planar shape as WKT, with rounded coordinates. */
const wkt = async (geojson: object) => {
  const [row] = await rows<{ wkt: string }>(database.url, 'SELECT ST_AsText($1::geometry, 3) AS wkt', [
    planeOf(geojson),
  ])
  return row!.wkt
}
const covers = async (geojson: object, [lng, lat]: [number, number]) => {
  const sql = `SELECT ${meets('shape', 'place')} AS covers FROM (SELECT $1::geometry AS shape, ST_SetSRID(ST_MakePoint($2, $3), 4326) AS place) AS given`
  const [row] = await rows<{ covers: boolean }>(database.url, sql, [planeOf(geojson), lng, lat])
  return row!.covers
}

test('PostGIS reads the planar shape that bbox queries use', async () => {
  expect(await wkt({ type: 'Point', coordinates: [180, -17, 30] })).toBe('POINT(180 -17)')
  expect(await wkt({ type: 'LineString', coordinates: positions('179 0, -179 1') })).toBe(
    'MULTILINESTRING((179 0,180 0.5),(-180 0.5,-179 1))',
  )
  expect(await wkt({ type: 'LineString', coordinates: positions('-179 0, -1 0, 179 0') })).toBe(
    'LINESTRING(-179 0,-1 0,179 0)',
  )
  expect(
    await wkt({
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1, 2] },
        { type: 'Polygon', coordinates: [positions('0 0, 1 0, 1 1, 0 0')] },
      ],
    }),
  ).toBe('GEOMETRYCOLLECTION(POINT(1 2),POLYGON((0 0,1 0,1 1,0 0)))')
  const fiji = { type: 'Polygon', coordinates: [positions('177 -19, -178 -19, -178 -16, 177 -16, 177 -19')] }
  expect(await wkt(fiji)).toBe(
    'MULTIPOLYGON(((-183 -19,-178 -19,-178 -16,-183 -16,-183 -19)),((177 -19,182 -19,182 -16,177 -16,177 -19)))',
  )
  expect([
    await covers(fiji, [179.5, -17]),
    await covers(fiji, [-179.5, -17]),
    await covers(fiji, [0, -17]),
  ]).toEqual([true, true, false])
  const arctic = { type: 'Polygon', coordinates: [positions('0 70, 120 70, -120 70, 0 70')] }
  expect([
    await covers(arctic, [45, 89]),
    await covers(arctic, [-45, 75]),
    await covers(arctic, [45, 60]),
  ]).toEqual([true, true, false])
  const antarctic = { type: 'Polygon', coordinates: [positions('0 -70, -120 -70, 120 -70, 0 -70')] }
  expect([await covers(antarctic, [45, -89]), await covers(antarctic, [45, -60])]).toEqual([true, false])
  // With varying latitudes, the ring is not a straight line in the plane, but still covers the pole.
  const wavy = { type: 'Polygon', coordinates: [positions('0 70, 90 75, 180 72, -90 80, 0 70')] }
  expect([await covers(wavy, [-90, 89]), await covers(wavy, [10, 85]), await covers(wavy, [10, 60])]).toEqual(
    [true, true, false],
  )
  // The world as a rectangle: its edges are 360 degrees long and do not cross the antimeridian.
  const world = { type: 'Polygon', coordinates: [positions('-180 -90, 180 -90, 180 90, -180 90, -180 -90')] }
  expect(await covers(world, [33, 44])).toBe(true)
  // Each part is separate: one crosses the antimeridian, the other the prime meridian.
  const both = {
    type: 'MultiPolygon',
    coordinates: [
      [positions('170 -20, -170 -20, -170 -10, 170 -10, 170 -20')],
      [positions('-5 40, 5 40, 5 50, -5 50, -5 40')],
    ],
  }
  expect([
    await covers(both, [179, -15]),
    await covers(both, [-179, -15]),
    await covers(both, [0, 45]),
    await covers(both, [95, 45]),
  ]).toEqual([true, true, true, false])
  // A ring that crosses itself covers both of its loops, and nothing else.
  const bowTie = { type: 'Polygon', coordinates: [positions('0 0, 1 1, 1 0, 0 1, 0 0')] }
  expect([
    await covers(bowTie, [0.1, 0.5]),
    await covers(bowTie, [0.9, 0.5]),
    await covers(bowTie, [0.5, 0.1]),
    await covers(bowTie, [1.1, 0.5]),
  ]).toEqual([true, true, false, false])
  const bowTieAcross = { type: 'Polygon', coordinates: [positions('179 0, -179 1, -179 0, 179 1, 179 0')] }
  expect([
    await covers(bowTieAcross, [179.1, 0.5]),
    await covers(bowTieAcross, [-179.1, 0.5]),
    await covers(bowTieAcross, [0, 0.5]),
  ]).toEqual([true, true, false])
})

test.each([
  ['170 -9, 180 -9, -180 -9, -170 -9, -170 9, -180 9, 180 9, 170 9, 170 -9'],
  ['100 70, 120 70, 0 90, 100 70'],
  ['0 70, 90 70, 180 70, -90 70, 5 90, 0 70'],
  ['-180 -75, 0 -70, 180 -75, 180 -90, -180 -90, -180 -75'],
  ['0 60, 90 60, 180 60, -90 60, 0 60', '-9 70, -9 75, 9 75, 9 70, -9 70'],
])('PostGIS finds the planar shape of rings at the antimeridian or a pole valid: %s', async (...rings) => {
  const shape = planeOf({ type: 'Polygon', coordinates: rings.map(positions) })
  const [row] = await rows<{ reason: string }>(
    database.url,
    'SELECT ST_IsValidReason($1::geometry) AS reason',
    [shape],
  )
  expect(row!.reason).toBe('Valid Geometry')
})

hunt(
  'no shape, even with crossing rings or without length, makes a box query fail',
  10,
  async ({ cases, random }) => {
    const one = (count: number) => Math.floor(random() * count)
    const at = () => [one(3) ? one(5) : [178, 179, 180, -180, -179][one(5)]!, one(5)]
    const ring = () => ((some) => [...some, some[0]!])(Array.from({ length: 3 + one(8) }, at))
    const kinds: (() => object)[] = [
      () => ({ type: 'Polygon', coordinates: Array.from({ length: 1 + one(3) }, ring) }),
      () => ({ type: 'MultiPolygon', coordinates: Array.from({ length: 1 + one(3) }, () => [ring()]) }),
      () => ({ type: 'LineString', coordinates: one(4) ? ring() : positions('1 1, 1 1') }),
      () => ({
        type: 'GeometryCollection',
        geometries: [
          { type: 'Point', coordinates: at() },
          { type: 'Polygon', coordinates: [ring()] },
        ],
      }),
    ]
    const box = envelope('w', 's', 'e', 'n')
    for (let i = 0; i < cases; i++) {
      const shapes = Array.from({ length: 400 }, () => kinds[one(kinds.length)]!())
      const boxes = Array.from({ length: 24 }, () => {
        const [w, s] = at() as [number, number]
        // Boxes often have no width or height.
        return [w, s, Math.min(180, w + one(3) * one(2)), s + one(3) * one(2)]
      })
      const [found] = await rows<{ met: number; of: number }>(
        database.url,
        `SELECT count(*) FILTER (WHERE ${meets('shape', box)})::int AS met, count(*)::int AS of
       FROM unnest($1::text[]) AS hex, LATERAL (SELECT hex::geometry AS shape) AS read, unnest($2::float8[], $3::float8[], $4::float8[], $5::float8[]) AS box (w, s, e, n)`,
        [shapes.map(planeOf), ...[0, 1, 2, 3].map((side) => boxes.map((each) => each[side]))],
      )
      expect(found!.of).toBe(400 * 24)
      expect(found!.met).toBeGreaterThan(1_000)
    }
  },
)
