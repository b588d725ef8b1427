// SPDX-License-Identifier: MIT
import { Kind } from './geojson'
import { spend } from './effort'
import { TOUCH, chordGap, crosses, crossingOf, edgeBound, nearestOnEdge, pointToEdge, walkEdge } from './edge'
import { clearance } from './orientation'
import { inverseDistance, longestArc, shortestArc } from './ellipsoid'
import { insideLoops, insidePolygon } from './region'
import type { Place, Shape } from './shape'
import type { Region } from './arrangement'
import type { Outline } from './validity'
import { squaredChord } from './vertices'
import { boxGap } from './tree'

/**
 * Least distance between two shapes. Two edges that do not cross are nearest at an end of one of them: if two
 * inner positions were nearest, moving both along their edges in the same sense would shorten the
 * perpendicular between them, as the curvature is positive (second variation of arc length). Proven bounds
 * skip pairs that cannot be nearer than the best pair so far: a geodesic is no shorter than shortestArc of
 * the chord between its ends, and no longer than longestArc.
 */

/** Gap in metres beyond which the bound from the chord is at least 10 m worse than that from a geodesic. */
const FAR = 1_000_000

/** Gap in metres beyond which bounds from the chords of single edges are too weak (see shortestArc). */
const FARTHER = 4_000_000

/** Pairs that are nearer than the best pair by less than this, metres, are skipped. */
const SLACK = 1e-7

export interface Prepared extends Outline {
  /** shape of the input as read, for length and area */
  given: Shape
  /** union of its polygons; undefined without polygons; throws a GeometryError if it cannot be computed */
  region: () => Region | undefined
}

/**
 * Distance on the ellipsoid between the nearest positions of two geometries, metres; 0 if they share a
 * position. The order of the arguments does not change the result.
 * @param limit distances of at least this are not computed, and the result is `limit`
 * @param enough the search ends once the distance is known to be at most this; the result is then the
 *   distance of some two positions, and at most `enough`
 */
export function leastDistance(a: Prepared, b: Prepared, limit = Infinity, enough = 0): number {
  const [p, q] = inOrder(a.shape, b.shape) ? [a, b] : [b, a]
  // With few parts, it is faster to test first whether one geometry contains a part of the other.
  if (testsOf(p.shape, q.shape) + testsOf(q.shape, p.shape) > MANY) {
    if (holdsFirst(p, q) || holdsFirst(q, p)) return 0
    const between = new Search(p, q, limit, enough).run()
    return between > enough && (holdsPartOf(p, q, true) || holdsPartOf(q, p, true)) ? 0 : between
  }
  if (holdsPartOf(p, q) || holdsPartOf(q, p)) return 0
  return new Search(p, q, limit, enough).run()
}

/**
 * Two positions, one of each geometry, at the geometries' distance: one position if the boundaries meet.
 * Undefined if one geometry lies in the other and the boundaries do not meet.
 */
export function nearestPlaces(a: Prepared, b: Prepared): readonly [Place, Place] | undefined {
  const search = new Search(a, b, Infinity, 0)
  const between = search.run()
  return between > 0 && leastDistance(a, b) === 0 ? undefined : search.places()
}

/** Number of tests of a polygon and a part beyond which the union is tested, after the boundaries. */
const MANY = 10_000
/** Number of points that count as one part: the union of few polygons takes longer than testing them. */
const POINTS = 100

/** Number of tests of a polygon of one shape and a part of the other. */
function testsOf({ polygons }: Shape, { chains }: Shape): number {
  if (polygons.length === 0) return 0
  const parts = chains.reduce(
    (sum, { kind, start, end }) => sum + (kind === Kind.Points ? Math.ceil((end - start) / POINTS) : 1),
    0,
  )
  return polygons.length * parts
}

