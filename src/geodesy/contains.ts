import { nearestOnEdge, pointToEdge, walkEdge } from './edge'
import { RADIANS } from './ellipsoid'
import { spend } from './effort'
import { GeometryError } from './error'
import { insidePolygon } from './region'
import type { Prepared } from './distance'
import { NEAR, complement, merge, nearStretches, offset, place, Plane, type Stretch } from './stretch'
import { Kind, polygonOf, type Shape, type Vertices } from './shape'
import { closePairs, elementsNear } from './tree'

/**
 * Does a geometry contain another (OGC: nothing of it lies outside, and the interiors meet)? Shared boundary is decided by
 * the distance that is signed: what lies within half a centimetre of a boundary, whose distance rounds to 0.00 m, is on it.
 *
 * Each edge of the contained geometry is cut into the stretches that are near the container's edges, and the gaps
 * between them. A gap keeps clear of the boundary, so the place in its middle says of all of it, and without doubt,
 * whether it is inside.
 */

export function contains(container: Prepared, other: Prepared): boolean {
  return new Containment(container, other).decide()
}

const NONE: readonly number[] = []

/** The near pairs of elements, by element of the first shape. */
type Neighbours = ReadonlyMap<number, readonly number[]>

class Containment {
  private meet = false
  private readonly neighbours: Neighbours
  private back?: Neighbours

  constructor(
    private readonly a: Prepared,
    private readonly b: Prepared,
  ) {
    this.neighbours = nearElements(b.shape, a.shape)
  }

  decide(): boolean {
    const { shape } = this.b
    // Whether a polygon's boundary runs through the container's inside somewhere: its own inside does, then.
    const entered = shape.polygons.map(() => false)
    for (const [c, chain] of shape.chains.entries()) {
      if (chain.kind === Kind.Points || shape.from[chain.start] === shape.to[chain.start]) {
        for (let e = chain.start; e < chain.end; e++) {
          const place = locate(this.a, shape, shape.from[e]!)
          if (place === 'outside') return false
          if (place === 'inside') this.meet = true
        }
        continue
      }
      const covered = this.coversChain(c)
      if (!covered) return false
      // A ring along a line of the container shares no inside with it.
      if (covered.entered || (covered.along && chain.kind === Kind.Line)) this.meet = true
      if (chain.polygon >= 0) entered[chain.polygon] ||= covered.entered
    }
    for (let j = 0; j < shape.polygons.length; j++) {
      if (this.boundaryInside(j)) return false
      // Where all of its boundary lies on the container's, it is the same area, or a hole that it fills: a place inside
      // tells, in each of the pieces into which a boundary that touches itself may cut it.
      if (entered[j] && !this.b.pinched.has(j)) continue
      for (const within of placesInside(this.b, j)) {
        const where = locate(this.a, within, 0)
        if (where === 'outside') return false
        if (where === 'inside') this.meet = true
        if (!this.b.pinched.has(j)) break
      }
    }
    return this.meet
  }

