import {
  coarseDistance,
  coarseLine,
  coarseMinima,
  coarseOffset,
  type CoarseLine,
  type CoarsePlace,
} from './coarse'
import { EQUATORIAL_RADIUS, geodesics, type Geodesics, type Line, type LonLat, type Vector } from './geodesic'

/**
 * Relations of edges (shortest geodesics between two positions, up to half the globe), computed in fixed
 * point.
 *
 * - The foot of a position on a line: starts at the foot in double precision, and steps by the formula for a
 *   sphere (Baselga and Martinez-Llario 2018) until the angle at the foot, in fixed point, is accurate to
 *   1e-12. The distance there exceeds the least one by less than 1e-24 of it.
 * - Meeting edges: two pieces of at most 1,000 km that are near enough (midpoints no farther apart than half
 *   the sum of the lengths) cross if the ends of each lie on opposite sides of the other's line. Offsets
 *   below 10 micrometres are computed in fixed point. Below 1e-20 m they count as zero, and then an end of
 *   one edge lies on the other, or the edges do not meet.
 * - The least distance of two edges that do not meet is that of an end of one to the other, because the
 *   curvature is positive.
 */
export interface Edge {
  a: Vector
  b: Vector
  line: Line
  length: bigint
  metres: number
  /** direction at `b` */
  end: Vector
  coarse: CoarseLine
}

export interface Edges {
  edge: (a: LonLat, b: LonLat) => Edge
  /**
   * Signed distance of a position from the geodesic that extends an edge, metres, positive to the left. The
   * foot is the one nearest to the edge.
   */
  offset: (edge: Edge, place: Vector) => { metres: number; along: number }
  /** metres; 0 if the position lies on the edge */
  distanceToEdge: (edge: Edge, place: Vector) => number
  /** metres; 0 if the edges meet */
  distance: (first: Edge, second: Edge) => number
  meet: (first: Edge, second: Edge) => boolean
  /** true if their interiors cross, ignoring an end of one on the other's line */
  isCrossing: (first: Edge, second: Edge) => boolean
  /**
   * Crossing of the interiors of two edges: the position, within 1e-20 m of both lines, its nearest doubles,
   * and metres along each edge.
   */
  crossing: (
    first: Edge,
    second: Edge,
  ) => { place: Vector; at: LonLat; first: number; second: number } | undefined
}

/**
 * Offset in metres below which it counts as zero. Fixed point errs by less than 1e-24 m, even 2,000 km away
 * from an edge of 0.1 mm.
 */
export const NOTHING = 1e-20
/** Offset in metres above which double precision decides, whose error is below a hundredth of it. */
const DOUBT = 1e-5
const PIECE = 1_000_000
/** Distances in double precision that differ by less, metres, may be in the incorrect order. */
const EQUAL = 1e-6

interface Piece {
  edge: Edge
  from: bigint
  to: bigint
}

/**
 * Builds the relations. With an infinite `doubt`, and 1 km as `equal`, double precision only provides
 * starting points, and excludes what is far apart.
 */
