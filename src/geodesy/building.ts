// SPDX-License-Identifier: MIT
import { Builder } from './builder'
import { Kind, type Reading } from './geojson'
import type { Chain, Place, Polygon, Shape } from './shape'
import { normalLongitude } from './vertices'

/** Builds a shape. Throws a GeometryError for edges without one shortest path and rings without an inside. */
export function buildShape(reading: Reading): Shape {
  const isPoints = reading.chains.every(({ kind }) => kind === Kind.Points)
  const builder = new Builder(reading.lon.length + (isPoints ? 0 : SPARE_VERTICES))
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

/** Room for vertices at poles and cuts. Points need none: V8 allocates 64 bytes fifteen times as fast. */
const SPARE_VERTICES = 16

/** Builds a shape of closed loops, each from its first position back to it. No edge is cut. */
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

/** A position on an element. `along` grows along the element, on one scale for all cuts of it. */
export interface Cut extends Place {
  along: number
}

/**
 * Returns the shape with some elements cut, without those that lose their length.
 * @param placeOf returns the new position of a vertex or cut: one object for all that merge
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
        // If the edge passed next to the pole, a cut may lie on the opposite meridian.
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
