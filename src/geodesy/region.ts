// SPDX-License-Identifier: MIT
import { spend } from './effort'
import { areaBelow, TOTAL_AREA } from './ellipsoid'
import { edgeBound, passesNorthOf } from './edge'
import { GeometryError } from './error'
import { Kind } from './geojson'
import type { Chain, Polygon, Shape } from './shape'
import { squaredChord, type Vertices } from './vertices'
import { STRIDE } from './tree'

/**
 * Inside of rings and polygons. A ring bounds the smaller side. A position is inside if the meridian from it
 * to the north pole meets the ring an odd number of times, or an even number if the pole is inside.
 */

/** Cap that contains a ring: a direction from the centre of the earth, and the cosine of an angle. */
interface Cap {
  x: number
  y: number
  z: number
  cosine: number
}

interface Ring {
  holdsNorthPole: boolean
  /** absent if the ring is too wide for a cap */
  cap?: Cap
}

/** Rings of a shape's polygons, with their sides. */
export interface Rings {
  /** by chain; undefined for points and lines */
  readonly of: readonly (Ring | undefined)[]
  /** by chain, with one more entry: number of rings before it that contain the north pole */
  readonly northBefore: Uint32Array
}

/** Cosine of the greatest radius of a cap, 78 degrees. A wider ring's area determines the smaller side. */
const WIDEST_CAP = 0.2
/** The smaller side is ambiguous if the areas differ by less than the ring's length times this, metres. */
const BOUNDARY_WIDTH = 0.01

/** Determines the sides of all rings. Throws a GeometryError for a ring near half the ellipsoid. */
export function findSides(shape: Shape): Rings {
  const of = shape.chains.map((chain) => (chain.kind === Kind.Ring ? findSide(shape, chain) : undefined))
  const northBefore = new Uint32Array(of.length + 1)
  for (const [c, ring] of of.entries())
    northBefore[c + 1] = northBefore[c]! + Number(ring?.holdsNorthPole ?? false)
  return { of, northBefore }
}

function findSide(shape: Shape, chain: Chain): Ring {
  const cap = boundingCap(shape, chain)
  const turns = turnsOf(shape, chain)
  // If a cap contains the ring, it contains the smaller side too, and the farther pole is outside.
  if (cap) return { cap, holdsNorthPole: cap.z >= 0 && turns % 2 !== 0 }
  return { holdsNorthPole: widePoleSide(shape, chain, turns) }
}

/**
 * Number of eastward turns of a ring around the poles: 1, 0 or -1, because a ring does not cross itself. It
 * may be more if the ring passes a pole several times, because each turn there runs the shorter way.
 */
export function turnsOf({ lon, from, to }: Shape, { start, end }: Chain): number {
  let turns = 0
  for (let e = start; e < end; e++) {
    const across = lon[to[e]!]! - lon[from[e]!]!
    if (across > 180) turns--
    else if (across < -180) turns++
  }
  return turns
}

/** True if an odd number of a range's rings contain the north pole. A turn there counts as south of it. */
export function holdsNorth({ northBefore }: Rings, [first, end]: ChainRange): boolean {
  return (northBefore[end]! - northBefore[first]!) % 2 === 1
}

/** True if a ring contains the area below the south pole on the cylinder of longitude and latitude. */
export function holdsSouth(shape: Shape, rings: Rings, chain: number): boolean {
  return rings.of[chain]!.holdsNorthPole !== (turnsOf(shape, shape.chains[chain]!) % 2 !== 0)
}

function widePoleSide(shape: Shape, chain: Chain, turns: number): boolean {
  const { lon, lat, from, to } = shape
  let below = 0
  let length = 0
  for (let e = chain.start; e < chain.end; e++) {
    const a = from[e]!
    const b = to[e]!
    below += areaBelow(lon[a]!, lat[a]!, lon[b]!, lat[b]!)
    length += edgeBound(shape, e)
  }
  // Integral of the number of times that the ring runs around a position, 0 below the south pole and `turns`
  // above the north pole. It is one number on the greater side and, on the smaller side, one more or less.
  const around = (turns * TOTAL_AREA) / 2 - below
  const onGreater = Math.round(around / TOTAL_AREA)
  if (TOTAL_AREA / 2 - Math.abs(around - onGreater * TOTAL_AREA) < length * BOUNDARY_WIDTH + 1)
    throw new GeometryError(
      chain.path,
      'this ring divides the ellipsoid into halves, so its smaller side is ambiguous',
    )
  return (turns - onGreater) % 2 !== 0
}

