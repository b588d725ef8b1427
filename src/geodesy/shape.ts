// SPDX-License-Identifier: MIT
import { spend } from './effort'
import { GeometryError } from './error'
import { Kind, type Reading, type SourceChain } from './geojson'
import { FLATTENING, RADIANS, geodesicLine, inverse, longestArc } from './ellipsoid'
import { BoxTree, type Indexed } from './tree'
import { chord, normalLongitude, squaredChord, toCartesian, type Vertices } from './vertices'

/**
 * Edges longer than this, metres, are cut into equal pieces, so that the bounds for short geodesics hold for
 * all edges that the kernel compares.
 */
const LONGEST_EDGE = 2_000_000
/**
 * Squared chord below which an edge is certainly shorter than LONGEST_EDGE: its arc is less than 1.005 of its
 * chord.
 */
const CERTAINLY_SHORT = 3.6e12

export interface Chain {
  kind: Kind
  /** first element, and the element after the last */
  start: number
  end: number
  /** index of its polygon; -1 for points and lines */
  polygon: number
  /** path in the client's input, such as `from.coordinates[0]` */
  path: string
  /** for a ring: true if its polygon lies outside its smaller side */
  isHole?: boolean
}

/** Polygon of a shape: the range of chains that are its rings, a shell first. */
export interface Polygon {
  firstChain: number
  endChain: number
}

/**
 * A geometry prepared for measuring, in flat arrays: without repeated vertices, with a vertex where an edge
 * passes a pole, and with long edges cut. An element is an edge (`from` and `to` differ) or a single position
 * (`from` and `to` are equal).
 */
export interface Shape extends Indexed {
  /** name of the geometry in error messages */
  path: string
  /** by element: its chain, and the index in the chain's input of the position at its start */
  chainOf: Uint32Array
  origin: Uint32Array
  /** polygons come first, so that their elements are those before `ringsEnd` */
  chains: Chain[]
  polygons: Polygon[]
  ringsEnd: number
}

/**
 * Builds the shape of a geometry. Throws a GeometryError for edges without a unique shortest path and rings
 * without an inside.
 */
export function buildShape(reading: Reading): Shape {
  const builder = new Builder(reading.lon.length + (reading.chains.every(isPoints) ? 0 : SPARE_VERTICES))
  const chains: Chain[] = []
  const polygons: Polygon[] = []
  const sources = [
    ...reading.chains.filter(({ kind }) => kind === Kind.Ring),
    ...reading.chains.filter(({ kind }) => kind !== Kind.Ring),
  ]
  for (const source of sources) {
    const start = builder.elements
    if (source.kind === Kind.Points) builder.points(reading, source.start, source.end, chains.length)
    else builder.chain(reading, source.start, source.end, source.kind, source.path, chains.length)
    const isHole = polygons[source.polygon] !== undefined
    if (source.polygon >= 0) {
      polygons[source.polygon] ??= { firstChain: chains.length, endChain: chains.length }
      polygons[source.polygon]!.endChain = chains.length + 1
    }
    chains.push({ ...source, start, end: builder.elements, isHole })
  }
  return builder.finish(reading.path, chains, polygons)
}

/**
 * Spare room for the vertices that long edges and poles add, so that the arrays need not grow. Points add
 * none: arrays of up to eight points then stay at 64 bytes, which V8 allocates in its own heap, fifteen times
 * as fast.
 */
const SPARE_VERTICES = 16

function isPoints({ kind }: SourceChain): boolean {
  return kind === Kind.Points
}

/** Index of the polygon that an element belongs to; -1 for points and lines. */
export function polygonOf({ chains, chainOf }: Shape, element: number): number {
  return chains[chainOf[element]!]!.polygon
}

/**
 * Path in the client's input of the position at the start of an element, such as `from.coordinates[0][3]`.
 */
export function pathOf({ chains, chainOf, origin }: Shape, element: number): string {
  return `${chains[chainOf[element]!]!.path}[${origin[element]}]`
}

/** A position in degrees. */
export interface Place {
  lon: number
  lat: number
}

/** Key of a position by its numbers. A pole has a different key on each meridian. */
export function keyOf({ lon, lat }: Place): string {
  return `${lon},${lat}`
}

/** True if an element is a turn at a pole from one meridian to another. */
export function isTurn({ lat, from, to }: Shape, element: number): boolean {
  return Math.abs(lat[from[element]!]!) === 90 && lat[from[element]!] === lat[to[element]!]
}

/** Next element in the same ring. */
export function nextInRing({ chains, chainOf }: Shape, element: number): number {
  const { start, end } = chains[chainOf[element]!]!
  return element + 1 === end ? start : element + 1
}

