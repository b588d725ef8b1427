import { Kind } from './geojson'
import { spend } from './effort'
import { TOUCH, chordGap, crosses, pointToEdge } from './edge'
import { clearance } from './orientation'
import { inverseDistance, longestArc, shortestArc } from './ellipsoid'
import { insideLoops, insidePolygon, type Rings } from './region'
import { edgeBound, type Shape } from './shape'
import type { Region } from './union'
import type { Outline } from './validity'
import { boxGap } from './tree'

/**
 * Least distance between two shapes. Two edges that do not cross are nearest at an end of one of them: were two inner
 * places nearest, moving both along, in the same sense, would shorten the perpendicular between them, as the curvature
 * is positive (second variation of arc length). What cannot be nearer than the best so far is left out by bounds that hold
 * for certain: a geodesic is no shorter than shortestArc of the chord between its ends, and no longer than longestArc.
 */

/** Beyond this, metres, a chord's bound is 10 m short and more, and the triangle inequality on a geodesic a better one. */
const FAR = 1_000_000

/** What cannot be nearer than the best so far by more than this, metres, is left out: a tenth of a micrometre. */
const SLACK = 1e-7

export interface Prepared extends Outline {
  /** as it was given: what length and area are summed over */
  given: Shape
  rings: Rings
  /** its polygons as one; undefined where it has none. Throws a GeometryError where that cannot be told. */
  region: () => Region | undefined
}

/**
 * Metres on the ellipsoid between the nearest places of two geometries; 0 where they share one. The same for both orders.
 * @param limit what is no nearer than this need not be told apart: then `limit` is the answer
 */
export function leastDistance(a: Prepared, b: Prepared, limit = Infinity): number {
  const [p, q] = inOrder(a.shape, b.shape) ? [a, b] : [b, a]
  // Of few parts, whether one holds another is told sooner than how far their boundaries are.
  const asked =
    p.shape.polygons.length * q.shape.chains.length + q.shape.polygons.length * p.shape.chains.length
  if (asked > MANY) {
    if (holdsFirst(p, q) || holdsFirst(q, p)) return 0
    const between = new Search(p, q, limit).run()
    return between === 0 || holdsPartOf(p, q, true) || holdsPartOf(q, p, true) ? 0 : between
  }
  if (holdsPartOf(p, q) || holdsPartOf(q, p)) return 0
  return new Search(p, q, limit).run()
}

/** More questions than this, of a polygon whether it holds a part, are asked of the union of the polygons, when it is known that the boundaries do not meet. */
const MANY = 10_000

/** An order of shapes, so that both orders of arguments are the same computation, to the last bit. */
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

/** Whether a polygon of `container` (or the union of them) holds the first vertex of any part of the other. Of parts that meet its boundary either answer will do. */
function holdsPartOf(container: Prepared, { shape: other, seams }: Prepared, asUnion = false): boolean {
  const { shape, rings } = container
  const region = asUnion ? container.region() : undefined
  if (asUnion && !region) return false
  const holds = (v: number) =>
    region
      ? insideLoops(other, v, region)
      : shape.polygons.some((polygon) => insidePolygon(other, v, shape, rings, polygon))
  spend(((region ? 1 : shape.polygons.length) * other.chains.length) / 50)
  return other.chains.some(({ kind, start, end }) => {
    // A seam is no boundary: its ends may lie outside of what it is a seam of.
    while (kind === Kind.Ring && seams?.[start] && start < end - 1) start++
    const last = kind === Kind.Points ? end : start + 1
    for (let e = start; e < last; e++) if (holds(other.from[e]!)) return true
    return false
  })
}

/** Whether a polygon of `container` holds the first vertex of the other: most often enough, where that has no seams. */
function holdsFirst({ shape, rings }: Prepared, { shape: other, seams }: Prepared): boolean {
  if (seams) return false
  spend(shape.polygons.length / 50)
  return shape.polygons.some((polygon) =>
    insidePolygon(other, other.from[other.ringsEnd % other.from.length]!, shape, rings, polygon),
  )
}

