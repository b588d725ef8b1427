// SPDX-License-Identifier: MIT
import { spend } from './effort'
import { GeometryError } from './error'
import { Kind, type Reading } from './geojson'
import { FLATTENING, RADIANS, geodesicLine, inverse, longestArc } from './ellipsoid'
import type { Chain, Polygon, Shape } from './shape'
import { BoxTree } from './tree'
import { chord, normalLongitude, squaredChord, toCartesian, type Vertices } from './vertices'

/** Longer edges, metres, are cut into equal pieces, so that the bounds for short geodesics hold for all. */
const LONGEST_EDGE = 2_000_000
/** Squared chord below which an edge is shorter than LONGEST_EDGE: its arc is below 1.005 of its chord. */
const CERTAINLY_SHORT = 3.6e12

const AXES = ['lon', 'lat', 'x', 'y', 'z'] as const
const LINKS = ['from', 'to', 'chainOf', 'origin'] as const

/** Shape that grows by positions and edges. */
export class Builder implements Vertices {
  private vertices = 0
  elements = 0
  lon: Float64Array
  lat: Float64Array
  x: Float64Array
  y: Float64Array
  z: Float64Array
  private from: Uint32Array
  private to: Uint32Array
  private chainOf: Uint32Array
  private origin: Uint32Array

  constructor(capacity: number) {
    this.lon = new Float64Array(capacity)
    this.lat = new Float64Array(capacity)
    this.x = new Float64Array(capacity)
    this.y = new Float64Array(capacity)
    this.z = new Float64Array(capacity)
    this.from = new Uint32Array(capacity)
    this.to = new Uint32Array(capacity)
    this.chainOf = new Uint32Array(capacity)
    this.origin = new Uint32Array(capacity)
  }

  points({ lon, lat }: Reading, start: number, end: number, chain: number): void {
    for (let i = start; i < end; i++) {
      const vertex = this.vertex(lon[i]!, lat[i]!)
      this.element(vertex, vertex, chain, i - start)
    }
  }

  chain({ lon, lat }: Reading, start: number, end: number, kind: Kind, path: string, chain: number): void {
    if (kind === Kind.Ring && isOneMeridian(lon.subarray(start, end)))
      throw new GeometryError(path, ONE_MERIDIAN)
    // Indices of the input's positions without repeated positions. The closing position of a ring stays.
    let previous = start
    let distinct = 1
    const first = this.elements
    let vertex = -1
    for (let i = start + 1; i < end; i++) {
      if (samePlace(lon[previous]!, lat[previous]!, lon[i]!, lat[i]!)) continue
      if (vertex < 0)
        vertex = this.vertex(Math.abs(lat[previous]!) === 90 ? lon[i]! : lon[previous]!, lat[previous]!)
      vertex = this.edge(vertex, lon[i]!, lat[i]!, chain, i - 1 - start, path)
      previous = i
      distinct++
    }
    if (kind === Kind.Line && vertex < 0) {
      vertex = this.vertex(lon[start]!, lat[start]!)
      this.element(vertex, vertex, chain, 0)
    }
    if (kind === Kind.Ring) {
      // The closing position repeats the first one, so a ring of three distinct positions has four.
      if (distinct < 4)
        throw new GeometryError(
          path,
          `a ring needs at least 3 distinct positions, got ${Math.max(1, distinct - 1)}`,
        )
      // At a pole, the last edge arrives along one meridian, and the first edge leaves along another.
      const opening = this.from[first]!
      if (Math.abs(this.lat[opening]!) === 90 && this.lon[opening] !== this.lon[vertex]) {
        const closing = this.vertex(this.lon[opening]!, this.lat[opening]!)
        this.element(vertex, closing, chain, previous - start)
      }
    }
  }

  /** Adds the edge to a position, with a vertex on each side of a pole. Returns the vertex at its end. */
  private edge(a: number, lon: number, lat: number, chain: number, origin: number, path: string): number {
    const lonA = this.lon[a]!
    const latA = this.lat[a]!
    if (Math.abs(lat) === 90) {
      if (Math.abs(latA) === 90) throw noUniquePath(path, origin)
      // An edge to a pole follows the meridian.
      return this.simpleEdge(a, lonA, lat, chain, origin)
    }
    if (Math.abs(latA) === 90 && lonA !== normalLongitude(lon)) {
      // An edge from a pole follows the meridian, so it starts at a vertex with that longitude.
      a = this.join(a, this.vertex(lon, latA), chain, origin)
    } else if (Math.abs(normalLongitude(lon) - lonA) === 180 && Math.abs(latA) !== 90) {
      if (latA === -lat) throw noUniquePath(path, origin)
      const pole = latA + lat > 0 ? 90 : -90
      const arrival = this.simpleEdge(a, lonA, pole, chain, origin)
      a = this.join(arrival, this.vertex(lon, pole), chain, origin)
    }
    return this.simpleEdge(a, lon, lat, chain, origin, path)
  }