/** True if two shapes have the same chains of the same positions, in the same order. */
export function isSameShape(a: Shape, b: Shape): boolean {
  if (a === b) return true
  const sameChain = (p: Chain, q: Chain | undefined) =>
    p.kind === q?.kind && p.polygon === q.polygon && p.isHole === q.isHole && p.end === q.end
  const sameEnd = (v: number, w: number) => a.lon[v] === b.lon[w] && a.lat[v] === b.lat[w]
  return (
    a.from.length === b.from.length &&
    a.chains.length === b.chains.length &&
    a.chains.every((chain, c) => sameChain(chain, b.chains[c])) &&
    a.from.every((v, e) => sameEnd(v, b.from[e]!) && sameEnd(a.to[e]!, b.to[e]!))
  )
}

/** True if a ring passes a position twice. */
export function comesBack({ lon, lat, from, chains }: Shape, chain: number): boolean {
  const { start, end } = chains[chain]!
  const places = from.slice(start, end).sort((v, w) => lat[v]! - lat[w]! || lon[v]! - lon[w]!)
  return places.some(
    (v, i) =>
      i > 0 && lat[v] === lat[places[i - 1]!] && (lon[v] === lon[places[i - 1]!] || Math.abs(lat[v]!) === 90),
  )
}

/** A position on an element. `along` grows along the element, on one scale for all cuts of it. */
export interface Cut extends Place {
  along: number
}

/**
 * Builds a shape of closed loops, each from its first position back to it. Edges are copied unchanged: none
 * is cut or passes a pole.
 */
export function buildLoops(path: string, loops: readonly (readonly Place[])[]): Shape {
  const builder = new Builder(loops.reduce((sum, loop) => sum + loop.length, 16))
  const chains = loops.map((loop, c): Chain => {
    const start = builder.elements
    let vertex = builder.vertex(loop[0]!.lon, loop[0]!.lat)
    for (let i = 1; i < loop.length; i++)
      vertex = builder.join(vertex, builder.vertex(loop[i]!.lon, loop[i]!.lat), c, 0)
    return { kind: Kind.Ring, start, end: builder.elements, polygon: 0, path }
  })
  return builder.finish(path, chains, [{ firstChain: 0, endChain: chains.length }])
}

/** A chain and its shape. */
export interface ChainOf {
  shape: Shape
  chain: Chain
}

/** Builds a shape of chains of other shapes. Their edges are copied unchanged. */
export function joinChains(path: string, sources: readonly ChainOf[], polygons: Polygon[]): Shape {
  const builder = new Builder(sources.reduce((sum, { chain }) => sum + chain.end - chain.start + 1, 0))
  const chains = sources.map(({ shape, chain }, c) => {
    const { lon, lat, from, to, origin } = shape
    const start = builder.elements
    let vertex = -1
    for (let e = chain.start; e < chain.end; e++) {
      const [a, b] = [from[e]!, to[e]!]
      if (vertex < 0 || a === b) vertex = builder.vertex(lon[a]!, lat[a]!)
      vertex = builder.join(vertex, a === b ? vertex : builder.vertex(lon[b]!, lat[b]!), c, origin[e]!)
    }
    return { ...chain, start, end: builder.elements }
  })
  return builder.finish(path, chains, polygons)
}

/**
 * Returns the shape with some elements cut at the given positions.
 * @param placeOf returns the position that a vertex or cut moves to: one object for all that merge. Elements
 *   without length are left out
 */
export function splitShape(
  shape: Shape,
  cuts: ReadonlyMap<number, readonly Cut[]>,
  placeOf: (place: Place) => Place,
): Shape {
  const { lon, lat, from, to, origin } = shape
  const builder = new Builder(lon.length + 2 * cuts.size)
  const vertexAt = (v: number) => placeOf({ lon: lon[v]!, lat: lat[v]! })
  const same = (p: Place, q: Place) => p.lon === q.lon && p.lat === q.lat
  const isPole = ({ lat }: Place) => Math.abs(lat) === 90
  const chains = shape.chains.map((chain, c) => {
    const start = builder.elements
    let at = vertexAt(from[chain.start]!)
    let vertex = -1
    for (let e = chain.start; e < chain.end; e++) {
      if (from[e] === to[e]) {
        vertex = builder.vertex(lon[from[e]!]!, lat[from[e]!]!)
        builder.join(vertex, vertex, c, origin[e]!)
        continue
      }
      if (vertex < 0) vertex = builder.vertex(at.lon, at.lat)
      const end = vertexAt(to[e]!)
      const between = (cuts.get(e) ?? []).toSorted((p, q) => p.along - q.along).map(placeOf)
      const go = (place: Place) => {
        if (same(place, at)) return
        // If the whole edge passed next to the pole, a cut may lie on the opposite meridian.
        if (!isPole(at) && !isPole(place) && Math.abs(normalLongitude(place.lon) - at.lon) === 180) {
          const pole = at.lat + place.lat > 0 ? 90 : -90
          go({ lon: at.lon, lat: pole })
          go({ lon: place.lon, lat: pole })
        }
        at = place
        vertex = builder.join(vertex, builder.vertex(at.lon, at.lat), c, origin[e]!)
      }
      for (const next of [...between, end]) {
        if (same(next, at) || (next !== end && same(next, end))) continue
        // An edge with an end at a pole runs along the meridian of its other end. A turn joins two meridians.
        if (isPole(at) && !isPole(next)) go({ lon: next.lon, lat: at.lat })
        if (!isPole(at) && isPole(next)) go({ lon: at.lon, lat: next.lat })
        if (next === end || !isPole(next)) go(next)
      }
    }
    return { ...chain, start, end: builder.elements }
  })
  return builder.finish(shape.path, chains, shape.polygons)
}