function boundingCap(shape: Shape, { start, end }: Chain): Cap | undefined {
  const { x, y, z, from } = shape
  let cx = 0
  let cy = 0
  let cz = 0
  for (let e = start; e < end; e++) {
    const v = from[e]!
    cx += x[v]!
    cy += y[v]!
    cz += z[v]!
  }
  const norm = Math.hypot(cx, cy, cz)
  if (norm < 1) return undefined
  const cap = { x: cx / norm, y: cy / norm, z: cz / norm, cosine: 1 }
  let cosine = 1
  let longest = 0
  for (let e = start; e < end; e++) {
    const v = from[e]!
    cosine = Math.min(cosine, cosineFrom(cap, x[v]!, y[v]!, z[v]!))
    longest = Math.max(longest, squaredChord(shape, v, shape, shape.to[e]!))
  }
  if (cosine < WIDEST_CAP) return undefined
  // Edges leave the cap of their ends by less than their length. 2e-4 covers the ellipsoid and rounding.
  const angle = Math.acos(Math.min(1, cosine)) + Math.sqrt(longest) / 6_000_000 + 2e-4
  cap.cosine = Math.cos(Math.min(angle, Math.PI))
  return cap
}

function cosineFrom(cap: Cap, x: number, y: number, z: number): number {
  return (cap.x * x + cap.y * y + cap.z * z) / Math.sqrt(x * x + y * y + z * z)
}

/** True if vertex `p` of P is inside the shell and in no hole. Either result may occur on a boundary. */
export function insidePolygon(
  P: Vertices,
  p: number,
  S: Shape,
  rings: Rings,
  { firstChain, endChain }: Polygon,
): boolean {
  spend(0.02)
  const shell = rings.of[firstChain]!
  if (shell.cap && cosineFrom(shell.cap, P.x[p]!, P.y[p]!, P.z[p]!) < shell.cap.cosine) return false
  return insideOdd(P, p, S, rings, [firstChain, endChain])
}

/** True if a position is inside an odd number of the rings in [first, end) but not in [skip, skipEnd). */
export function insideOdd(
  P: Vertices,
  p: number,
  S: Shape,
  rings: Rings,
  [first, end]: ChainRange,
  [skip, skipEnd]: ChainRange = [first, first],
): boolean {
  const { chains } = S
  const crossings = (from: number, until: number) =>
    from < until && crossingsNorth(P, p, S, chains[from]!.start, chains[until - 1]!.end)
  const { northBefore } = rings
  const holdingNorth = northBefore[end]! - northBefore[first]! - (northBefore[skipEnd]! - northBefore[skip]!)
  return (crossings(first, skip) !== crossings(skipEnd, end)) !== (holdingNorth % 2 === 1)
}

/** True if a position is inside boundaries that are closed loops: the elements from 0 to `end`. */
export function insideLoops(
  P: Vertices,
  p: number,
  { shape, end, holdsNorthPole }: { shape: Shape; end: number; holdsNorthPole: boolean },
): boolean {
  return crossingsNorth(P, p, shape, 0, end) !== holdsNorthPole
}

type ChainRange = readonly [first: number, end: number]

const nodeStack = new Int32Array(512)
const levelStack = new Int32Array(512)

/** True if edges of whole or partial rings meet the meridian north of `p` an odd number of times. */
function crossingsNorth(P: Vertices, p: number, S: Shape, start: number, end: number): boolean {
  spend(0.3)
  const { tree, lon, from, to, chains, chainOf } = S
  const { nodes, wraps } = tree
  const meridian = P.lon[p]!
  const height = P.z[p]!
  let odd = false
  let top = 0
  nodeStack[0] = tree.root
  levelStack[0] = tree.height
  while (top >= 0) {
    const node = nodeStack[top]!
    const level = levelStack[top--]!
    const first = tree.firstElement(node, level)
    const last = tree.endElement(node, level)
    if (last <= start || first >= end) continue
    spend(0.03)
    const n = node * STRIDE
    if (meridian <= nodes[n + 6]! || meridian > nodes[n + 7]! || nodes[n + 5]! < height) continue
    if (nodes[n + 2]! > height && first >= start && last <= end) {
      // All edges are north of p, so the ends of the run decide how many of them straddle the meridian.
      const straddles = (e: number, f: number) => lon[from[e]!]! < meridian !== lon[to[f]!]! < meridian
      const ring = chainOf[first]!
      const lastRing = chainOf[last - 1]!
      // For whole rings, the two ends are one position.
      const ends =
        ring === lastRing
          ? straddles(first, last - 1)
          : straddles(first, chains[ring]!.end - 1) !== straddles(chains[lastRing]!.start, last - 1)
      if (ends !== (wraps[node] === 1)) odd = !odd
      continue
    }
    if (level > 0) {
      for (
        let child = tree.firstChild(node, level), until = tree.endChild(node, level);
        child < until;
        child++
      ) {
        nodeStack[++top] = child
        levelStack[top] = level - 1
      }
      continue
    }
    spend(0.3)
    for (let e = Math.max(first, start), until = Math.min(last, end); e < until; e++) {
      const a = from[e]!
      const b = to[e]!
      const wrapped = Math.abs(lon[a]! - lon[b]!) > 180
      if ((lon[a]! < meridian !== lon[b]! < meridian) !== wrapped && passesNorthOf(P, p, S, a, b)) odd = !odd
    }
  }
  return odd
}