  /** Undefined where a part of the chain is outside of the container; else whether a part of it is inside of its polygons, or along its lines. */
  private coversChain(c: number): { entered: boolean; along: boolean } | undefined {
    const { shape } = this.b
    const container = this.a.shape
    const chain = shape.chains[c]!
    const { start, end } = chain
    const covered = new Map<number, Stretch[]>()
    let entered = false
    let along = false
    let whole = false

    const near = (e: number, wanted: (polygon: number) => boolean) => {
      const all = this.neighbours.get(e) ?? NONE
      spend(all.length / 50)
      return all.filter((f) => wanted(polygonOf(container, f)))
    }
    for (const [i, polygon] of container.polygons.entries()) {
      const walls = splitChain(this.b, start, end, (e) => near(e, (part) => part === i), this.a, (vertices, v) => insidePolygon(vertices, v, container, this.a.rings, polygon))
      if (walls === 'inside') whole = entered = true
      else if (walls !== 'outside')
        for (const { element, near: stretches, inner } of walls) {
          for (const stretch of [...stretches, ...inner]) add(covered, element, stretch)
          if (inner.length > 0) entered = true
        }
    }
    if (whole) return { entered, along }

    for (let e = start; e < end; e++) {
      const open = near(e, (part) => part < 0)
      if (open.length > 0) {
        const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
        for (const stretch of nearStretches(shape, e, container, open, walk)) {
          add(covered, e, stretch)
          // Lines that share a stretch share inner places of it; where they only touch, one is near for some centimetres.
          along ||= stretch[1] - stretch[0] > Math.min(4 * NEAR, walk.length / 2)
        }
      }
      // All of the edge, in the end; what several polygons share between them may be inside of their union.
      const stretches = covered.get(e) ?? []
      if (stretches.includes(WHOLE)) continue
      if (complement(merge(stretches), walkEdge(shape, shape.from[e]!, shape.to[e]!).length).length > 0) return undefined
    }
    return { entered: entered || this.alongSeam(start, end, covered), along }
  }

  /** Whether the chain runs along an edge that polygons of the container share, inside of their union. */
  private alongSeam(start: number, end: number, covered: ReadonlyMap<number, readonly Stretch[]>): boolean {
    const { shape } = this.b
    if (this.a.shape.polygons.length < 2) return false
    for (let e = start; e < end; e++) {
      const marks = (covered.get(e) ?? []).flat().sort((p, q) => p - q)
      const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
      for (let i = 1; i < marks.length; i++) if (marks[i]! - marks[i - 1]! > NEAR && locate(this.a, place(walk.at((marks[i]! + marks[i - 1]!) / 2)), 0) === 'inside') return true
    }
    return false
  }

  /** Whether the container ends inside polygon j: its boundary runs there, with nothing of it on one of the sides. */
  private boundaryInside(j: number): boolean {
    const container = this.a.shape
    const { shape, rings } = this.b
    const polygon = shape.polygons[j]!
    const back = (this.back ??= reversed(this.neighbours))
    const single = container.polygons.length === 1
    for (const { kind, start, end } of container.chains) {
      if (kind !== Kind.Ring) continue
      const neighbours = (e: number) => (back.get(e) ?? []).filter((f) => polygonOf(shape, f) === j)
      const walls = splitChain(this.a, start, end, neighbours, this.b, (vertices, v) => insidePolygon(vertices, v, shape, rings, polygon))
      if (walls === 'outside') continue
      if (walls === 'inside') {
        if (single) return true
        for (let e = start; e < end; e++) if (!this.seam(e, [WHOLE])) return true
        continue
      }
      for (const { element, inner } of walls) if (inner.length > 0 && (single || !this.seam(element, inner))) return true
    }
    return false
  }

  /** Whether these stretches of one of the container's edges have the container on both sides. */
  private seam(e: number, stretches: readonly Stretch[]): boolean {
    const { shape } = this.a
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    if (walk.length === 0) return true
    const own = polygonOf(shape, e)
    const others = elementsNear(shape, shape, shape.from[e]!, shape.to[e]!, NEAR).filter((f) => polygonOf(shape, f) !== own)
    const cuts = others.flatMap((f) => nearStretches(shape, e, shape, [f], walk)).flat()
    for (const [from, until] of stretches) {
      const to = Math.min(until, walk.length)
      const marks = [from, ...cuts.filter((cut) => cut > from && cut < to).sort((p, q) => p - q), to]
      for (let i = 1; i < marks.length; i++) {
        if (marks[i]! - marks[i - 1]! < NEAR) continue // the neighbours say the same of it
        if (locate(this.a, place(walk.at((marks[i]! + marks[i - 1]!) / 2)), 0) !== 'inside') return false
      }
    }
    return true
  }
}

