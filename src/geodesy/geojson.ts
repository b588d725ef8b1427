// SPDX-License-Identifier: MIT
import type { Position } from 'geojson'
import { degreesProblem, inRange } from './degrees'
import { GeometryError } from './error'
import { Positions, positionAt, type Numbers } from './positions'
import { Run, type CoordinateList, type Lifted } from './scan'

/** Kind of a chain of vertices: separate points, a line, or a ring of a polygon. */
export const enum Kind {
  Points,
  Line,
  Ring,
}

/** Maximum number of positions (docs/spec/geodesy.md 4), without closing positions of rings. */
const MAX_POSITIONS = 100_000
const TOO_MANY = `expected at most ${MAX_POSITIONS} positions`
/** Maximum nesting of collections. Deeper ones are refused before the recursion descends. */
const MAX_NESTING = 8

/** By type: kind of the innermost lists, and nesting depth of positions (0: `coordinates` is a position). */
const SIMPLE_TYPES = {
  Point: [Kind.Points, 0],
  MultiPoint: [Kind.Points, 1],
  LineString: [Kind.Line, 1],
  MultiLineString: [Kind.Line, 2],
  Polygon: [Kind.Ring, 2],
  MultiPolygon: [Kind.Ring, 3],
} as const
export type SimpleType = keyof typeof SIMPLE_TYPES
const KNOWN_TYPES = `${Object.keys(SIMPLE_TYPES).join(', ')}, GeometryCollection, Feature, FeatureCollection`

/** Names in a legacy `crs` member that mean the same as RFC 7946. */
const WGS84_NAMES =
  /^(?:(?:(?:urn:ogc:def:crs:)?OGC:(?:1\.3|0)?:?|https?:\/\/www\.opengis\.net\/def\/crs\/OGC\/(?:1\.3|0)\/)?CRS84|(?:urn:ogc:def:crs:EPSG:[\d.]*:|EPSG:)4326)$/i

/** Run of positions: the points of a Point or MultiPoint, a line, or a ring with its closing position. */
export interface SourceChain {
  kind: Kind
  /** index of its first position, and the index after its last */
  start: number
  end: number
  /** index of its polygon, counted over the whole geometry; -1 for points and lines */
  polygon: number
  /** path in the client's input, such as `from.coordinates[0]` */
  path: string
}

/** Structure of a geometry: chains under a type, or parts. */
export type Layout = SimpleLayout | { type: 'GeometryCollection'; parts: Layout[] }
export interface SimpleLayout {
  type: SimpleType
  firstChain: number
  endChain: number
}

/** A geometry after reading: well-formed and in range. Flat arrays move to other threads without copying. */
export interface Reading extends Numbers {
  /** name of the geometry in error paths */
  path: string
  layout: Layout
  chains: SourceChain[]
}

/**
 * Reads a GeoJSON geometry (RFC 7946) from parsed JSON in one pass: a geometry object, a Feature, or a
 * FeatureCollection of one feature. Throws a GeometryError for anything malformed or out of range. The
 * error's path begins with `path`. `prepareGeometry` checks that polygons have an unambiguous inside.
 */
export function readGeometry(value: unknown, path: string): Reading {
  return new Reader(path).read(value)
}

/**
 * Reads a geometry from JSON whose coordinates were lifted (scan.ts), like `readGeometry`, and returns its
 * canonical JSON in parts, so that the coordinates are not copied. Messages of errors differ.
 */
export function readLifted(
  value: unknown,
  path: string,
  lifted: Lifted,
): { reading: Reading; json: () => (string | Uint8Array)[] } {
  const reader = new Reader(path, lifted)
  const reading = reader.read(value)
  return { reading, json: () => layoutJson(reading.layout, (layout) => reader.lists.get(layout)!.text) }
}

class Reader {
  private readonly positions = new Positions()
  /** number of closing positions of rings, which are part of the lists */
  private closings = 0
  private polygons = 0
  private readonly chains: SourceChain[] = []
  /** Lifted lists of coordinates, by layout. */
  readonly lists = new Map<SimpleLayout, CoordinateList>()

  constructor(
    private readonly path: string,
    private readonly lifted?: Lifted,
  ) {}

  read(value: unknown): Reading {
    const layout = this.geometry(value, this.path, 0)
    return { path: this.path, layout, ...this.positions.numbers(), chains: this.chains }
  }

