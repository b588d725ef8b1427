// SPDX-License-Identifier: MIT
import { crossingOf } from './edge'
import { spend } from './effort'
import { GeometryError } from './error'
import { Kind } from './geojson'
import { Nodes } from './nodes'
import { findSides, holdsNorth, turnsOf, type Rings } from './region'
import { buildLoops, joinChains, type ChainOf } from './building'
import { addTo, isTurn, keyOf, type Place, type Polygon, type Shape } from './shape'
import { sweep, type Labels } from './sweep'
import { normalLongitude } from './vertices'

/** Rings, cut where they meet, with the sum of the rings (shells 1, holes -1) on each side of each piece. */

/** Rings of polygons, cut where they meet. */
export interface Arranged {
  shape: Shape
  rings: Rings
  /** by element: number of polygons on its left and on its right */
  labels: Labels
}

/** Rings of a polygon of a shape. */
export function chainsOf(shape: Shape, { firstChain, endChain }: Polygon): ChainOf[] {
  return shape.chains.slice(firstChain, endChain).map((chain) => ({ shape, chain }))
}

/** Shape of polygons, in the order of their index, and of other chains, with the sides of its rings. */
export function joinPolygons(
  path: string,
  polygons: readonly (readonly ChainOf[])[],
  others: readonly ChainOf[] = [],
): Pick<Arranged, 'shape' | 'rings'> {
  const rings = polygons.flatMap((own, polygon) =>
    own.map(({ shape, chain }) => ({ shape, chain: { ...chain, polygon } })),
  )
  let first = 0
  const ranges = polygons.map(({ length }) => ({ firstChain: first, endChain: (first += length) }))
  const shape = joinChains(path, [...rings, ...others], ranges)
  return { shape, rings: findSides(shape) }
}

/**
 * Cuts rings at the nodes and wherever else they meet, and determines the sums on both sides.
 * @param known by ring, the side of its inside (`Labels.turns`); required if a ring may cross itself
 */
export function settle(
  shape: Shape,
  rings: Rings,
  nodes: Nodes,
  crossing: (shape: Shape, e: number, f: number) => void,
  known?: Int8Array,
): Arranged {
  for (let cut = nodes.split(); ;) {
    const more = nodesBetween(cut, crossing)
    const sides = sidesOf(cut, shape, rings)
    const labels = sweep(cut, sides, cut.polygons, more.meet, known)
    if (!more.any) return { shape: cut, rings: sides, labels }
    cut = more.split()
  }
}

/**
 * Sides of the rings after they are cut. A piece of an edge next to a pole may, by rounding, pass over it or
 * on its other side, so the turns around the pole then follow from the pieces.
 */
export function sidesOf(cut: Shape, shape: Shape, rings: Rings): Rings {
  const isMoved = cut.chains.some(
    (chain, c) => chain.kind === Kind.Ring && turnsOf(cut, chain) !== turnsOf(shape, shape.chains[c]!),
  )
  return isMoved ? findSides(cut) : rings
}

/** Nodes of a shape; `crossing` is called for edges that cross before they are cut there. */
export function nodesBetween(shape: Shape, crossing: (shape: Shape, e: number, f: number) => void): Nodes {
  const nodes: Nodes = new Nodes(shape, (e, f) => {
    crossing(shape, e, f)
    const { from, to } = shape
    const found = crossingOf(shape, from[e]!, to[e]!, shape, from[f]!, to[f]!)
    spend(60)
    // A vertical edge keeps its own longitude, so that an edge to a pole still runs along its meridian.
    const upright = [e, f].find((edge) => shape.lon[from[edge]!] === shape.lon[to[edge]!])
    const lon = upright === undefined ? normalLongitude(found.lon) : shape.lon[from[upright]!]!
    const where = { lon, lat: found.lat }
    nodes.cutAt(e, where)
    nodes.cutAt(f, where)
    nodes.pairs++
  })
  return nodes
}

/**
 * Polygons as one regularised point set, the closure of its interior. Its boundary has the inside on one side
 * only, while seams, cuts, keyholes and boundaries within another polygon have it on both.
 */
export interface Region {
  /** elements 0 to `end` form the boundary, as closed loops; later elements do not belong to it */
  shape: Shape
  end: number
  holdsNorthPole: boolean
}

/**
 * Boundary as closed loops with the inside on their left. Turns at the poles are rebuilt along the inside.
 * @param isInside true for the sums that count as inside
 */
