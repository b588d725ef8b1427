import { booleanPointInPolygon, pointToPolygonDistance } from '@turf/turf'
import { createKeccak, type IHasher } from 'hash-wasm'
import type { MultiPolygon, Point, Polygon } from 'geojson'
import { Geodesic } from 'geographiclib-geodesic'
import type { Client } from 'pg'
import { parseBody } from '../api/http/body'
import {
  canonicalJson,
  contains,
  distanceMeters,
  liftCoordinates,
  prepareGeometry,
  readGeometry,
  readLifted,
  type PreparedGeometry,
  type Reading,
} from '../src/geodesy'
import { medianMs, percentile, type Bench, type Table } from './bench'
import { seededRandom } from '../dev/random'
import { SEED } from './points'

const VERTICES = [4, 1_000, 10_000, 100_000]
/** Number of rounds of each measurement. The result is their median. */
const ROUNDS = (vertices: number) =>
  vertices >= 100_000 ? 7 : vertices >= 10_000 ? 15 : vertices >= 1_000 ? 51 : 501

/**
 * Compares the geodesic kernel, @turf/turf (on a sphere or a plane) and PostGIS (on a sphere for the nearest
 * position, otherwise on a plane), with the same GeoJSON texts in the same run.
 */
export async function geodesy(bench: Bench): Promise<Table[]> {
  const keccak = await createKeccak(256)
  const postgis = await bench.connect(await bench.createDatabase())
  await postgis.query('CREATE EXTENSION postgis')
  return [
    await questions(bench, keccak, postgis),
    await polygons(bench, keccak, postgis),
    requests(bench, keccak),
  ]
}

/** Point and polygon: from the text to the result (cold), and with prepared geometries (warm). */
async function questions(bench: Bench, keccak: IHasher, postgis: Client): Promise<Table> {
  const rows: Table[number][] = []
  for (const vertices of VERTICES) {
    bench.report(`distance and contains, ${vertices} vertices ...`)
    const polygon = JSON.stringify(wobbly(vertices, [10, 50], 100_000))
    const [far, inside] = [
      JSON.stringify({ type: 'Point', coordinates: [13, 51] }),
      JSON.stringify({ type: 'Point', coordinates: [10.1, 50.1] }),
    ]
    const [warmPolygon, warmFar, warmInside] = [polygon, far, inside].map((text) =>
      prepareGeometry(readGeometry(JSON.parse(text), 'g')),
    ) as [PreparedGeometry, PreparedGeometry, PreparedGeometry]
    const rounds = ROUNDS(vertices)
    for (const [question, point, cold, warm, turf, sql] of [
      [
        'distance',
        far,
        (a, b) => distanceMeters(a, b),
        () => distanceMeters(warmPolygon, warmFar),
        (a, b) => pointToPolygonDistance(b, a, { units: 'meters' }),
        'SELECT ST_Distance(ST_GeomFromGeoJSON($1)::geography, ST_GeomFromGeoJSON($2)::geography)',
      ],
      [
        'contains',
        inside,
        (a, b) => contains(a, b),
        () => contains(warmPolygon, warmInside),
        (a, b) => booleanPointInPolygon(b, a),
        'SELECT ST_Contains(ST_GeomFromGeoJSON($1), ST_GeomFromGeoJSON($2))',
      ],
    ] as [
      string,
      string,
      (a: PreparedGeometry, b: PreparedGeometry) => unknown,
      () => unknown,
      (a: Polygon, b: Point) => unknown,
      string,
    ][]) {
      const coldMs = median(rounds, () => cold(...fromText(keccak, [polygon, point])))
      const many = Math.ceil(2_000 / vertices)
      const warmMicroseconds = (median(rounds, () => repeat(many, warm)) * 1_000) / many
      const turfMs = median(Math.min(rounds, 51), () =>
        turf(JSON.parse(polygon) as Polygon, JSON.parse(point) as Point),
      )
      const postgisMs = await medianMs(rounds, () =>
        postgis.query({ name: question, text: sql, values: [polygon, point] }),
      )
      const sameWork = sql.replace(
        'SELECT ',
        "SELECT ST_IsValid(ST_GeomFromGeoJSON($1)), sha256(convert_to($1, 'UTF8')), ",
      )
      const postgisValidatingMs = await medianMs(rounds, () =>
        postgis.query({ name: `${question} valid`, text: sameWork, values: [polygon, point] }),
      )
      rows.push({
        question,
        vertices,
        coldMs: round(coldMs),
        warmMicroseconds: round(warmMicroseconds),
        turfMs: round(turfMs),
        postgisMs: round(postgisMs),
        postgisValidatingMs: round(postgisValidatingMs),
        postgisToCold: round(postgisMs / coldMs),
        validatingToCold: round(postgisValidatingMs / coldMs),
      })
    }
  }
  return rows
}

