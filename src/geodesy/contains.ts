// SPDX-License-Identifier: MIT
import { assertBound } from './bounds'
import { nearestOnEdge, pointToEdge, walkEdge } from './edge'
import { spend } from './effort'
import { GeometryError } from './error'
import { Kind } from './geojson'
import { insideLoops, insidePolygon } from './region'
import type { Prepared } from './distance'
import { addTo, type Shape } from './shape'
import { NEAR, complement, merge, nearStretches, offset } from './stretch'
import { closePairs, elementsNear } from './tree'
import type { Region } from './arrangement'
import type { PlaceOnLine } from './ellipsoid'
import { isSamePlace, place, type Elements, type Vertices } from './vertices'

/**
 * True if a geometry contains another (OGC: no part of the other lies outside, and the interiors meet).
 * Outside means half a centimetre or more from the container. Anything nearer to the boundary is on it, and
 * is not contained by itself.
 *
 * Each edge of the contained geometry is cut into stretches near the container's edges and gaps, whose middle
 * shows with certainty if all of the gap is inside. If a part of a region whose boundary is covered is
 * outside, then some uncovered position lies half a centimetre from the container's boundary and no nearer to
 * any other part of the container. So the search follows the lines at that distance from each edge of it.
 */
export function contains(container: Prepared, other: Prepared): boolean {
  const { shape } = other
  const covered = new Coverage(container)
  let meet = false
  for (const { kind, start, end } of shape.chains) {
    if (kind === Kind.Ring) continue
    if (kind === Kind.Points || shape.from[start] === shape.to[start]) {
      for (let e = start; e < end; e++) {
        const where = locate(container, shape, shape.from[e]!)
        if (where === 'outside') return false
        meet ||= where === 'inside'
      }
      continue
    }
    const line = covered.byAll(shape, start, end)
    if (!line) return false
    meet ||= line.entered || line.along
  }
  const region = other.region()
  if (!region) return meet
  if (!container.region()) return false
  const boundary = covered.byAll(region.shape, 0, region.end)
  if (!boundary) return false
  const between = covered.leavesOut(region)
  return (
    between !== 'something' &&
    (meet || boundary.entered || between === 'entered' || sharesInside(container.region()!, region))
  )
}

const NONE: readonly number[] = []

/** For each element of the first shape, the elements of the other shape that are near it. */
type Neighbours = ReadonlyMap<number, readonly number[]>

/** Part of some edges that the container covers, accurate to half a centimetre. */
class Coverage {
  private readonly pairs = new Map<Shape, { boundary: Neighbours; open: Neighbours }>()

  constructor(private readonly container: Prepared) {}

  /** Elements near those of another shape: of the region's boundary, and of the lines and points (`open`). */
  private neighbours(S: Shape): { boundary: Neighbours; open: Neighbours } {
    const known = this.pairs.get(S)
    if (known) return known
    const { shape } = this.container
    const region = this.container.region()
    const found = {
      boundary: region ? nearElements(S, region.shape, 0, region.end) : new Map<number, number[]>(),
      open:
        shape.ringsEnd < shape.from.length
          ? nearElements(S, shape, shape.ringsEnd, shape.from.length)
          : new Map<number, number[]>(),
    }
    this.pairs.set(S, found)
    return found
  }

  /**
   * Undefined if a part is outside. `entered`: one runs inside the region; `along`: one runs along a line.
   */
  byAll(S: Shape, start: number, end: number): { entered: boolean; along: boolean } | undefined {
    const { shape } = this.container
    const region = this.container.region()
    const { boundary, open } = this.neighbours(S)
    spend((end - start) / 20)
    let [entered, along] = [false, false]
    // True if the gap at the end of the previous edge is inside; undefined if that end is near the boundary.
    let carried: boolean | undefined
    for (let e = start; e < end; e++) {
      if (e > start && S.to[e - 1] !== S.from[e]) carried = undefined
      const walls = boundary.get(e) ?? NONE
      const lines = open.get(e) ?? NONE
      if (walls.length === 0 && lines.length === 0 && carried === true) continue
      if (lines.length === 0 && walls.some((f) => coincide(S, e, region!.shape, f))) {
        carried = undefined
        continue
      }
      const walk = walkEdge(S, S.from[e]!, S.to[e]!)
      const nearLines = lines.length > 0 ? nearStretches(S, e, shape, lines, walk) : []
      // Lines that only touch are near each other for no more than a few centimetres.
      for (const [from, to] of nearLines) along ||= to - from > Math.min(4 * NEAR, walk.length / 2)
      const gaps =
        walls.length > 0
          ? complement(nearStretches(S, e, region!.shape, walls, walk), walk.length)
          : [[0, walk.length] as const]
      let [startsInside, endsInside] = [false, false]
      for (const gap of gaps) {
        const isInside: boolean =
          gap[0] === 0 && carried !== undefined
            ? carried
            : region !== undefined && insideLoops(place(walk.at((gap[0] + gap[1]) / 2)), 0, region)
        carried = isInside
        if (isInside) {
          startsInside ||= gap[0] === 0
          endsInside ||= gap[1] === walk.length
          entered ||= gap[1] > gap[0]
        } else if (complement(merge([[0, gap[0]], ...nearLines, [gap[1], Infinity]]), walk.length).length > 0)
          return undefined
      }
      // The ends of a stretch are off by up to micrometres, so ends of edges are measured like positions.
      const isFirst = e === start || S.to[e - 1] !== S.from[e]
      if (
        (isFirst && !startsInside && locate(this.container, S, S.from[e]!) === 'outside') ||
        (!endsInside && locate(this.container, S, S.to[e]!) === 'outside')
      )
        return undefined
      if (walk.length > 0 && gaps.at(-1)?.[1] !== walk.length) carried = undefined
    }
    return { entered, along }
  }