class Search {
  private readonly S: Shape
  private readonly T: Shape

  constructor(
    private readonly first: Outline,
    private readonly second: Outline,
    private best: number,
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

  private visit(m: number, mLevel: number, n: number, nLevel: number, gap: number): void {
    spend(0.3)
    if (shortestArc(gap) >= this.best - SLACK) return
    const { tree: s } = this.S
    const { tree: t } = this.T
    const mSize = s.diagonal(m)
    const nSize = t.diagonal(n)
    // Also where the nodes are smaller than what that bound is short by, a hundredth of gap^3 / (24 R^2).
    if (mSize + nSize < (gap > FAR ? gap : 1e-17 * gap * gap * gap)) {
      const a = this.S.from[middle(s.firstElement(m, mLevel), s.endElement(m, mLevel))]!
      const b = this.T.from[middle(t.firstElement(n, nLevel), t.endElement(n, nLevel))]!
      const distance = inverseDistance(this.S.lon[a]!, this.S.lat[a]!, this.T.lon[b]!, this.T.lat[b]!)
      this.best = Math.min(this.best, distance)
      if (distance - longestArc(mSize) - longestArc(nSize) >= this.best - SLACK) return
    }
    if (mLevel === 0 && nLevel === 0) {
      this.leaves(s.firstElement(m, 0), s.endElement(m, 0), t.firstElement(n, 0), t.endElement(n, 0))
      return
    }
    // The larger of the two is opened, its nearest child first.
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
      if (this.best === 0) return
    }
  }

  /** Elements of two leaves, the pair first whose chords are nearest: it often leaves nothing to do for the others. */
  private leaves(eStart: number, eEnd: number, fStart: number, fEnd: number): void {
    const { S, T } = this
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
      for (let f = fStart; f < fEnd && this.best > 0; f++) if (e !== first || f !== second) this.compare(e, f)
  }

  private compare(e: number, f: number): void {
    const { S, T } = this
    if (this.first.seams?.[e] || this.second.seams?.[f]) return
    const a = S.from[e]!
    const b = S.to[e]!
    const c = T.from[f]!
    const d = T.to[f]!
    const gap = chordGap(S, a, b, T, c, d)
    const bulgeE = S.tree.bulges[e]!
    const bulgeF = T.tree.bulges[f]!
    if (shortestArc(gap - bulgeE - bulgeF) >= this.best - SLACK) return
    const ends = a === b && c === d
    if (ends || (gap > FAR && this.best < Infinity)) {
      const distance = inverseDistance(S.lon[a]!, S.lat[a]!, T.lon[c]!, T.lat[c]!)
      this.best = Math.min(this.best, distance)
      if (ends || distance - edgeBound(S, e) - edgeBound(T, f) >= this.best - SLACK) return
    }
    // Chords of crossing edges miss each other by rounding, where the edges are short.
    if (gap <= bulgeE + bulgeF + TOUCH && crosses(S, a, b, T, c, d)) {
      this.best = 0
      return
    }
    this.end(S, a, T, c, d, bulgeF)
    if (b !== a) this.end(S, b, T, c, d, bulgeF)
    this.end(T, c, S, a, b, bulgeE)
    if (d !== c) this.end(T, d, S, a, b, bulgeE)
  }

  /** The end of one edge against the other edge. */
  private end(P: Shape, p: number, S: Shape, a: number, b: number, bulge: number): void {
    if (a === b) return // a lone place: it was compared with the other's start, or is an end to the other's edge itself
    if (
      shortestArc(chordGap(P, p, p, S, a, b) - bulge) < this.best - SLACK &&
      Math.abs(clearance(P, p, S, a, b)) < this.best - SLACK
    )
      this.best = Math.min(this.best, pointToEdge(P, p, S, a, b))
  }
}

function middle(first: number, end: number): number {
  return (first + end) >> 1
}