/** Places inside polygon j, clear of its boundary, one beside each edge; none where it is thinner than a centimetre wherever looked for. */
export function* placesInside({ shape, rings }: Prepared, j: number): Generator<Vertices> {
  const polygon = shape.polygons[j]!
  const { start } = shape.chains[polygon.firstChain]!
  const { end } = shape.chains[polygon.endChain - 1]!
  for (let e = start; e < end; e++) {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    if (walk.length === 0) continue
    const { lon, lat, azimuth } = walk.at(walk.length / 2)
    beside: for (const width of [Math.min(walk.length / 8, 1000), 0.1, 0.011])
      for (const turn of [90, -90]) {
        const candidate = place(offset(lon, lat, azimuth + turn, width))
        if (!insidePolygon(candidate, 0, shape, rings, polygon)) continue
        if (nearElementsOf(candidate, shape).some((f) => polygonOf(shape, f) === j)) continue
        yield candidate
        break beside
      }
  }
}

/** All of an edge, whatever its length. */
const WHOLE: Stretch = [0, Infinity]

interface Wall {
  element: number
  /** near the other's boundary */
  near: Stretch[]
  /** clear of it, and inside */
  inner: Stretch[]
}

/**
 * A chain against the boundary of a polygon, whose near elements `neighbours` tells and whose inside `inside` does: 'inside'
 * or 'outside' where all of it keeps clear of that boundary, else edge by edge.
 */
function splitChain(own: Prepared, start: number, end: number, neighbours: (element: number) => readonly number[], other: Prepared, inside: (vertices: Vertices, v: number) => boolean): 'inside' | 'outside' | Wall[] {
  const { shape } = own
  spend((end - start) / 20)
  const touching: (readonly number[])[] = []
  let any = false
  for (let e = start; e < end; e++) {
    const list = neighbours(e)
    any ||= list.length > 0
    touching.push(list)
  }
  if (!any) return inside(shape, shape.from[start]!) ? 'inside' : 'outside'
  const walls: Wall[] = []
  // Whether the gap that the last edge ended in is inside; undefined where it ended near the boundary.
  let carried: boolean | undefined
  for (let e = start; e < end; e++) {
    if (carried !== undefined && touching[e - start]!.length === 0) {
      if (carried) walls.push({ element: e, near: [], inner: [WHOLE] })
      continue
    }
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    const near = nearStretches(shape, e, other.shape, touching[e - start]!, walk)
    const inner: Stretch[] = []
    const gaps = complement(near, walk.length)
    for (const gap of gaps) {
      const isInside: boolean = gap[0] === 0 && carried !== undefined ? carried : inside(place(walk.at((gap[0] + gap[1]) / 2)), 0)
      if (isInside) inner.push(gap)
      carried = isInside
    }
    if (walk.length > 0 && gaps.at(-1)?.[1] !== walk.length) carried = undefined
    walls.push({ element: e, near, inner })
  }
  return walls
}

/** Where a place is: inside the geometry, on its boundary (to half a centimetre) or outside. Of a union of polygons the common edges are inside. */
function locate(prepared: Prepared, vertices: Vertices, v: number): 'inside' | 'boundary' | 'outside' {
  const { shape, rings } = prepared
  const near = nearElementsOf(vertices, shape, v)
  const boundaries = new Set<number>()
  let open = false
  let atEnd = false
  for (const f of near) {
    const { polygon, kind } = shape.chains[shape.chainOf[f]!]!
    if (polygon >= 0) boundaries.add(polygon)
    else if (kind === Kind.Points) return 'inside'
    else {
      open = true
      for (const end of [shape.from[f]!, shape.to[f]!]) atEnd ||= lineEnds(shape).has(end) && nearestOnEdge(vertices, v, shape, end, end).distance < NEAR
    }
  }
  if (open && !atEnd) return 'inside'
  for (let i = 0; i < shape.polygons.length; i++) if (!boundaries.has(i) && insidePolygon(vertices, v, shape, rings, shape.polygons[i]!)) return 'inside'
  if (boundaries.size > 1 && surrounded(prepared, vertices, v)) return 'inside'
  return near.length > 0 ? 'boundary' : 'outside'
}

