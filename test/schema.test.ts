import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOrmConfig } from '@subsquid/typeorm-config'
import { DataSource } from 'typeorm'
import { envelope, meets } from '../api/store-records'
import { seededRandom } from '../dev/random'
import { readGeometry } from '../src/geodesy'
import { planeShape } from '../src/plane'
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
    expect(upQueries.map(({ query }) => query).sort()).toEqual([
      'ALTER TABLE "location_record" DROP COLUMN "geom"',
      ...[
        'attestation_event_revoked',
        'attestation_event_withheld',
        ...['chain_revoked', 'geom', 'nowhere', 'revoked', 'type'].map((name) => `location_record_${name}`),
      ].map((name) => `DROP INDEX "public"."${name}"`),
    ])
  } finally {
    await source.destroy()
  }
})

const RECORD = `
  INSERT INTO location_record (id, uid, chain, prover, subject, "timestamp", event_timestamp, created_at, updated_at,
    srs, location_type, location, geometry, longitude, latitude,
    recipe_types, recipe_payloads, media_types, media_data, memo, revoked,
    schema_uid, ref_uid, revocable, expiration_time, block_number, block_hash, transaction_hash, log_index)
  VALUES ($1::text, $1::text, 'base-sepolia', '0x', '0x', now(), now(), now(), now(),
    'EPSG:4326', $2, '', '{"type":"Point","coordinates":[1,2]}', 1, 2,
    '{}', '{}', '{}', '{}', '', false,
    '0x', '0x', true, 0, 1, '0x', '0x', 0)`
/** Columns with their comments, views, indexes, triggers, functions of ours and who may read. */
const SHAPE = `
  SELECT 'column' AS what, attrelid::regclass || '.' || attname AS name,
      concat_ws(' ', atttypid::regtype, attnotnull, col_description(attrelid, attnum)) AS is
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'v')
      AND relnamespace IN ('public'::regnamespace, 'published'::regnamespace)
  UNION ALL SELECT 'view', viewname,
      concat_ws(' ', definition, obj_description(format('published.%I', viewname)::regclass))
    FROM pg_views WHERE schemaname = 'published'
  UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'function', proname, prosrc
    FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE lanname = 'plpgsql' AND pronamespace IN ('public'::regnamespace, 'published'::regnamespace)
  UNION ALL SELECT 'grant', table_name, string_agg(grantee || privilege_type, ' ' ORDER BY grantee, privilege_type)
    FROM information_schema.role_table_grants WHERE table_schema = 'published' GROUP BY table_name
  ORDER BY 1, 2, 3`

test.each(['Poison', 'Records', 'Indexer'])(
  'back to before %s and on again, with a long type',
  async (first) => {
    const own = await createMigratedDatabase()
    const sql = <Row extends object>(text: string, values?: unknown[]) => rows<Row>(own.url, text, values)
    // 12 kB that do not compress: an index entry has 2,704 bytes.
    const random = seededRandom(4_000)
    const letter = () => String.fromCharCode(0x4e00 + Math.floor(random() * 20_000))
    const long = Array.from({ length: 4_000 }, letter).join('')
    await sql(RECORD, ['long', long])
    process.env.DB_URL = own.url
    const source = await new DataSource(createOrmConfig()).initialize()
    const applied = async () => {
      const found = await sql<{ name: string }>('SELECT name FROM migrations ORDER BY id')
      return found.map(({ name }) => name)
    }
    const shape = () => sql(SHAPE)
    const [names, before] = [await applied(), await shape()]
    try {
      const kept = names.findIndex((name) => name.startsWith(first))
      while ((await applied()).length > kept) await source.undoLastMigration({ transaction: 'all' })
      // What is written by the release before it, which leaves the shape to the trigger.
      await sql(RECORD, ['then', 'geojson'])
      expect(await sql('SELECT id FROM location_record WHERE geom IS NOT NULL')).toEqual([{ id: 'then' }])
      await source.runMigrations({ transaction: 'all' })
      expect([await applied(), await shape()]).toEqual([names, before])
      await sql(RECORD, ['again', `${long}!`])
      expect(await sql('SELECT id, location_type AS type FROM location_record ORDER BY id')).toEqual([
        { id: 'again', type: `${long}!` },
        { id: 'long', type: long },
        { id: 'then', type: 'geojson' },
      ])
    } finally {
      await source.destroy()
      await own.drop()
    }
  },
)

const planeOf = (geojson: object) => planeShape(readGeometry(geojson, 'location'))
/** As planar WKT, coordinates rounded. */
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

