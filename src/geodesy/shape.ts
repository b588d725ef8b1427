// SPDX-License-Identifier: MIT
import type { Kind } from './geojson'
import type { Indexed } from './tree'

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

/** Polygon of a shape: the range of chains that are its rings. The shell comes first. */
export interface Polygon {
  firstChain: number
  endChain: number
}

/**
 * A prepared geometry in flat arrays: without repeated vertices, with a vertex where an edge passes a pole,
 * and with long edges cut. An element is an edge, or a position (`from` and `to` are equal).
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

/** Index of the polygon that an element belongs to; -1 for points and lines. */
export function polygonOf({ chains, chainOf }: Shape, element: number): number {
  return chains[chainOf[element]!]!.polygon
}

/** Path in the client's input of the start of an element, such as `from.coordinates[0][3]`. */
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

/** Adds an item to the list of a key. */
export function addTo<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
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