  private simpleEdge(
    a: number,
    lon: number,
    lat: number,
    chain: number,
    origin: number,
    path?: string,
  ): number {
    let b = this.vertex(lon, lat)
    if (squaredChord(this, a, this, b) > CERTAINLY_SHORT && longestArc(chord(this, a, b)) > LONGEST_EDGE) {
      const { distance, azimuthA, azimuthB } = inverse(this.lon[a]!, this.lat[a]!, lon, lat)
      // Between near antipodes that mirror each other at the equator there are two paths. Their lengths
      // differ by twice this shift in latitude, unless the path along the equator is shorter.
      const turn = Math.abs(lon - this.lon[a]!)
      const northward = Math.abs(Math.cos(azimuthA * RADIANS))
      if (
        path !== undefined &&
        distance > 19_900_000 &&
        Math.abs(180 - turn) < 180 * FLATTENING &&
        Math.abs(this.lat[a]! + lat) * 111_700 * northward < 0.01 &&
        northward > 1e-9
      )
        throw noUniquePath(path, origin)
      const pieces = Math.ceil(distance / LONGEST_EDGE)
      // Both directions of an edge are cut at the same positions, so that coinciding edges still coincide.
      const back = this.lon[a]! > this.lon[b]! || (this.lon[a] === this.lon[b] && this.lat[a]! > lat)
      const line = back
        ? geodesicLine(this.lon[b]!, lat, azimuthB + 180)
        : geodesicLine(this.lon[a]!, this.lat[a]!, azimuthA)
      const meridional = this.lon[a] === this.lon[b]
      this.vertices-- // the end is added after the cut positions
      for (let i = 1; i < pieces; i++) {
        const place = line((distance * (back ? pieces - i : i)) / pieces)
        a = this.join(a, this.vertex(meridional ? this.lon[a]! : place.lon, place.lat), chain, origin)
      }
      b = this.vertex(lon, lat)
    }
    return this.join(a, b, chain, origin)
  }

  join(a: number, b: number, chain: number, origin: number): number {
    this.element(a, b, chain, origin)
    return b
  }

  vertex(lon: number, lat: number): number {
    if (this.vertices === this.lon.length) for (const axis of AXES) this[axis] = doubled(this[axis])
    spend(0.3)
    const i = this.vertices++
    this.lon[i] = normalLongitude(lon)
    this.lat[i] = lat
    toCartesian(this.lon[i], lat, this, i)
    return i
  }

  private element(from: number, to: number, chain: number, origin: number): void {
    if (this.elements === this.from.length) for (const link of LINKS) this[link] = doubled(this[link])
    const i = this.elements++
    this.from[i] = from
    this.to[i] = to
    this.chainOf[i] = chain
    this.origin[i] = origin
  }

  finish(path: string, chains: Chain[], polygons: Polygon[]): Shape {
    const { lon, lat, x, y, z, from, to, chainOf, origin, elements } = this
    const used = (array: Uint32Array) => (array.length === elements ? array : array.subarray(0, elements))
    const links = { from: used(from), to: used(to), chainOf: used(chainOf), origin: used(origin) }
    const parts = { lon, lat, x, y, z, ...links }
    const ringsEnd = chains.findLast(({ kind }) => kind === Kind.Ring)?.end ?? 0
    return { path, ...parts, chains, polygons, ringsEnd, tree: new BoxTree(parts) }
  }
}

/** Copy of an array with twice its length; the second half is 0. */
function doubled<T extends Float64Array | Uint32Array>(array: T): T {
  const grown = new (array.constructor as new (length: number) => T)(array.length * 2)
  grown.set(array)
  return grown
}

/** Degrees below which latitudes or longitudes are equal: a tenth of a nanometre. */
const SAME = 1e-15

function samePlace(lonA: number, latA: number, lonB: number, latB: number): boolean {
  return (
    Math.abs(latA - latB) < SAME &&
    (Math.abs(latA) === 90 || Math.abs(normalLongitude(lonA) - normalLongitude(lonB)) < SAME)
  )
}

const ONE_MERIDIAN =
  '-180 and 180 are one meridian, so this ring encloses nothing; draw a band around the world as polygons of up to 120 degrees each'

/** True for longitudes that are all 180 or -180, and not all the same. */
function isOneMeridian(longitudes: Float64Array): boolean {
  const [first = NaN] = longitudes
  return (
    Math.abs(first) === 180 &&
    longitudes.every((each) => Math.abs(each) === 180) &&
    longitudes.includes(-first)
  )
}

function noUniquePath(path: string, position: number): GeometryError {
  return new GeometryError(
    `${path}[${position}]`,
    'this position and the next are antipodal, so no unique shortest path joins them; insert a position between them',
  )
}