test('the shape that bbox queries meet, as PostGIS reads it', async () => {
  expect(await wkt({ type: 'Point', coordinates: [180, -17, 30] })).toBe('POINT(180 -17)')
  expect(
    await wkt({
      type: 'LineString',
      coordinates: [
        [179, 0],
        [-179, 1],
      ],
    }),
  ).toBe('MULTILINESTRING((179 0,180 0.5),(-180 0.5,-179 1))')
  expect(
    await wkt({
      type: 'LineString',
      coordinates: [
        [-179, 0],
        [-1, 0],
        [179, 0],
      ],
    }),
  ).toBe('LINESTRING(-179 0,-1 0,179 0)')
  expect(
    await wkt({
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: [1, 2] },
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [1, 0],
              [1, 1],
              [0, 0],
            ],
          ],
        },
      ],
    }),
  ).toBe('GEOMETRYCOLLECTION(POINT(1 2),POLYGON((0 0,1 0,1 1,0 0)))')
  const fiji = {
    type: 'Polygon',
    coordinates: [
      [
        [177, -19],
        [-178, -19],
        [-178, -16],
        [177, -16],
        [177, -19],
      ],
    ],
  }
  expect(await wkt(fiji)).toBe(
    'MULTIPOLYGON(((-183 -19,-178 -19,-178 -16,-183 -16,-183 -19)),((177 -19,182 -19,182 -16,177 -16,177 -19)))',
  )
  expect([
    await covers(fiji, [179.5, -17]),
    await covers(fiji, [-179.5, -17]),
    await covers(fiji, [0, -17]),
  ]).toEqual([true, true, false])
  const arctic = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 70],
        [120, 70],
        [-120, 70],
        [0, 70],
      ],
    ],
  }
  expect([
    await covers(arctic, [45, 89]),
    await covers(arctic, [-45, 75]),
    await covers(arctic, [45, 60]),
  ]).toEqual([true, true, false])
  const antarctic = {
    type: 'Polygon',
    coordinates: [
      [
        [0, -70],
        [-120, -70],
        [120, -70],
        [0, -70],
      ],
    ],
  }
  expect([await covers(antarctic, [45, -89]), await covers(antarctic, [45, -60])]).toEqual([true, false])
  // Latitudes that vary: the ring is no line on the plane, and still covers the pole.
  const wavy = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 70],
        [90, 75],
        [180, 72],
        [-90, 80],
        [0, 70],
      ],
    ],
  }
  expect([await covers(wavy, [-90, 89]), await covers(wavy, [10, 85]), await covers(wavy, [10, 60])]).toEqual(
    [true, true, false],
  )
  // The world as a rectangle: its edges are 360 degrees long, and cross nothing.
  const world = {
    type: 'Polygon',
    coordinates: [
      [
        [-180, -90],
        [180, -90],
        [180, 90],
        [-180, 90],
        [-180, -90],
      ],
    ],
  }
  expect(await covers(world, [33, 44])).toBe(true)
  // Each part for itself: one crosses the antimeridian, the other Greenwich.
  const both = {
    type: 'MultiPolygon',
    coordinates: [
      [
        [
          [170, -20],
          [-170, -20],
          [-170, -10],
          [170, -10],
          [170, -20],
        ],
      ],
      [
        [
          [-5, 40],
          [5, 40],
          [5, 50],
          [-5, 50],
          [-5, 40],
        ],
      ],
    ],
  }
  expect([
    await covers(both, [179, -15]),
    await covers(both, [-179, -15]),
    await covers(both, [0, 45]),
    await covers(both, [95, 45]),
  ]).toEqual([true, true, true, false])
  // A ring that crosses itself: both of its parts, and nothing else.
  const bowTie = {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [1, 0],
        [0, 1],
        [0, 0],
      ],
    ],
  }
  expect([
    await covers(bowTie, [0.1, 0.5]),
    await covers(bowTie, [0.9, 0.5]),
    await covers(bowTie, [0.5, 0.1]),
    await covers(bowTie, [1.1, 0.5]),
  ]).toEqual([true, true, false, false])
  const bowTieAcross = {
    type: 'Polygon',
    coordinates: [
      [
        [179, 0],
        [-179, 1],
        [-179, 0],
        [179, 1],
        [179, 0],
      ],
    ],
  }
  expect([
    await covers(bowTieAcross, [179.1, 0.5]),
    await covers(bowTieAcross, [-179.1, 0.5]),
    await covers(bowTieAcross, [0, 0.5]),
  ]).toEqual([true, true, false])
})

test('no shape makes a box query fail: rings that cross themselves, holes outside, lines without length (seeded)', async () => {
  const random = seededRandom(20_261_122)
  const one = (count: number) => Math.floor(random() * count)
  const at = () => [one(3) ? one(5) : [178, 179, 180, -180, -179][one(5)]!, one(5)]
  const ring = () => ((some) => [...some, some[0]!])(Array.from({ length: 3 + one(8) }, at))
  const kinds: (() => object)[] = [
    () => ({ type: 'Polygon', coordinates: Array.from({ length: 1 + one(3) }, ring) }),
    () => ({ type: 'MultiPolygon', coordinates: Array.from({ length: 1 + one(3) }, () => [ring()]) }),
    () => ({
      type: 'LineString',
      coordinates: one(4)
        ? ring()
        : [
            [1, 1],
            [1, 1],
          ],
    }),
    () => ({
      type: 'GeometryCollection',
      geometries: [
        { type: 'Point', coordinates: at() },
        { type: 'Polygon', coordinates: [ring()] },
      ],
    }),
  ]
  const shapes = Array.from({ length: 400 }, () => kinds[one(kinds.length)]!())
  const boxes = Array.from({ length: 24 }, () => {
    const [w, s] = at() as [number, number]
    // Without width or height half of the time.
    return [w, s, Math.min(180, w + one(3) * one(2)), s + one(3) * one(2)]
  })
  const box = envelope('w', 's', 'e', 'n')
  const [found] = await rows<{ met: number; of: number }>(
    database.url,
    `SELECT count(*) FILTER (WHERE ${meets('shape', box)})::int AS met, count(*)::int AS of
     FROM unnest($1::text[]) AS hex, LATERAL (SELECT hex::geometry AS shape) AS read, unnest($2::float8[], $3::float8[], $4::float8[], $5::float8[]) AS box (w, s, e, n)`,
    [shapes.map(planeOf), ...[0, 1, 2, 3].map((side) => boxes.map((each) => each[side]))],
  )
  expect(found!.of).toBe(400 * 24)
  expect(found!.met).toBeGreaterThan(1_000)
})