/** Two polygons of the same size, side by side. turf has no such function. */
async function polygons(bench: Bench, keccak: IHasher, postgis: Client): Promise<Table> {
  const rows: Table[number][] = []
  for (const vertices of VERTICES.slice(0, 3)) {
    bench.report(`polygon to polygon, ${vertices} vertices each ...`)
    const texts = [wobbly(vertices, [10, 50], 100_000), wobbly(vertices, [13, 51], 80_000)].map((polygon) =>
      JSON.stringify(polygon),
    ) as [string, string]
    const [a, b] = texts.map((text) => prepareGeometry(readGeometry(JSON.parse(text), 'g'))) as [
      PreparedGeometry,
      PreparedGeometry,
    ]
    const coldMs = median(ROUNDS(vertices), () => distanceMeters(...fromText(keccak, texts)))
    const warmMs = median(ROUNDS(vertices), () => distanceMeters(a, b))
    const [{ stored }] = (
      await postgis.query<{ stored: string }>("SELECT 'polygons_' || $1 AS stored", [vertices])
    ).rows as [{ stored: string }]
    await postgis.query(
      `CREATE TABLE ${stored} AS SELECT ST_GeomFromGeoJSON('${texts[0]}')::geography AS a, ST_GeomFromGeoJSON('${texts[1]}')::geography AS b`,
    )
    const postgisColdMs = await medianMs(ROUNDS(vertices), () =>
      postgis.query(
        'SELECT ST_Distance(ST_GeomFromGeoJSON($1)::geography, ST_GeomFromGeoJSON($2)::geography)',
        texts,
      ),
    )
    const postgisStoredMs = await medianMs(ROUNDS(vertices), () =>
      postgis.query(`SELECT ST_Distance(a, b) FROM ${stored}`),
    )
    const itselfMs = median(3, () => contains(a, a))
    rows.push({
      question: 'distance',
      vertices,
      coldMs: round(coldMs),
      warmMs: round(warmMs),
      postgisColdMs: round(postgisColdMs),
      postgisStoredMs: round(postgisStoredMs),
      postgisToCold: round(postgisColdMs / coldMs),
      storedToWarm: round(postgisStoredMs / warmMs),
      containsItselfMs: round(itselfMs),
    })
  }
  return rows
}

/** Times of the steps of a request: parse, read, hash, validate, index. */
function fromText(keccak: IHasher, texts: readonly [string, string]): [PreparedGeometry, PreparedGeometry]
function fromText(keccak: IHasher, texts: readonly string[]): PreparedGeometry[]
function fromText(keccak: IHasher, texts: readonly string[]): PreparedGeometry[] {
  return texts.map((text) => prepared(keccak, inOnePass(Buffer.from(text))))
}

interface Read {
  reading: Reading
  json: readonly (string | Uint8Array)[]
}

function prepared(keccak: IHasher, { reading, json }: Read): PreparedGeometry {
  keccak.init()
  for (const part of json) keccak.update(part)
  keccak.digest('hex')
  return prepareGeometry(reading)
}

