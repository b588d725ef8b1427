import {
  azimuthTo,
  geodesicPath,
  measurable,
  positionFrom,
  type Measurable,
} from '@geospatial-attestation/client/kernel'
import { featureCollection, multiPolygon, polygon as turfPolygon } from '@turf/helpers'
import intersect from '@turf/intersect'
import { rowOf, type OperationName } from '../../src/operations/table'
import type { Feature, Geometry, LineString, MultiPolygon, Polygon, Position } from 'geojson'
import { nearest, partsOf } from './extent'

/** Drawings for a flat map: longitudes continue past 180, and rings around a pole are closed over it. */

/** Role of a feature: a geometry, or a measurement. */
export type Role = 'a' | 'b' | 'measured' | 'end' | 'buffer' | 'overlap'
export interface Drawing {
  features: Feature[]
  /** differences between the drawing and the measurement; messages `drawing.notes` */
  notes: DrawingNote[]
}
export type DrawingNote =
  | 'isInside'
  | 'wholeEarth'
  | 'manyPositions'
  | 'straightRadius'
  | 'straightOverlap'
  | 'complexOverlap'

/** Metres between drawn positions of a geodesic: a straight line between them is off by a pixel at most. */
const STEP = 25_000
/** Maximum number of positions that the kernel tests for a drawing, at tens of thousands per second. */
const MOST_PLACES = 4_000
const NORTH = measurable({ type: 'Point', coordinates: [0, 90] })
const point = (coordinates: Position) => measurable({ type: 'Point', coordinates })
const isIn = (position: Position, other: Measurable, radius: number) => {
  const [longitude = 0, latitude = 0] = position
  const wrapped = longitude - 360 * Math.round(longitude / 360)
  return point([wrapped, latitude]).within(other, radius)
}

/** Geometries of a request, unchanged. Throws an error of the kernel. */
export function drawGeometry(geometry: Geometry, role: Role): Feature[] {
  return flat(geometry).map((each) => feature(role, each))
}

/** Draws the measured parts of an answer about one or two geometries. `radius` is in metres, for `within`. */
export function drawMeasured(
  operation: OperationName,
  [a, b]: readonly Geometry[],
  radius: number | undefined,
  result: number | boolean,
): Drawing {
  const [{ accepts = [] }, other] = rowOf(operation).inputs
  if (!other || !b)
    return { features: drawGeometry(a!, accepts.includes('Polygon') ? 'overlap' : 'measured'), notes: [] }
  const first = measurable(a!)
  const second = measurable(b)
  if (radius !== undefined) {
    const [buffer, distance] = [drawBuffer(b, second, radius), drawDistance(first, second)]
    return {
      features: [...buffer.features, ...distance.features],
      notes: [...buffer.notes, ...distance.notes],
    }
  }
  return result === true ? drawOverlap(a!, b, first, second) : drawDistance(first, second)
}

const feature = (role: Role, geometry: Geometry): Feature => ({
  type: 'Feature',
  properties: { role },
  geometry,
})

/** Shortest geodesic between two geometries, and its ends. */
function drawDistance(a: Measurable, b: Measurable): Drawing {
  const ends = a.nearest(b)
  if (!ends) return { features: [], notes: ['isInside'] }
  const path = geodesicPath(...ends, STEP)
  return {
    features: [
      feature('measured', { type: 'LineString', coordinates: path }),
      feature('end', { type: 'MultiPoint', coordinates: [path[0]!, path.at(-1)!] }),
    ],
    notes: [],
  }
}

/**
 * Positions at distance `radius` from a geometry, in metres. For a point, they form a geodesic circle. For
 * other geometries, they are those positions near each edge and around each vertex that are not nearer to
 * another part, as computed by the kernel.
 */