export function edges(geodesics: Geodesics, { doubt, equal } = { doubt: DOUBT, equal: EQUAL }): Edges {
  const { fixed, line, inverse, dot, cross, metres, coarsePlace, coarseAzimuth } = geodesics
  const { from, toNumber } = fixed
  function edge(first: LonLat, second: LonLat): Edge {
    const [a, b] = [geodesics.place(first), geodesics.place(second)]
    const { length, start, end } = inverse(a, b)
    return {
      a,
      b,
      line: line(a, start),
      length,
      metres: metres(length),
      end,
      coarse: coarseLine(coarsePlace(a), coarseAzimuth(a, start)),
    }
  }

  function where(of: Edge, along: bigint) {
    if (along === 0n) return { place: of.a, direction: of.line.direction }
    if (along === of.length) return { place: of.b, direction: of.end }
    return of.line.at(along)
  }

  /**
   * Foot of a position on an edge (on its whole line without bounds), searched from `start` metres: `along`
   * in equatorial radii, distance and offset in metres.
   */
  function foot(of: Edge, place: Vector, start: number, low: bigint | undefined, high: bigint | undefined) {
    const clamp = (value: bigint) =>
      low !== undefined && value < low ? low : high !== undefined && value > high ? high : value
    // A position may coincide with an end if double precision cannot distinguish the two.
    let along = clamp(geodesics.length(start))
    for (let i = 0; i < 40; i++) {
      const here = where(of, along)
      const { length, start: sight } = inverse(here.place, place)
      const distance = toNumber(length)
      const cos = toNumber(dot(here.direction, sight))
      const left = toNumber(dot(cross(here.place, here.direction), sight))
      const held = (along === low && cos <= 0) || (along === high && cos >= 0)
      if (held || Math.abs(cos) < 1e-12 || distance < 1e-30)
        return { along, distance: distance * EQUATORIAL_RADIUS, left: distance * EQUATORIAL_RADIUS * left }
      along = clamp(along + from(Math.atan2(Math.sin(distance) * cos, Math.cos(distance))))
    }
    throw new Error('The foot did not converge')
  }

  function offsetNear(of: Edge, place: Vector, start: number) {
    const { along, left } = foot(
      of,
      place,
      coarseOffset(of.coarse, coarsePlace(place), start).along,
      undefined,
      undefined,
    )
    return { metres: left, along: metres(along) }
  }
  function offset(of: Edge, place: Vector) {
    const nearest = minima(of, place).reduce((best, other) => (other.distance < best.distance ? other : best))
    return offsetNear(of, place, nearest.along)
  }
  /** Side of a piece's line on which a position near the piece lies: -1, 0 or 1. */
  function side(piece: Piece, place: Vector): number {
    const near = coarseOffset(piece.edge.coarse, coarsePlace(place), center(piece))
    if (Math.abs(near.offset) > doubt) return Math.sign(near.offset)
    const { left } = foot(piece.edge, place, near.along, undefined, undefined)
    return Math.abs(left) < NOTHING ? 0 : Math.sign(left)
  }

  /** Candidates for the nearest position, in double precision. */
  function minima(of: Edge, place: Vector) {
    return coarseMinima(of.coarse, of.metres, coarsePlace(place)).map((minimum) => ({
      ...minimum,
      edge: of,
      place,
    }))
  }
  function least(
    candidates: readonly { along: number; distance: number; edge: Edge; place: Vector }[],
  ): number {
    const bound = Math.min(...candidates.map(({ distance }) => distance)) + equal
    const distances = candidates
      .filter(({ distance }) => distance <= bound)
      .map(({ along, edge, place }) => foot(edge, place, along, 0n, edge.length).distance)
    const shortest = Math.min(...distances)
    return shortest < NOTHING ? 0 : shortest
  }
  const distanceToEdge = (of: Edge, place: Vector) => least(minima(of, place))

  const center = ({ from: low, to: high }: Piece) => metres((low + high) / 2n)
  const middle = (piece: Piece): CoarsePlace => piece.edge.coarse.at(center(piece))
  const size = ({ from: low, to: high }: Piece) => metres(high - low)
  function halves(piece: Piece): [Piece, Piece] {
    const half = (piece.from + piece.to) / 2n
    return [
      { ...piece, to: half },
      { ...piece, from: half },
    ]
  }
  function ends(piece: Piece): [Vector, Vector] {
    return [where(piece.edge, piece.from).place, where(piece.edge, piece.to).place]
  }
  /**
   * Pieces that cross, with the ends of each strictly on opposite sides of the other. distance() handles an
   * end on the other's line.
   */
  function crossingPieces(first: Piece, second: Piece): [Piece, Piece] | undefined {
    if (coarseDistance(middle(first), middle(second)) > (size(first) + size(second)) / 2 + 1) return undefined
    if (size(first) > PIECE || size(second) > PIECE) {
      if (size(first) >= size(second))
        return halves(first).reduce<[Piece, Piece] | undefined>(
          (found, half) => found ?? crossingPieces(half, second),
          undefined,
        )
      return halves(second).reduce<[Piece, Piece] | undefined>(
        (found, half) => found ?? crossingPieces(first, half),
        undefined,
      )
    }
    const parted = (line: Piece, other: Piece) => {
      const [one, two] = ends(other)
      const before = side(line, one)
      return before !== 0 && before * side(line, two) < 0
    }
    return parted(first, second) && parted(second, first) ? [first, second] : undefined
  }
  const whole = (of: Edge): Piece => ({ edge: of, from: 0n, to: of.length })
  const cross2 = (first: Edge, second: Edge) => crossingPieces(whole(first), whole(second))

  function distance(first: Edge, second: Edge): number {
    if (cross2(first, second)) return 0
    return least([
      ...minima(first, second.a),
      ...minima(first, second.b),
      ...minima(second, first.a),
      ...minima(second, first.b),
    ])
  }
  function crossing(first: Edge, second: Edge) {
    const pieces = cross2(first, second)
    if (!pieces) return undefined
    // Along the second piece, the offset from the first line changes sign once and is nearly linear, so the
    // method of false position converges fast.
    let [low, high] = [pieces[1].from, pieces[1].to]
    const at = (along: bigint) => offsetNear(first, where(second, along).place, center(pieces[0]))
    let [below, above] = [at(low).metres, at(high).metres]
    for (let i = 0; i < 200; i++) {
      // Computes the step from the nearer end, so that it is accurate to 16 digits.
      const step = (near: number, far: number) => fixed.multiply(high - low, from(near / (near - far)))
      const next = Math.abs(below) < Math.abs(above) ? low + step(below, above) : high - step(above, below)
      const found = at(next)
      if (Math.abs(found.metres) < NOTHING || next === low || next === high)
        return {
          place: where(second, next).place,
          at: geodesics.position(where(second, next).place),
          first: found.along,
          second: metres(next),
        }
      // Illinois method: the offset of the end that stays is halved, so that both ends close in.
      if (Math.sign(found.metres) === Math.sign(below)) [low, below, above] = [next, found.metres, above / 2]
      else [high, above, below] = [next, found.metres, below / 2]
    }
    throw new Error('The crossing did not converge')
  }
  return {
    edge,
    offset,
    distanceToEdge,
    distance,
    crossing,
    meet: (first, second) => distance(first, second) === 0,
    isCrossing: (first, second) => cross2(first, second) !== undefined,
  }
}

export type Reference = Geodesics & Edges

function referenceOf(bits: number, filters?: Parameters<typeof edges>[1]): Reference {
  const globe = geodesics(bits)
  return { ...globe, ...edges(globe, filters) }
}
/** Reference that kernels are compared with. */
export const usualReference = () => referenceOf(144)
/**
 * Reference with twice the bits, and without filters. If it returns the same result, the usual reference is
 * correct.
 */
export const preciseReference = () => referenceOf(288, { doubt: Infinity, equal: 1_000 })
