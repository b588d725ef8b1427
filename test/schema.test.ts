import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOrmConfig } from '@subsquid/typeorm-config'
import { DataSource } from 'typeorm'
import { createMigratedDatabase, rows, type TestDatabase } from './database'

let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})
afterAll(() => database.drop())

test('the entities are what the migrations make, but for the PostGIS column and the indexes that entities cannot name', async () => {
  process.env.DB_URL = database.url
  const source = await new DataSource(createOrmConfig()).initialize()
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log()
    expect(upQueries.map(({ query }) => query).sort()).toEqual(['ALTER TABLE "location_record" DROP COLUMN "geom"', ...['attestation_event_revoked', ...['chain_revoked', 'geom', 'nowhere', 'revoked', 'type'].map((name) => `location_record_${name}`)].map((name) => `DROP INDEX "public"."${name}"`)])
  } finally {
    await source.destroy()
  }
})

/** As planar WKT, coordinates rounded. */
const geom = async (geojson: object) => (await rows<{ wkt: string }>(database.url, 'SELECT ST_AsText(location_geom($1), 3) AS wkt', [JSON.stringify(geojson)]))[0]!.wkt
const covers = async (geojson: object, [lng, lat]: [number, number]) =>
  (await rows<{ covers: boolean }>(database.url, 'SELECT ST_Intersects(location_geom($1), ST_SetSRID(ST_MakePoint($2, $3), 4326)) AS covers', [JSON.stringify(geojson), lng, lat]))[0]!.covers

test('the shape that bbox queries meet: cut at the antimeridian, whole round a pole, valid', async () => {
  expect(await geom({ type: 'Point', coordinates: [180, -17, 30] })).toBe('POINT(180 -17)')
  expect(await geom({ type: 'LineString', coordinates: [[179, 0], [-179, 1]] })).toBe('MULTILINESTRING((179 0,180 0.5),(-180 0.5,-179 1))')
  expect(await geom({ type: 'LineString', coordinates: [[-179, 0], [-1, 0], [179, 0]] })).toBe('LINESTRING(-179 0,-1 0,179 0)')
  const fiji = { type: 'Polygon', coordinates: [[[177, -19], [-178, -19], [-178, -16], [177, -16], [177, -19]]] }
  expect([await covers(fiji, [179.5, -17]), await covers(fiji, [-179.5, -17]), await covers(fiji, [0, -17])]).toEqual([true, true, false])
  const arctic = { type: 'Polygon', coordinates: [[[0, 70], [120, 70], [-120, 70], [0, 70]]] }
  expect([await covers(arctic, [45, 89]), await covers(arctic, [-45, 75]), await covers(arctic, [45, 60])]).toEqual([true, true, false])
  const antarctic = { type: 'Polygon', coordinates: [[[0, -70], [-120, -70], [120, -70], [0, -70]]] }
  expect([await covers(antarctic, [45, -89]), await covers(antarctic, [45, -60])]).toEqual([true, false])
  // Latitudes that vary: the ring is no line on the plane, and still covers the pole.
  const wavy = { type: 'Polygon', coordinates: [[[0, 70], [90, 75], [180, 72], [-90, 80], [0, 70]]] }
  expect([await covers(wavy, [-90, 89]), await covers(wavy, [10, 85]), await covers(wavy, [10, 60])]).toEqual([true, true, false])
  // The world as a rectangle: its edges are 360 degrees long, and cross nothing.
  const world = { type: 'Polygon', coordinates: [[[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]] }
  expect(await covers(world, [33, 44])).toBe(true)
  // Each part for itself: one crosses the antimeridian, the other Greenwich.
  const both = { type: 'MultiPolygon', coordinates: [[[[170, -20], [-170, -20], [-170, -10], [170, -10], [170, -20]]], [[[-5, 40], [5, 40], [5, 50], [-5, 50], [-5, 40]]]] }
  expect([await covers(both, [179, -15]), await covers(both, [-179, -15]), await covers(both, [0, 45]), await covers(both, [95, 45])]).toEqual([true, true, true, false])
  const bowTie = { type: 'Polygon', coordinates: [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]] }
  expect([await covers(bowTie, [0.1, 0.5]), await covers(bowTie, [0.5, 0.1]), await covers(bowTie, [1.1, 0.5])]).toEqual([true, true, false])
  const bowTieAcross = { type: 'Polygon', coordinates: [[[179, 0], [-179, 1], [-179, 0], [179, 1], [179, 0]]] }
  expect([await covers(bowTieAcross, [179.5, 0.1]), await covers(bowTieAcross, [-179.5, 0.1]), await covers(bowTieAcross, [0, 0.5])]).toEqual([true, true, false])
  expect((await rows<{ geom: null }>(database.url, 'SELECT location_geom(NULL) AS geom'))[0]!.geom).toBeNull()
})

test('a ring made to cross itself a million times takes no longer than others (repairing it took minutes)', async () => {
  const star = Array.from({ length: 3_000 }, (_, i) => [10 * Math.cos(i * 2.39), 10 * Math.sin(i * 2.39)])
  const started = performance.now()
  expect(await covers({ type: 'Polygon', coordinates: [[...star, star[0]]] }, [0, 0])).toBe(true)
  expect(performance.now() - started).toBeLessThan(10_000)
})