function drawBuffer(geometry: Geometry, target: Measurable, radius: number): Drawing {
  if (radius <= 0) return { features: [], notes: [] }
  if (radius > 19_900_000) return { features: [], notes: ['wholeEarth'] }
  if (geometry.type === 'Point') {
    const ring = circle(geometry.coordinates, radius, 2)
    const poles = [NORTH, point([0, -90])].map((pole) => pole.within(target, radius))
    const features = [feature('buffer', { type: 'LineString', coordinates: ring })]
    // For a circle that contains both poles, only the edge is drawn.
    if (!(poles[0] && poles[1]))
      features.unshift(
        feature('buffer', {
          type: 'Polygon',
          coordinates: [closed(ring, poles[0] ? 90 : poles[1] ? -90 : undefined)],
        }),
      )
    return { features, notes: [] }
  }
  const chains = partsOf(geometry)
  const vertices = chains.reduce((sum, chain) => sum + chain.length, 0)
  if (vertices * 8 > MOST_PLACES) return { features: [], notes: ['manyPositions'] }
  const pieces = Math.min(100, Math.max(2, Math.floor(MOST_PLACES / 4 / vertices)))
  const turn = Math.min(45, Math.max(3, (360 * vertices) / (MOST_PLACES / 2)))
  const runs: Position[][] = []
  const keep = (candidates: Position[]) =>
    runs.push(...runsOf(candidates, (at) => !isIn(at, target, radius - 0.02)))
  for (const chain of chains) {
    for (const vertex of chain) keep(circle(vertex, radius, turn))
    for (const [i, to] of chain.slice(1).entries()) {
      const path = geodesicPath(chain[i]!, to, Math.max(0.01, lengthOf(chain[i]!, to) / pieces))
      for (const side of [-90, 90])
        keep(
          unrolled(
            path.map((at, j) => {
              const next = path[j + 1]
              const direction = next ? azimuthTo(at, next) : azimuthTo(at, path[j - 1]!) + 180
              return positionFrom(at, direction + side, radius)
            }),
          ),
        )
    }
  }
  return {
    features: runs.map((coordinates) => feature('buffer', { type: 'LineString', coordinates })),
    notes: ['straightRadius'],
  }
}

function circle(centre: Position, radius: number, step: number): Position[] {
  const count = Math.ceil(360 / step)
  return unrolled(
    Array.from({ length: count + 1 }, (_, i) => positionFrom(centre, (360 * i) / count, radius)),
  )
}

/** Overlap of areas, parts of lines within the other geometry, and one common position. */
function drawOverlap(a: Geometry, b: Geometry, first: Measurable, second: Measurable): Drawing {
  const notes: DrawingNote[] = []
  const features: Feature[] = []
  const [areasA, areasB] = [flat(a).filter(isArea), flat(b).filter(isArea)]
  if (areasA.length > 0 && areasB.length > 0)
    try {
      const overlap = areasA.flatMap((one) => areasB.map((other) => overlapOf(one, other)))
      features.push(...overlap.filter((each) => each !== undefined).map((each) => feature('overlap', each)))
      if (features.length > 0) notes.push('straightOverlap')
    } catch {
      notes.push('complexOverlap')
    }
  for (const [geometry, other] of [
    [a, second],
    [b, first],
  ] as const)
    for (const each of inOther(geometry, other)) features.push(feature('measured', each))
  const shared = first.nearest(second)
  if (shared) features.push(feature('end', { type: 'Point', coordinates: shared[0] }))
  return { features, notes }
}

const isArea = (geometry: Geometry): geometry is Polygon => geometry.type === 'Polygon'

/** Overlap on the flat map. The second polygon is moved to the first one's copy of the world. */
function overlapOf(a: Polygon, b: Polygon): Polygon | MultiPolygon | undefined {
  const middle = ({ coordinates: [shell] }: Polygon) => {
    const longitudes = shell!.map(([longitude]) => longitude!)
    return (Math.min(...longitudes) + Math.max(...longitudes)) / 2
  }
  const shift = 360 * Math.round((middle(a) - middle(b)) / 360)
  const moved = b.coordinates.map((ring) =>
    ring.map(([longitude, latitude]) => [longitude! + shift, latitude!]),
  )
  return intersect(
    featureCollection<Polygon | MultiPolygon>([turfPolygon(a.coordinates), multiPolygon([moved])]),
  )?.geometry
}

