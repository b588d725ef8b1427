import type { Position } from 'geojson'

/**
 * Geometries of up to a few hundred metres in a plane: a reference for areas, insides and distances that
 * shares no code with the kernel. Positions are projected onto the tangent plane from the centre of the
 * earth. There, geodesics are straight to a nanometre, and lengths accurate to 1e-8.
 */

export type Point = readonly [x: number, y: number]

const A = 6_378_137
const E2 = (2 - 1 / 298.257223563) / 298.257223563
const RADIUS = 6_371_008

function cartesian([lon = 0, lat = 0]: Position): readonly [number, number, number] {
  const [l, p] = [(lon * Math.PI) / 180, (lat * Math.PI) / 180]
  const n = A / Math.sqrt(1 - E2 * Math.sin(p) ** 2)
  return [n * Math.cos(p) * Math.cos(l), n * Math.cos(p) * Math.sin(l), n * (1 - E2) * Math.sin(p)]
}

/** Projection onto the tangent plane at a position, metres east and north of it. */
export function planeAt(origin: Position): (position: Position) => Point {
  const [l, p] = [(origin[0]! * Math.PI) / 180, (origin[1]! * Math.PI) / 180]
  const [ox, oy, oz] = cartesian(origin)
  return (position) => {
    const [x, y, z] = cartesian(position)
    const [dx, dy, dz] = [x - ox, y - oy, z - oz]
    const toAxis = Math.cos(l) * dx + Math.sin(l) * dy
    const scale = RADIUS / (RADIUS + Math.cos(p) * toAxis + Math.sin(p) * dz)
    return [scale * (Math.cos(l) * dy - Math.sin(l) * dx), scale * (Math.cos(p) * dz - Math.sin(p) * toAxis)]
  }
}

/** Area of an open ring, positive if it runs counterclockwise. */
export function areaOf(ring: readonly Point[]): number {
  const [ox, oy] = ring[0] ?? [0, 0]
  return ring.reduce((sum, [x, y], i) => {
    const [nx, ny] = ring[(i + 1) % ring.length]!
    return sum + ((x - ox) * (ny - oy) - (nx - ox) * (y - oy)) / 2
  }, 0)
}

/** Part of an open ring in a convex one (Sutherland and Hodgman, 1974). */
export function clip(ring: readonly Point[], convex: readonly Point[]): readonly Point[] {
  const around = areaOf(convex) < 0 ? convex.toReversed() : convex
  return around.reduce((rest, [ax, ay], i) => {
    const [bx, by] = around[(i + 1) % around.length]!
    const side = ([x, y]: Point) => (bx - ax) * (y - ay) - (by - ay) * (x - ax)
    return rest.flatMap((p, k) => {
      const q = rest[(k + 1) % rest.length]!
      const [here, next] = [side(p), side(q)]
      const share = here / (here - next)
      const crossing: Point = [p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])]
      return [...(here >= 0 ? [p] : []), ...(here * next < 0 ? [crossing] : [])]
    })
  }, ring)
}

/** True if a point is inside an open ring. */
export function isInside([x, y]: Point, ring: readonly Point[]): boolean {
  return ring.reduce((inside, [ax, ay], i) => {
    const [bx, by] = ring[(i + 1) % ring.length]!
    return ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax) ? !inside : inside
  }, false)
}

/** Distance from a point to the edges of an open ring. */
export function distanceTo([x, y]: Point, ring: readonly Point[]): number {
  return Math.min(
    ...ring.map(([ax, ay], i) => {
      const [bx, by] = ring[(i + 1) % ring.length]!
      const [dx, dy] = [bx - ax, by - ay]
      const share = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)))
      return Math.hypot(x - ax - share * dx, y - ay - share * dy)
    }),
  )
}