/** Total order of shapes, so that both orders of arguments run the same computation, to the last bit. */
function inOrder(a: Shape, b: Shape): boolean {
  if (a.from.length !== b.from.length) return a.from.length < b.from.length
  for (let i = 0; i < a.from.length; i++) {
    const v = a.from[i]!
    const w = b.from[i]!
    if (a.lon[v] !== b.lon[w]) return a.lon[v]! < b.lon[w]!
    if (a.lat[v] !== b.lat[w]) return a.lat[v]! < b.lat[w]!
  }
  return true
}

/**
 * True if a polygon of `container`, or the union of its polygons, contains the first vertex of any part of
 * the other geometry, or the one halfway through the part, because the first one of a part that touches the
 * boundary from inside may lie on it. If a part meets the boundary, either result is correct.
 */
function holdsPartOf(container: Prepared, { shape: other, seams }: Prepared, asUnion = false): boolean {
  const { shape, rings } = container
  const region = asUnion ? container.region() : undefined
  if (asUnion && !region) return false
  const holds = (v: number) =>
    region
      ? insideLoops(other, v, region)
      : shape.polygons.some((polygon) => insidePolygon(other, v, shape, rings, polygon))
  return other.chains.some(({ kind, start, end }) => {
    // A seam is not a boundary: its ends may lie outside its polygon.
    while (kind === Kind.Ring && seams?.[start] && start < end - 1) start++
    const last = kind === Kind.Points ? end : start + 1
    for (let e = start; e < last; e++) if (holds(other.from[e]!)) return true
    const half = middle(start, end)
    return last < end && !seams?.[half] && holds(other.from[half]!)
  })
}

/** Fast test if a polygon of `container` has the other geometry's first vertex inside; false with seams. */
function holdsFirst({ shape, rings }: Prepared, { shape: other, seams }: Prepared): boolean {
  if (seams) return false
  return shape.polygons.some((polygon) =>
    insidePolygon(other, other.from[other.ringsEnd % other.from.length]!, shape, rings, polygon),
  )
}

/** Nearest parts: vertex p of P, and vertex a (equal to b) or the edge from a to b of Q. */
interface Pair {
  P: Shape
  p: number
  /** end of the edge from p, if it crosses the one from a to b */
  q?: number
  Q: Shape
  a: number
  b: number
}

class Search {
  private readonly S: Shape
  private readonly T: Shape
  private pair: Pair | undefined

  constructor(
    private readonly first: Outline,
    private readonly second: Outline,
    private best: number,
    private readonly enough: number,
  ) {
    this.S = first.shape
    this.T = second.shape
  }

  run(): number {
    const { tree: s } = this.S
    const { tree: t } = this.T
    this.visit(s.root, s.height, t.root, t.height, boxGap(s, s.root, t, t.root))
    return this.best
  }

  /** Position of each shape at the least distance. Call it after `run` found a distance below its limit. */
  places(): readonly [Place, Place] {
    if (!this.pair) throw new Error('places() must be called after run()')
    const { P, p, q, Q, a, b } = this.pair
    if (q !== undefined) {
      const crossing = crossingOf(P, p, q, Q, a, b)
      return [crossing, crossing]
    }
    const end = { lon: P.lon[p]!, lat: P.lat[p]! }
    const foot = walkEdge(Q, a, b).at(nearestOnEdge(P, p, Q, a, b).along)
    return P === this.S ? [end, foot] : [foot, end]
  }

  private improve(distance: number, pair: Pair): void {
    if (distance >= this.best) return
    this.best = distance
    this.pair = pair
  }

  /** Distance of the starts of two elements; no candidate for a seam, whose start may lie outside. */
  private between(e: number, f: number): number {
    const { S, T } = this
    const [a, c] = [S.from[e]!, T.from[f]!]
    const distance = inverseDistance(S.lon[a]!, S.lat[a]!, T.lon[c]!, T.lat[c]!)
    if (!this.first.seams?.[e] && !this.second.seams?.[f])
      this.improve(distance, { P: S, p: a, Q: T, a: c, b: c })
    return distance
  }