  private geometry(value: unknown, path: string, nesting: number): Layout {
    if (!isObject(value))
      throw new GeometryError(
        path,
        `expected a GeoJSON object with type and coordinates, got ${describe(value)}`,
      )
    if (nesting > MAX_NESTING)
      throw new GeometryError(path, `expected at most ${MAX_NESTING} levels of nesting`)
    checkCrs(value, path)
    const { type } = value
    if (type === 'Feature') return this.geometry(value.geometry, `${path}.geometry`, nesting + 1)
    if (type === 'FeatureCollection') {
      const { features } = value
      if (!Array.isArray(features) || features.length !== 1)
        throw new GeometryError(
          `${path}.features`,
          `expected exactly one feature, got ${Array.isArray(features) ? features.length : describe(features)}`,
        )
      return this.geometry(features[0], `${path}.features[0]`, nesting + 1)
    }
    if (type === 'GeometryCollection') {
      const { geometries } = value
      if (!Array.isArray(geometries) || geometries.length === 0)
        throw new GeometryError(
          `${path}.geometries`,
          `expected a non-empty array of geometries, got ${describe(geometries)}`,
        )
      return {
        type,
        parts: geometries.map((part, i) => this.geometry(part, `${path}.geometries[${i}]`, nesting + 1)),
      }
    }
    if (!isSimpleType(type))
      throw new GeometryError(`${path}.type`, `expected one of ${KNOWN_TYPES}, got ${describe(type)}`)
    const at = `${path}.coordinates`
    const [kind, depth] = SIMPLE_TYPES[type]
    const list = this.lifted && liftedList(this.lifted, value.coordinates)
    if (list && list.depth !== depth)
      throw new GeometryError(at, `expected coordinates nested as in a ${type}`)
    const coordinates = list ? list.runs : value.coordinates
    const firstChain = this.chains.length
    if (type === 'Point')
      this.chain(coordinates instanceof Run ? coordinates : [coordinates], kind, at, -1, () => at)
    else this.nested(coordinates, at, depth, kind, -1)
    const layout = { type, firstChain, endChain: this.chains.length }
    if (list) this.lists.set(layout, list)
    return layout
  }

  private nested(value: unknown, path: string, depth: number, kind: Kind, polygon: number): void {
    if (value instanceof Run) return this.chain(value, kind, path, polygon)
    if (!Array.isArray(value) || value.length === 0)
      throw new GeometryError(path, `expected a non-empty array, got ${describe(value)}`)
    // A list of rings is one polygon.
    if (kind === Kind.Ring && depth === 2) polygon = this.polygons++
    if (depth === 1) this.chain(value, kind, path, polygon)
    else
      for (let i = 0; i < value.length; i++) this.nested(value[i], `${path}[${i}]`, depth - 1, kind, polygon)
  }

  private chain(
    given: unknown[] | Run,
    kind: Kind,
    path: string,
    polygon: number,
    pathOf = (i: number) => `${path}[${i}]`,
  ): void {
    const { positions } = this
    const start = positions.count
    if (given instanceof Run) positions.addAll(this.lifted!, given.start, given.end)
    else this.addPositions(given, kind, pathOf)
    const length = positions.count - start
    if (kind === Kind.Line && length < 2)
      throw new GeometryError(path, `a line needs at least 2 positions, got ${length}`)
    if (kind === Kind.Ring) {
      checkClosed(positions, start, path)
      this.closings++
    }
    if (positions.count - this.closings > MAX_POSITIONS) throw new GeometryError(path, TOO_MANY)
    this.chains.push({ kind, start, end: positions.count, polygon, path })
  }

  private addPositions(given: unknown[], kind: Kind, pathOf: (i: number) => string): void {
    for (let i = 0; i < given.length; i++) {
      const position = given[i]
      const problem = positionProblem(position)
      if (problem) throw new GeometryError(pathOf(i), problem)
      const closing = kind === Kind.Ring && i > 0 && i === given.length - 1
      if (!closing && this.positions.count - this.closings === MAX_POSITIONS)
        throw new GeometryError(pathOf(i), TOO_MANY)
      if (i === 0) this.positions.reserve(given.length)
      const numbers = position as Position
      this.positions.add(
        inRange(numbers[0]!, 180),
        inRange(numbers[1]!, 90),
        numbers.length === 3 ? numbers[2]! : NaN,
      )
    }
  }
}