export function loopsOf(
  { shape, rings, labels: { left, right } }: Arranged,
  isInside = (sum: number) => sum > 0,
): Region {
  const { lon, lat, from, to } = shape
  const edges: Directed[] = []
  const seen = new Set<string>()
  const atPole = { inside: false, any: false }
  for (let e = 0; e < shape.ringsEnd; e++) {
    if (isTurn(shape, e)) continue
    if (Math.max(lat[from[e]!]!, lat[to[e]!]!) === 90) {
      atPole.any = true
      atPole.inside ||= isInside(left[e]!) && isInside(right[e]!)
    }
    if (isInside(left[e]!) === isInside(right[e]!)) continue
    const [a, b] = isInside(left[e]!) ? [from[e]!, to[e]!] : [to[e]!, from[e]!]
    const edge = { from: { lon: lon[a]!, lat: lat[a]! }, to: { lon: lon[b]!, lat: lat[b]! } }
    // Edges that coincide are used only once.
    const key = `${keyOf(edge.from)} ${keyOf(edge.to)}`
    if (!seen.has(key)) edges.push(edge)
    seen.add(key)
  }
  const bounded = (pole: number) => edges.some((edge) => edge.from.lat === pole || edge.to.lat === pole)
  const all = shape.polygons.map(({ firstChain, endChain }) => holdsNorth(rings, [firstChain, endChain]))
  const holdsNorthPole = bounded(90) ? false : atPole.any ? atPole.inside : all.includes(true)
  const loops = follow(
    [...edges, ...turnsAt(edges, 90, shape.path), ...turnsAt(edges, -90, shape.path)],
    shape.path,
  )
  const bounds = buildLoops(shape.path, loops)
  return { shape: bounds, end: bounds.ringsEnd, holdsNorthPole }
}

interface Directed {
  from: Place
  to: Place
}

/**
 * Turns at a pole: each leads from a meridian by which the boundary arrives to the next meridian by which it
 * leaves, along the inside. That is westward at the north pole and eastward at the south pole.
 */
function turnsAt(edges: readonly Directed[], pole: 90 | -90, path: string): Directed[] {
  const leaving = edges.filter(({ from }) => from.lat === pole).map(({ from }) => from.lon)
  const turns: Directed[] = []
  if (leaving.length !== edges.filter(({ to }) => to.lat === pole).length)
    throw uncertain(path, { lon: leaving[0] ?? 0, lat: pole })
  for (const { to } of edges) {
    if (to.lat !== pole) continue
    const ahead = (lon: number) => (((pole === 90 ? to.lon - lon : lon - to.lon) % 360) + 360) % 360
    const next = leaving.reduce((best, lon) => (ahead(lon) < ahead(best) ? lon : best))
    // A turn of half the globe would have an ambiguous direction, so all turns are shorter.
    let [at, left] = [to.lon, ahead(next)]
    while (left > 0) {
      const step = left > 120 ? 90 : left
      const lon = left > 120 ? wrapped(pole === 90 ? at - step : at + step) : next
      turns.push({ from: { lon: at, lat: pole }, to: { lon, lat: pole } })
      ;[at, left] = [lon, left - step]
    }
  }
  return turns
}

function wrapped(lon: number): number {
  return lon < -180 ? lon + 360 : lon >= 180 ? lon - 360 : lon
}

function uncertain(path: string, { lon, lat }: Place): GeometryError {
  return new GeometryError(
    path,
    `polygons meet at [${lon}, ${lat}] within a micrometre of each other, so their boundary is ambiguous; merge them`,
  )
}

/** Joins directed edges into closed loops. At each position, as many edges begin as end. */
function follow(edges: readonly Directed[], path: string): Place[][] {
  spend(edges.length)
  const leaving = new Map<string, number[]>()
  for (let i = edges.length - 1; i >= 0; i--) addTo(leaving, keyOf(edges[i]!.from), i)
  const used = new Uint8Array(edges.length)
  const loops: Place[][] = []
  for (let first = 0; first < edges.length; first++) {
    if (used[first]) continue
    const loop = [edges[first]!.from]
    used[first] = 1
    for (let at = edges[first]!.to; keyOf(at) !== keyOf(loop[0]!);) {
      loop.push(at)
      const list = leaving.get(keyOf(at)) ?? []
      while (list.length > 0 && used[list.at(-1)!]) list.pop()
      const next = list.pop()
      if (next === undefined) throw uncertain(path, at)
      used[next] = 1
      at = edges[next]!.to
    }
    loops.push([...loop, loop[0]!])
  }
  return loops
}

/**
 * By ring that does not cross itself: 1 if its smaller side is left of it, -1 if right, 0 if it has none.
 * Each ring is swept alone, because an edge of another one may pass between its first two edges.
 */
export function directionsOf({ shape, rings }: Pick<Arranged, 'shape' | 'rings'>): Int8Array {
  const directions = new Int8Array(shape.chains.length)
  for (const [c, { kind }] of shape.chains.entries())
    if (kind === Kind.Ring)
      directions[c] = sweep(shape, rings, [{ firstChain: c, endChain: c + 1 }], () => {}).turns[0]!
  return directions
}

/** Loops of a region as a polygon's rings, shells first. Undefined if it is empty, or has no shell. */
export function ringsOf({ shape, holdsNorthPole }: Region): ChainOf[] | undefined {
  const sides = findSides(shape)
  const directions = directionsOf({ shape, rings: sides })
  // The inside is on the left of each loop, so sums of 0 or 1 at the pole are 0 or 1 everywhere.
  let atPole = 0
  for (const [c, direction] of directions.entries()) if (sides.of[c]!.holdsNorthPole) atPole += direction
  const directed = (direction: number) =>
    shape.chains.flatMap((chain, c) =>
      directions[c] === direction ? [{ shape, chain: { ...chain, isHole: direction < 0 } }] : [],
    )
  const shells = directed(1)
  return shells.length > 0 && atPole === Number(holdsNorthPole) ? [...shells, ...directed(-1)] : undefined
}