class Builder implements Vertices {
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
    // Indices of the input's positions without repetitions. The closing position of a ring stays.
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
      // The closing position repeats the first one, so three distinct positions make four.
      if (distinct < 4)
        throw new GeometryError(
          path,
          `a ring needs at least 3 distinct positions, got ${Math.max(1, distinct - 1)}`,
        )
      // At a pole, the last edge arrives by another meridian than the first edge leaves by.
      const opening = this.from[first]!
      if (Math.abs(this.lat[opening]!) === 90 && this.lon[opening] !== this.lon[vertex]) {
        const closing = this.vertex(this.lon[opening]!, this.lat[opening]!)
        this.element(vertex, closing, chain, previous - start)
      }
    }
  }

  /**
   * Adds the edge from a vertex to a position, and returns the vertex there. An edge over a pole gets a
   * vertex on each side of the pole; long edges are cut.
   * @param path path of the chain
   */
  private edge(a: number, lon: number, lat: number, chain: number, origin: number, path: string): number {
    const lonA = this.lon[a]!
    const latA = this.lat[a]!
    if (Math.abs(lat) === 90) {
      if (Math.abs(latA) === 90) throw noUniquePath(path, origin)
      // An edge to a pole follows the meridian.
      return this.simpleEdge(a, lonA, lat, chain, origin)
    }
    if (Math.abs(latA) === 90 && lonA !== normalLongitude(lon)) {
      // An edge from a pole follows the meridian, so another vertex at the pole gets the longitude of that
      // meridian.
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
    if (squaredChord(this, a, b) > CERTAINLY_SHORT && longestArc(chord(this, a, b)) > LONGEST_EDGE) {
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
      // Both directions are cut at the same positions, so that edges that coincide still do.
      const back = this.lon[a]! > this.lon[b]! || (this.lon[a] === this.lon[b] && this.lat[a]! > lat)
      const line = back
        ? geodesicLine(this.lon[b]!, lat, azimuthB + 180)
        : geodesicLine(this.lon[a]!, this.lat[a]!, azimuthA)
      const meridional = this.lon[a] === this.lon[b]
      this.vertices-- // the end is added after the cuts
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
    if (this.vertices === this.lon.length) {
      this.lon = doubled(this.lon)
      this.lat = doubled(this.lat)
      this.x = doubled(this.x)
      this.y = doubled(this.y)
      this.z = doubled(this.z)
    }
    spend(0.3)
    const i = this.vertices++
    this.lon[i] = normalLongitude(lon)
    this.lat[i] = lat
    toCartesian(this.lon[i], lat, this, i)
    return i
  }

  private element(from: number, to: number, chain: number, origin: number): void {
    if (this.elements === this.from.length) {
      this.from = doubled(this.from)
      this.to = doubled(this.to)
      this.chainOf = doubled(this.chainOf)
      this.origin = doubled(this.origin)
    }
    const i = this.elements++
    this.from[i] = from
    this.to[i] = to
    this.chainOf[i] = chain
    this.origin[i] = origin
  }

  finish(path: string, chains: Chain[], polygons: Polygon[]): Shape {
    const { lon, lat, x, y, z, from, to, chainOf, origin, elements } = this
    const used = (array: Uint32Array) => (array.length === elements ? array : array.subarray(0, elements))
    const parts = {
      lon,
      lat,
      x,
      y,
      z,
      from: used(from),
      to: used(to),
      chainOf: used(chainOf),
      origin: used(origin),
    }
    const ringsEnd = chains.findLast(({ kind }) => kind === Kind.Ring)?.end ?? 0
    return { path, ...parts, chains, polygons, ringsEnd, tree: new BoxTree(parts) }
  }
}

/** Copy of an array with twice the room. */
function doubled<T extends Float64Array | Uint32Array>(array: T): T {
  const grown = new (array.constructor as new (length: number) => T)(array.length * 2)
  grown.set(array)
  return grown
}

/**
 * Degrees below which two latitudes or longitudes are equal: a tenth of a nanometre. At a pole, longitudes do
 * not count.
 */
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