/** Points and parts of the edges of a geometry that lie in another one. */
function inOther(geometry: Geometry, other: Measurable): Geometry[] {
  const chains = partsOf(geometry)
  const total = chains.reduce((sum, chain) => sum + chain.length, 0)
  const each = Math.max(1, Math.floor(MOST_PLACES / 2 / total))
  return chains.flatMap((chain): Geometry[] => {
    if (chain.length === 1)
      return isIn(chain[0]!, other, 0) ? [{ type: 'Point', coordinates: chain[0]! }] : []
    const places = unrolled(
      chain.flatMap((from, i) => {
        const to = chain[i + 1]
        if (!to) return [from]
        const whole = geodesicPath(from, to, STEP)
        const step = whole.length > each ? Math.ceil(whole.length / each) * STEP : STEP
        const finer = Math.max(0.01, lengthOf(from, to) / Math.min(each, 16))
        return geodesicPath(from, to, whole.length > 8 ? step : finer).slice(0, -1)
      }),
    )
    return runsOf(places, (at) => isIn(at, other, 0)).map((coordinates) => ({
      type: 'LineString',
      coordinates,
    }))
  })
}

/** Approximate distance of two positions in metres, precise enough to choose a step. */
function lengthOf([lonA = 0, latA = 0]: Position, [lonB = 0, latB = 0]: Position): number {
  const turn = Math.abs(lonB - lonA)
  const east = Math.min(turn, 360 - turn) * Math.cos(((latA + latB) / 2) * (Math.PI / 180))
  return 111_195 * Math.hypot(east, latB - latA)
}

/** Parts of a line whose positions all pass `kept`, each of at least two positions. */
function runsOf(places: readonly Position[], kept: (place: Position) => boolean): Position[][] {
  const runs: Position[][] = [[]]
  for (const place of places)
    if (kept(place)) runs.at(-1)!.push(place)
    else if (runs.at(-1)!.length > 0) runs.push([])
  return runs.filter((run) => run.length > 1)
}

/** Points, lines and polygons for a flat map, with edges as geodesics. */
function flat(geometry: Geometry): Geometry[] {
  switch (geometry.type) {
    case 'Point':
    case 'MultiPoint':
      return [geometry]
    case 'LineString':
      return [{ type: 'LineString', coordinates: dense(geometry.coordinates) }]
    case 'MultiLineString':
      return geometry.coordinates.flatMap((coordinates) => flat({ type: 'LineString', coordinates }))
    case 'Polygon':
      return flatPolygon(geometry.coordinates)
    case 'MultiPolygon':
      return geometry.coordinates.flatMap((coordinates) => flat({ type: 'Polygon', coordinates }))
    case 'GeometryCollection':
      return geometry.geometries.flatMap(flat)
  }
}

/** Area and, as lines, its rings: the line that closes a ring over a pole is not an edge. */
function flatPolygon(rings: readonly Position[][]): (Polygon | LineString)[] {
  const start = rings[0]?.[0]?.[0] ?? 0
  // Holes are drawn on the same copy of the world as their exterior ring.
  const edges = rings.map((ring) => {
    const positions = dense(ring)
    const shift = 360 * Math.round((start - positions[0]![0]!) / 360)
    return positions.map(([longitude, latitude]) => [longitude! + shift, latitude!])
  })
  const areas = edges.map((edge, i) => {
    if (!goesRound(edge)) return edge
    const inside = measurable({ type: 'Polygon', coordinates: [rings[i]!] })
    return closed(edge, NORTH.meets(inside) ? 90 : -90)
  })
  return [
    { type: 'Polygon', coordinates: areas },
    ...edges.map((coordinates) => ({ type: 'LineString' as const, coordinates })),
  ]
}

function dense(positions: readonly Position[]): Position[] {
  return unrolled(
    positions.flatMap((from, i) => {
      const to = positions[i + 1]
      if (!to) return [from]
      return lengthOf(from, to) < STEP / 2 ? [from] : geodesicPath(from, to, STEP).slice(0, -1)
    }),
  )
}

/** Positions whose longitudes continue past 180 instead of jumping to -180. */
function unrolled(positions: readonly Position[]): Position[] {
  let before = positions[0]?.[0] ?? 0
  return positions.map(([longitude = 0, latitude = 0]) => {
    before = nearest(longitude, before)
    return [before, latitude]
  })
}

const goesRound = (ring: readonly Position[]) => Math.abs(ring.at(-1)![0]! - ring[0]![0]!) > 180

/** A ring, closed over a pole if it runs around one. */
function closed(ring: Position[], pole: 90 | -90 | undefined): Position[] {
  if (pole === undefined || !goesRound(ring)) return ring
  return [...ring, [ring.at(-1)![0]!, pole], [ring[0]![0]!, pole], ring[0]!]
}