  /** Distance from the start of element `e` of one shape to element `f` of the other; see `between`. */
  private toElement(P: Shape, e: number, Q: Shape, f: number): number {
    const [p, a, b] = [P.from[e]!, Q.from[f]!, Q.to[f]!]
    const distance = pointToEdge(P, p, Q, a, b)
    const [i, j] = P === this.S ? [e, f] : [f, e]
    if (!this.first.seams?.[i] && !this.second.seams?.[j]) this.improve(distance, { P, p, Q, a, b })
    return distance
  }

  private visit(m: number, mLevel: number, n: number, nLevel: number, gap: number): void {
    spend(0.3)
    if (shortestArc(gap) >= this.best - SLACK) return
    const { tree: s } = this.S
    const { tree: t } = this.T
    const mSize = s.diagonal(m)
    const nSize = t.diagonal(n)
    // The second condition is for nodes smaller than the error of that bound, 0.01 gap^3 / (24 R^2).
    if (mSize + nSize < (gap > FAR ? gap : 1e-17 * gap * gap * gap)) {
      const distance = this.between(
        middle(s.firstElement(m, mLevel), s.endElement(m, mLevel)),
        middle(t.firstElement(n, nLevel), t.endElement(n, nLevel)),
      )
      if (distance - longestArc(mSize) - longestArc(nSize) >= this.best - SLACK) return
    }
    if (mLevel === 0 && nLevel === 0) {
      this.leaves(
        s.firstElement(m, 0),
        s.endElement(m, 0),
        t.firstElement(n, 0),
        t.endElement(n, 0),
        gap > FARTHER && this.best < Infinity,
      )
      return
    }
    // Opens the larger of the two nodes and visits the nearest child first.
    const openM = nLevel === 0 || (mLevel > 0 && mSize >= nSize)
    const first = openM ? s.firstChild(m, mLevel) : t.firstChild(n, nLevel)
    const end = openM ? s.endChild(m, mLevel) : t.endChild(n, nLevel)
    const children: { node: number; gap: number }[] = []
    for (let node = first; node < end; node++)
      children.push({ node, gap: openM ? boxGap(s, node, t, n) : boxGap(s, m, t, node) })
    children.sort((a, b) => a.gap - b.gap)
    for (const child of children) {
      if (openM) this.visit(child.node, mLevel - 1, n, nLevel, child.gap)
      else this.visit(m, mLevel, child.node, nLevel - 1, child.gap)
      if (this.best <= this.enough) return
    }
  }

  /** Compares two leaves. The pair with the nearest chords comes first: often no other can be nearer. */
  private leaves(eStart: number, eEnd: number, fStart: number, fEnd: number, far: boolean): void {
    const { S, T } = this
    if (far) {
      this.blocks(eStart, eEnd, fStart, fEnd)
      return
    }
    spend(((eEnd - eStart) * (fEnd - fStart)) / 8)
    let nearest = Infinity
    let first = eStart
    let second = fStart
    for (let e = eStart; e < eEnd; e++)
      for (let f = fStart; f < fEnd; f++) {
        const gap =
          chordGap(S, S.from[e]!, S.to[e]!, T, T.from[f]!, T.to[f]!) - S.tree.bulges[e]! - T.tree.bulges[f]!
        if (gap >= nearest) continue
        nearest = gap
        first = e
        second = f
      }
    if (shortestArc(nearest) >= this.best - SLACK) return
    this.compare(first, second)
    for (let e = eStart; e < eEnd; e++)
      for (let f = fStart; f < fEnd && this.best > this.enough; f++)
        if (e !== first || f !== second) this.compare(e, f)
  }