  /**
   * 'something' if the container leaves out part of a region whose boundary it covers; 'entered' if it does
   * not, and some of its boundary lies inside the region, clear of the region's boundary.
   */
  leavesOut(region: Region): 'something' | 'nothing' | 'entered' {
    const own = this.container.region()!
    const back = reversed(this.neighbours(region.shape).boundary)
    const { shape } = own
    const { from, to, chains } = shape
    let entered = false
    for (const { start, end } of chains) {
      if (start >= own.end) break
      let carried: boolean | undefined
      let outer: readonly number[] | undefined
      for (let e = start; e < end; e++) {
        if (e > start && to[e - 1] !== from[e]) carried = undefined
        if (back.has(e)) carried = undefined
        else {
          carried ??= insideLoops(shape, from[e]!, region)
          if (!carried) continue
          entered = true
        }
        outer ??= outerSides(own, start, end)
        if (outer.some((side) => this.isOpenAtOffset(own, e, side, region))) return 'something'
      }
    }
    return entered ? 'entered' : 'nothing'
  }

  /** True if the region is not covered somewhere half a centimetre to one side of the container's edge. */
  private isOpenAtOffset(own: Region, e: number, side: number, region: Region): boolean {
    const walk = walkEdge(own.shape, own.shape.from[e]!, own.shape.to[e]!)
    const pieces = Math.ceil(walk.length / LONGEST_STRAIGHT)
    let start: PlaceOnLine | undefined
    for (let i = 0; i <= pieces; i++) {
      const { lon, lat, azimuth } = walk.at(i === pieces ? walk.length : (walk.length * i) / pieces)
      const end = offset(lon, lat, azimuth + side, OFFSET)
      const parallel = start && { ...place(start, end), from: Uint32Array.of(0), to: Uint32Array.of(1) }
      if (parallel && this.isOpenAlong(parallel, own, e, region)) return true
      start = end
    }
    return false
  }

  /** True if an uncovered position lies on the line parallel to an edge of the container's boundary. */
  private isOpenAlong(parallel: Elements, own: Region, e: number, region: Region): boolean {
    const { shape } = this.container
    // In most cases, the line does not meet the region's boundary, and one position decides for all of it.
    if (
      !elementsNear(region.shape, parallel, 0, 1, 0).some((f) => f < region.end) &&
      !insideLoops(parallel, 0, region)
    )
      return false
    const along = walkEdge(parallel, 0, 1)
    if (along.length === 0) return false
    assertBound('a parallel line lies just beyond the near distance, by four micrometres at most', () => {
      const middle = place(along.at(along.length / 2))
      const away = pointToEdge(middle, 0, own.shape, own.shape.from[e]!, own.shape.to[e]!)
      return away > NEAR && away < NEAR + 4e-6
    })
    const walls = elementsNear(own.shape, parallel, 0, 1, NEAR).filter((f) => f !== e && f < own.end)
    const lines =
      shape.ringsEnd < shape.from.length
        ? elementsNear(shape, parallel, 0, 1, NEAR).filter((f) => f >= shape.ringsEnd)
        : NONE
    const covered = merge([
      ...nearStretches(parallel, 0, own.shape, walls, along),
      ...nearStretches(parallel, 0, shape, lines, along),
    ])
    return complement(covered, along.length).some(([from, to]) => {
      const spot = place(along.at((from + to) / 2))
      return insideLoops(spot, 0, region) && !insideLoops(spot, 0, own)
    })
  }
}

/** Sides of a loop that face the outside: -90 for its left, 90 for its right; both if this is uncertain. */
function outerSides(region: Region, start: number, end: number): readonly number[] {
  const { shape } = region
  for (let e = start, tries = 0; e < end && tries < 8; e += Math.ceil((end - start) / 8), tries++) {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    const { lon, lat, azimuth } = walk.at(walk.length / 2)
    for (const width of [walk.length / 8, walk.length / 1000]) {
      const left = place(offset(lon, lat, azimuth - 90, width))
      // No other edge is near, so this position is on the left of this edge.
      if (width > 1e-4 && elementsNear(shape, left, 0, 0, 2 * width).every((f) => f === e || f >= region.end))
        return insideLoops(left, 0, region) ? [90] : [-90]
    }
  }
  return [-90, 90]
}