function isSimpleType(type: unknown): type is SimpleType {
  return typeof type === 'string' && Object.hasOwn(SIMPLE_TYPES, type)
}

/** Lifted coordinates that an index in `value` refers to. */
function liftedList({ lists }: Lifted, value: unknown): CoordinateList | undefined {
  return Array.isArray(value) ? lists[value.flat(Infinity)[0] as number] : undefined
}

function positionProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3)
    return `expected a position [longitude, latitude] or [longitude, latitude, altitude], got ${describe(value)}`
  for (let i = 0; i < value.length; i++)
    if (typeof value[i] !== 'number' || !Number.isFinite(value[i]))
      return `expected finite numbers in [longitude, latitude], got ${describe(value[i])}`
  return degreesProblem(...(value as [number, number]))
}

/** Checks that the last ring read is closed. */
function checkClosed(positions: Positions, start: number, path: string): void {
  const length = positions.count - start
  if (length < 4)
    throw new GeometryError(
      path,
      `a ring needs at least 4 positions, the last equal to the first; got ${length}`,
    )
  const [first, last] = [positionAt(positions, start), positionAt(positions, positions.count - 1)]
  // Altitudes of the two positions may differ.
  if (first[0] !== last[0] || first[1] !== last[1])
    throw new GeometryError(
      path,
      `a ring must end where it starts: the last position must equal the first, ${JSON.stringify(first.slice(0, 2))}, got ${JSON.stringify(last.slice(0, 2))}`,
    )
}

function checkCrs(value: Record<string, unknown>, path: string): void {
  const { crs } = value
  if (crs === undefined || crs === null) return
  const properties = isObject(crs) ? crs.properties : undefined
  const name = isObject(properties) ? properties.name : undefined
  if (typeof name !== 'string' || !WGS84_NAMES.test(name))
    throw new GeometryError(
      `${path}.crs`,
      'expected WGS84 longitude and latitude (CRS84 or EPSG:4326); remove crs',
    )
}

/**
 * Canonical JSON of a geometry, of which the input reference is the keccak256: sorted keys, no spaces,
 * numbers as in RFC 8785 (-0 is 0), and only `type` and `coordinates` or `geometries`.
 */
export function canonicalJson(reading: Reading): string {
  return layoutJson(reading.layout, ({ type, firstChain, endChain }) =>
    coordinatesJson(reading, type, reading.chains.slice(firstChain, endChain)),
  ).join('')
}

/** Canonical JSON in parts: text, and the coordinates in the form that `coordinates` returns. */
function layoutJson<Part>(layout: Layout, coordinates: (layout: SimpleLayout) => Part): (string | Part)[] {
  if (layout.type !== 'GeometryCollection')
    return ['{"coordinates":', coordinates(layout), `,"type":"${layout.type}"}`]
  const parts = layout.parts.flatMap((part, i) => [...(i ? [','] : []), ...layoutJson(part, coordinates)])
  return ['{"geometries":[', ...parts, '],"type":"GeometryCollection"}']
}

function coordinatesJson(reading: Reading, type: SimpleType, chains: readonly SourceChain[]): string {
  const [first, ...others] = chains.map((chain) => positionsJson(reading, chain))
  const [, depth] = SIMPLE_TYPES[type]
  // Only in a MultiPolygon, chains may belong to different polygons.
  const text = others.reduce(
    (before, list, i) => `${before}]${chains[i]!.polygon === chains[i + 1]!.polygon ? ',' : '],['}[${list}`,
    first!,
  )
  return `${'['.repeat(depth)}${text}${']'.repeat(depth)}`
}

/** JSON as in RFC 8785. JSON.stringify is five times as fast as joining numbers. */
function positionsJson(reading: Reading, { start, end }: SourceChain): string {
  const positions: Position[] = []
  for (let i = start; i < end; i++) positions.push(positionAt(reading, i))
  return JSON.stringify(positions).slice(1, -1)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Short description of an unexpected value, safe in a message whatever its size. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isObject(value)) return 'an object'
  // JSON.parse reads 1e999 as Infinity.
  if (value === Infinity || value === -Infinity) return 'a number beyond 1.8e308'
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `${value}`
  const text = typeof value === 'string' ? JSON.stringify(value) : `a ${typeof value}`
  return text.length > 40 ? `${text.slice(0, 40).replace(/\p{Surrogate}/gu, '\ufffd')}...` : text
}