  /**
   * Compares runs of far elements by halves and the triangle inequality, because bounds from chords are too
   * weak. For a run of one element, only the length of the other run weakens the bound.
   */
  private blocks(eStart: number, eEnd: number, fStart: number, fEnd: number): void {
    if (this.best <= this.enough) return
    const [one, other] = [eEnd - eStart === 1, fEnd - fStart === 1]
    if (one && other) {
      this.compare(eStart, fStart)
      return
    }
    const { S, T } = this
    const [e, f] = [middle(eStart, eEnd), middle(fStart, fEnd)]
    const distance = one
      ? this.toElement(T, f, S, e)
      : other
        ? this.toElement(S, e, T, f)
        : this.between(e, f)
    const aside = one ? 0 : reachFrom(S, S.from[e]!, eStart, eEnd)
    const beyond = other ? 0 : reachFrom(T, T.from[f]!, fStart, fEnd)
    if (distance - aside - beyond >= this.best - SLACK) return
    if (other || (!one && aside >= beyond)) {
      const half = middle(eStart, eEnd)
      this.blocks(eStart, half, fStart, fEnd)
      this.blocks(half, eEnd, fStart, fEnd)
    } else {
      const half = middle(fStart, fEnd)
      this.blocks(eStart, eEnd, fStart, half)
      this.blocks(eStart, eEnd, half, fEnd)
    }
  }

  private compare(e: number, f: number): void {
    const { S, T } = this
    if (this.first.seams?.[e] || this.second.seams?.[f]) return
    const a = S.from[e]!
    const b = S.to[e]!
    const c = T.from[f]!
    const d = T.to[f]!
    spend(0.05)
    const gap = chordGap(S, a, b, T, c, d)
    const bulgeE = S.tree.bulges[e]!
    const bulgeF = T.tree.bulges[f]!
    if (shortestArc(gap - bulgeE - bulgeF) >= this.best - SLACK) return
    spend(1)
    const ends = a === b && c === d
    if (ends || (gap > FAR && this.best < Infinity)) {
      const distance = inverseDistance(S.lon[a]!, S.lat[a]!, T.lon[c]!, T.lat[c]!)
      this.improve(distance, { P: S, p: a, Q: T, a: c, b: c })
      const [reachE, reachF] = [edgeBound(S, e), edgeBound(T, f)]
      if (ends || distance - reachE - reachF >= this.best - SLACK) return
      // Nothing on the shorter edge is nearer to the longer one than its start is, by more than its length.
      const nearest =
        reachE < reachF ? this.toElement(S, e, T, f) - reachE : this.toElement(T, f, S, e) - reachF
      if (nearest >= this.best - SLACK) return
    }
    // The chords of short edges that cross may miss each other by rounding.
    if (gap <= bulgeE + bulgeF + TOUCH && crosses(S, a, b, T, c, d)) {
      this.improve(0, { P: S, p: a, q: b, Q: T, a: c, b: d })
      return
    }
    this.end(S, a, T, c, d, bulgeF)
    if (b !== a) this.end(S, b, T, c, d, bulgeF)
    this.end(T, c, S, a, b, bulgeE)
    if (d !== c) this.end(T, d, S, a, b, bulgeE)
  }

  /** Compares the end of one edge with the whole other edge. */
  private end(P: Shape, p: number, S: Shape, a: number, b: number, bulge: number): void {
    // A single position is compared with the start of the other edge or, as an end, with the whole edge.
    if (a === b) return
    if (
      shortestArc(chordGap(P, p, p, S, a, b) - bulge) < this.best - SLACK &&
      Math.abs(clearance(P, p, S, a, b)) < this.best - SLACK
    )
      this.improve(pointToEdge(P, p, S, a, b), { P, p, Q: S, a, b })
  }
}

/** Greatest distance of elements from a vertex, metres: that of their ends in an eighth of a great circle. */
function reachFrom(S: Shape, v: number, start: number, end: number): number {
  let reach = 0
  for (let e = start; e < end; e++)
    reach = Math.max(reach, squaredChord(S, v, S, S.from[e]!), squaredChord(S, v, S, S.to[e]!))
  const arc = longestArc(Math.sqrt(reach))
  return arc < 5_000_000 ? arc : Infinity
}

function middle(first: number, end: number): number {
  return (first + end) >> 1
}