/** Radius of the circle on which the neighbourhood of a place is looked at, metres: well above NEAR, well below any shape. */
const CIRCLE = 4 * NEAR

/** Whether every direction from a place leads into the polygons: on a circle, in the middle of each arc between the edges that meet it. */
function surrounded({ shape, rings }: Prepared, vertices: Vertices, v: number): boolean {
  const [lon, lat] = [vertices.lon[v]!, vertices.lat[v]!]
  const plane = new Plane(vertices, v)
  const angles: number[] = []
  for (const f of nearElementsOf(vertices, shape, v, 2 * CIRCLE)) {
    const [p, q] = [plane.project(shape, shape.from[f]!), plane.project(shape, shape.to[f]!)]
    const [dx, dy] = [q[0] - p[0], q[1] - p[1]]
    // |p + t d| = CIRCLE
    const [aa, bb, cc] = [dx * dx + dy * dy, p[0] * dx + p[1] * dy, p[0] * p[0] + p[1] * p[1] - CIRCLE * CIRCLE]
    const root = Math.sqrt(bb * bb - aa * cc)
    for (const t of [(-bb - root) / aa, (-bb + root) / aa]) if (t >= 0 && t <= 1) angles.push(Math.atan2(p[1] + t * dy, p[0] + t * dx))
  }
  angles.sort((p, q) => p - q)
  return angles.every((angle, i) => {
    const next = i + 1 < angles.length ? angles[i + 1]! : angles[0]! + 2 * Math.PI
    const spot = place(offset(lon, lat, 90 - (angle + next) / 2 / RADIANS, CIRCLE))
    return shape.polygons.some((polygon) => insidePolygon(spot, 0, shape, rings, polygon)) || nearElementsOf(spot, shape).length > 0
  })
}

const lineEndsOf = new WeakMap<Shape, ReadonlySet<number>>()

/** Vertices that bound the lines of a shape: ends that an odd number of lines share (OGC's mod-2 rule). */
function lineEnds(shape: Shape): ReadonlySet<number> {
  const known = lineEndsOf.get(shape)
  if (known) return known
  const ends = new Map<string, number>()
  for (const { kind, start, end } of shape.chains) {
    if (kind !== Kind.Line) continue
    for (const v of [shape.from[start]!, shape.to[end - 1]!]) {
      const key = Math.abs(shape.lat[v]!) === 90 ? `${shape.lat[v]}` : `${shape.lat[v]},${shape.lon[v]}`
      if (!ends.delete(key)) ends.set(key, v)
    }
  }
  const found = new Set(ends.values())
  lineEndsOf.set(shape, found)
  return found
}

/** More near pairs of elements than this are not looked through: memory for them would be hundreds of megabytes. */
const MAX_PAIRS = 2_000_000

/** Elements of a shape that lie less than `limit` metres from a place. */
function nearElementsOf(vertices: Vertices, shape: Shape, v = 0, limit = NEAR): number[] {
  return elementsNear(shape, vertices, v, v, limit).filter((f) => pointToEdge(vertices, v, shape, shape.from[f]!, shape.to[f]!) < limit)
}

/** Pairs of elements that may be nearer than half a centimetre, by element of S. */
function nearElements(S: Shape, T: Shape): Neighbours {
  const pairs = new Map<number, number[]>()
  let count = 0
  closePairs(S, T, NEAR, (e, f) => {
    if (++count > MAX_PAIRS) throw new GeometryError(S.path, `lies along ${T.path} in more than ${MAX_PAIRS} pairs of edges: too many to tell what contains what; simplify one of them`)
    add(pairs, e, f)
  })
  return pairs
}

function reversed(neighbours: Neighbours): Neighbours {
  const pairs = new Map<number, number[]>()
  for (const [e, list] of neighbours) for (const f of list) add(pairs, f, e)
  return pairs
}

/** One more to the list at a key. */
function add<T>(lists: Map<number, T[]>, key: number, item: T): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}