function usual(body: Buffer): Read {
  const reading = readGeometry(parseBody(body), 'g')
  return { reading, json: [canonicalJson(reading)] }
}

function inOnePass(body: Buffer): Read {
  const lifted = liftCoordinates(body)
  if (!lifted) return usual(body)
  const { reading, json } = readLifted(parseBody(Buffer.from(lifted.rest)), 'g', lifted)
  return { reading, json: json() }
}

/**
 * Point and polygons of 10,000 vertices, a new polygon for each measurement, from bytes to `contains`: by
 * readGeometry, and in one pass.
 */
function requests(bench: Bench, keccak: IHasher): Table {
  const random = seededRandom(SEED)
  const decimals: [string, (value: number) => string][] = [
    ['7', (value) => value.toFixed(7)],
    ['5 to 15', (value) => value.toFixed(5 + Math.floor(random() * 11))],
    ['as doubles print', String],
    ['15', (value) => value.toFixed(15)],
  ]
  return decimals.map(([written, print]) => {
    bench.report(`a request with 10,000 vertices, decimals: ${written} ...`)
    const bodies = Array.from({ length: 15 }, (_, i) => {
      const { coordinates } = wobbly(10_000, [10 + i, 50], 100_000 + i) as Polygon
      const ring = coordinates[0]!.slice(1).map((position) => `[${position.map(print).join()}]`)
      return Buffer.from(`{"type":"Polygon","coordinates":[[${ring[ring.length - 1]},${ring.join()}]]}`)
    })
    const times = {
      usualReading: [] as number[],
      onePassReading: [] as number[],
      usual: [] as number[],
      onePass: [] as number[],
    }
    const time = (name: keyof typeof times, work: () => unknown) => times[name].push(timed(work))
    for (let round = 0; round < 4; round++)
      for (const [i, body] of bodies.entries()) {
        const point = prepareGeometry(readGeometry({ type: 'Point', coordinates: [10.1 + i, 50.1] }, 'p'))
        time('usualReading', () => usual(body))
        time('onePassReading', () => inOnePass(body))
        time('usual', () => contains(prepared(keccak, usual(body)), point))
        time('onePass', () => contains(prepared(keccak, inOnePass(body)), point))
      }
    const [usualReadingMs, onePassReadingMs, usualMs, onePassMs] = Object.values(times).map((each) =>
      percentile(each, 0.5),
    ) as [number, number, number, number]
    return {
      decimals: written,
      bytes: bodies[0]!.length,
      ...{ usualReadingMs: round(usualReadingMs), onePassReadingMs: round(onePassReadingMs) },
      ...{ usualMs: round(usualMs), onePassMs: round(onePassMs), usualToOnePass: round(usualMs / onePassMs) },
    }
  })
}

/** A ring of this many vertices around a position, whose radius varies by a tenth. */
function wobbly(vertices: number, [lon, lat]: [number, number], radius: number): Polygon | MultiPolygon {
  const random = seededRandom(SEED)
  const phases = Array.from({ length: 5 }, () => random() * 2 * Math.PI)
  const ring = Array.from({ length: vertices }, (_, i) => {
    const angle = (i / vertices) * 2 * Math.PI
    const wobble = phases.reduce((sum, phase, k) => sum + Math.sin((k + 2) * angle + phase) / 50, 0)
    const { lat2, lon2 } = Geodesic.WGS84.Direct(lat, lon, (angle * 180) / Math.PI, radius * (1 + wobble))
    return [lon2!, lat2!]
  })
  return { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
}

function repeat(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work()
}

/** Median in milliseconds. */
function median(rounds: number, work: () => unknown): number {
  const times: number[] = []
  for (let i = 0; i < rounds; i++) times.push(timed(work))
  return percentile(times, 0.5)
}

/** Duration in milliseconds. */
function timed(work: () => unknown): number {
  const started = performance.now()
  work()
  return performance.now() - started
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}