/** True if two elements have the same ends, in either order. */
function coincide(S: Elements, e: number, T: Elements, f: number): boolean {
  const same = (v: number, w: number) => isSamePlace(S, v, T, w)
  const [a, b, c, d] = [S.from[e]!, S.to[e]!, T.from[f]!, T.to[f]!]
  return (same(a, c) && same(b, d)) || (same(a, d) && same(b, c))
}

/** Offset of the searched lines, metres: NEAR, plus a margin for the errors of both measurements. */
const OFFSET = NEAR + 2e-6
/** Longest edge, metres, whose parallel line bulges by less than 0.2 micrometres. */
const LONGEST_STRAIGHT = 100_000

/** True if the interiors of a region and of the container that covers it meet, in 0.1 micrometres or more. */
function sharesInside(container: Region, region: Region): boolean {
  const { shape, end } = region
  // A region without a boundary is the whole ellipsoid.
  if (end === 0) return true
  for (let e = 0; e < end; e++) {
    const walk = walkEdge(shape, shape.from[e]!, shape.to[e]!)
    if (walk.length === 0) continue
    const { lon, lat, azimuth } = walk.at(walk.length / 2)
    for (const width of [Math.min(walk.length / 8, 1000), 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7])
      for (const side of [90, -90]) {
        const spot = place(offset(lon, lat, azimuth + side, width))
        if (insideLoops(spot, 0, region) && insideLoops(spot, 0, container)) return true
      }
  }
  return false
}

/** Maximum number of polygons that are tested one by one. Beyond it, their union is tested. */
const MANY = 2_000

/** Location of a position relative to the geometry. The boundary is half a centimetre wide on each side. */
function locate(prepared: Prepared, vertices: Vertices, v: number): 'inside' | 'boundary' | 'outside' {
  const { shape, seams, rings } = prepared
  let [bounded, open, atEnd] = [false, false, false]
  for (const f of nearElementsOf(vertices, v, shape)) {
    const { kind } = shape.chains[shape.chainOf[f]!]!
    if (kind === Kind.Points || shape.from[f] === shape.to[f]) return 'inside'
    if (kind === Kind.Ring) bounded ||= !seams?.[f]
    else {
      open = true
      for (const end of [shape.from[f]!, shape.to[f]!])
        atEnd ||= lineEnds(shape).has(end) && nearestOnEdge(vertices, v, shape, end, end).distance < NEAR
    }
  }
  if (open && !atEnd) return 'inside'
  if (!bounded) {
    const inside =
      shape.polygons.length > MANY
        ? insideLoops(vertices, v, prepared.region()!)
        : shape.polygons.some((polygon) => insidePolygon(vertices, v, shape, rings, polygon))
    return inside ? 'inside' : open ? 'boundary' : 'outside'
  }
  if (shape.polygons.length === 1) return 'boundary'
  const region = prepared.region()!
  return nearElementsOf(vertices, v, region.shape).some((f) => f < region.end) ||
    !insideLoops(vertices, v, region)
    ? 'boundary'
    : 'inside'
}

const lineEndsOf = new WeakMap<Shape, ReadonlySet<number>>()

/** Boundary vertices of the lines of a shape: ends that an odd number of lines share (OGC's mod-2 rule). */
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

/** Elements of a shape that are less than half a centimetre from a position. */
function nearElementsOf(vertices: Vertices, v: number, shape: Shape): number[] {
  return elementsNear(shape, vertices, v, v, NEAR).filter(
    (f) => pointToEdge(vertices, v, shape, shape.from[f]!, shape.to[f]!) < NEAR,
  )
}

/** Maximum number of near pairs of elements. More would take hundreds of megabytes of memory. */
const MAX_PAIRS = 600_000

/** For each element of S, the elements of T from `start` to `end` that may be nearer than NEAR. */
function nearElements(S: Shape, T: Shape, start: number, end: number): Neighbours {
  const pairs = new Map<number, number[]>()
  let count = 0
  closePairs(S, T, NEAR, (e, f) => {
    if (f < start || f >= end) return
    if (++count > MAX_PAIRS)
      throw new GeometryError(
        S.path,
        `runs along ${T.path} in more than ${MAX_PAIRS} pairs of edges, too many to decide containment; simplify one of the geometries`,
      )
    addTo(pairs, e, f)
  })
  return pairs
}

function reversed(neighbours: Neighbours): Neighbours {
  const pairs = new Map<number, number[]>()
  for (const [e, list] of neighbours) for (const f of list) addTo(pairs, f, e)
  return pairs
}
