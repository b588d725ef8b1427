import type { Prepared } from './distance'
import {
  A,
  B,
  E2,
  RADIANS,
  TOTAL_AREA,
  areaBelow,
  geodesicLine,
  inverse,
  inverseDistance,
  type GeodesicSolution,
} from './ellipsoid'
import { spend } from './effort'
import { turnsOf } from './region'
import type { Chain, Shape } from './shape'
import { refuseOverlap } from './union'

/**
 * Area of the polygons, square metres, holes left out: by Green's theorem the sum over edges of the area between the
 * geodesic and a parallel of the ring's own latitude. That integral is done here, in differences from the edge's own start,
 * to about 1e-15 of the area; close to a pole, by triangles with it. (GeographicLib counts from the equator, and leaves
 * 1e-5 to 3e-2 m2.)
 * Throws a GeometryError where polygons of a MultiPolygon overlap: their sum would not be their area.
 */
export function polygonArea(prepared: Prepared): number {
  const { given: shape } = prepared
  refuseOverlap(prepared, prepared.rings)
  const sum = new Sum()
  for (const { firstChain, endChain } of shape.polygons)
    for (let c = firstChain; c < endChain; c++)
      sum.add(c === firstChain ? ringArea(shape, shape.chains[c]!) : -ringArea(shape, shape.chains[c]!))
  return Math.max(0, sum.value)
}

/** Length of the lines, metres: the sum of their edges. */
export function lineLength({ given: shape }: Prepared): number {
  const sum = new Sum()
  for (let e = 0; e < shape.from.length; e++) {
    const [a, b] = [shape.from[e]!, shape.to[e]!]
    if (a !== b) sum.add(inverseDistance(shape.lon[a]!, shape.lat[a]!, shape.lon[b]!, shape.lat[b]!))
  }
  return sum.value
}

/** A sum that keeps what rounding drops (Neumaier's variant of Kahan's). */
class Sum {
  private total = 0
  private lost = 0
  add(term: number): void {
    const next = this.total + term
    this.lost += Math.abs(this.total) >= Math.abs(term) ? this.total - next + term : term - next + this.total
    this.total = next
  }
  get value(): number {
    return this.total + this.lost
  }
}

/** The smaller side of a ring, square metres. */
function ringArea(shape: Shape, chain: Chain): number {
  const { lon, lat, from, to } = shape
  const { start, end } = chain
  let [south, north] = [90, -90]
  for (let e = start; e < end; e++) {
    south = Math.min(south, lat[from[e]!]!)
    north = Math.max(north, lat[from[e]!]!)
  }
  // Of a ring round a pole, the cap above it; of another, what lies between it and its middle.
  const middle = (south + north) / 2
  const reference = turnsOf(shape, chain) === 0 ? middle : middle > 0 ? 90 : -90
  const sum = new Sum()
  for (let e = start; e < end; e++)
    sum.add(areaToParallel(lon[from[e]!]!, lat[from[e]!]!, lon[to[e]!]!, lat[to[e]!]!, reference))
  const side = Math.abs(sum.value)
  return Math.min(side, TOTAL_AREA - side)
}

/**
 * Edges are integrated in steps of this size at most: earth radii, or of the way to the pole where that is less than one. At
 * this, four nodes leave less than rounding does (measured: 4e-14 of the area at 0.045, 2e-13 at 0.09).
 */
const STEP = 0.02
/** With more steps, so close to a pole, the library integrates. */
const MAX_STEPS = 1_500

/** More equal steps than this are made unequal where that is fewer: small near the pole only. */
const MANY_STEPS = 24

/** The parts of an edge that it is integrated in, which add up to 1; undefined for more than MAX_STEPS. */
function stepsAlong(fromA: number, fromB: number, turn: number, rise: number): number[] | undefined {
  // How close the edge comes to the pole, on a flat map of it, is how steep its bearing turns.
  const length = Math.sqrt(rise * rise + 4 * fromA * fromB * Math.sin(turn / 2) * Math.sin(turn / 2))
  const closest = Math.abs(turn) < Math.PI ? (fromA * fromB * Math.abs(Math.sin(turn))) / length : 0
  const beside =
    fromA * Math.cos(turn) < fromB && fromB * Math.cos(turn) < fromA ? closest : Math.min(fromA, fromB)
  const equal = Math.ceil((length * Math.max(1, 1 / beside)) / STEP)
  if (equal <= MANY_STEPS) return new Array<number>(equal).fill(1 / equal)
  const [x, y] = [fromB * Math.cos(turn) - fromA, fromB * Math.sin(turn)]
  const steps: number[] = []
  for (let at = 0; at < 1; at += steps.at(-1)!) {
    if (steps.length === MAX_STEPS) return undefined
    const [px, py] = [fromA + x * at, y * at]
    steps.push((STEP * Math.min(1, Math.sqrt(px * px + py * py))) / length)
    if (!(steps.at(-1)! > 1e-9)) return undefined
  }
  const sum = steps.reduce((total, step) => total + step, 0)
  return steps.map((step) => step / sum)
}

/** Square metres between the geodesic from A to B and a parallel, positive for an edge that runs east, north of it. */
function areaToParallel(
  lonA: number,
  latA: number,
  lonB: number,
  latB: number,
  reference: number,
  halvings = 0,
): number {
  const across = lonB - lonA
  // Across the antimeridian, both differences from it are exact.
  const turn =
    (across > 180 ? lonB - 180 - (lonA + 180) : across < -180 ? lonB + 180 + (180 - lonA) : across) * RADIANS
  if (turn === 0) return 0
  const parallel = reference * RADIANS
  const pole = latA + latB > 0 ? 90 : -90
  const fromA = Math.abs(pole - latA) * RADIANS
  const fromB = Math.abs(pole - latB) * RADIANS
  if (fromA < POLAR && fromB < POLAR)
    return (
      parallelArea(parallel, (pole - reference) * RADIANS) * turn -
      Math.sign(pole) * polarTriangle(fromA, fromB, turn)
    )
  const rise = (latB - latA) * RADIANS
  const steps = stepsAlong(fromA, fromB, turn, rise)
  const local =
    steps &&
    localArea(
      latA * RADIANS,
      rise,
      turn,
      (latA - reference) * RADIANS,
      parallel,
      steps,
      fromA,
      steps.length > MANY_STEPS ? inverse(lonA, latA, lonB, latB) : undefined,
    )
  if (local !== undefined) return local
  // Past a pole, in halves, down to triangles with it. Where the middle is put, to a nanometre, is what that costs.
  if (halvings === MAX_HALVINGS) return areaBelow(lonA, latA, lonB, latB) - parallelArea(0, parallel) * turn
  const { distance, azimuthA } = inverse(lonA, latA, lonB, latB)
  const { lon, lat } = geodesicLine(lonA, latA, azimuthA)(distance / 2)
  return (
    areaToParallel(lonA, latA, lon, lat, reference, halvings + 1) +
    areaToParallel(lon, lat, lonB, latB, reference, halvings + 1)
  )
}

/** 2000 km in so many halves are 2 metres. */
const MAX_HALVINGS = 20

/** Within this of a pole, radians (11 km), the ellipsoid is a sphere, to 1e-13 of an area. */
const POLAR = 0.1 * RADIANS

/**
 * Square metres of the triangle of a pole and two places close to it, given by their angles from the pole and the turn
 * between their meridians; with the sign of the turn. A spherical triangle from two sides and their angle (I. Todhunter,
 * "Spherical Trigonometry", 1886, 103), on the sphere that fits the pole, with the true lengths of the meridians for sides.
 */
function polarTriangle(fromA: number, fromB: number, turn: number): number {
  const radius = (A * A) / B
  // Half the length of a meridian, in radii: (1 + e'^2 sin^2)^(-3/2), integrated.
  const half = (angle: number) => Math.tan((angle - ((E2 / (1 - E2)) * angle * angle * angle) / 2) / 2)
  const product = half(fromA) * half(fromB)
  return 2 * radius * radius * Math.atan2(product * Math.sin(turn), 1 + product * Math.cos(turn))
}

/**
 * Square metres, per radian of longitude, between two parallels `rise` radians apart, the first at `latitude`: the
 * difference of the authalic function (J. P. Snyder, "Map Projections", 1987, (3-12)), with no cancellation.
 */
function parallelArea(latitude: number, rise: number): number {
  const e = Math.sqrt(E2)
  const from = Math.sin(latitude)
  const step = 2 * Math.cos(latitude + rise / 2) * Math.sin(rise / 2)
  const to = from + step
  return (
    ((B * B) / 2) *
    ((step * (1 + E2 * from * to)) / ((1 - E2 * from * from) * (1 - E2 * to * to)) +
      Math.atanh((e * step) / (1 - E2 * from * to)) / e)
  )
}

/** Gauss-Legendre nodes and weights on [0, 1], four of them, and the integrals from 0 to each node of the polynomials that belong to the others. */
const NODES = [-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526].map(
  (x) => (1 + x) / 2,
)
const WEIGHTS = [0.34785484513745385, 0.6521451548625461, 0.6521451548625461, 0.34785484513745385].map(
  (w) => w / 2,
)
const COLLOCATION = NODES.map((until) => NODES.map((node) => integralOfLagrange(node, until)))

/** Integral from 0 to `until` of the polynomial of degree 3 that is 1 at `node` and 0 at the other nodes: by the same four nodes, exact for it. */
function integralOfLagrange(node: number, until: number): number {
  const polynomial = (x: number) =>
    NODES.reduce((product, other) => (other === node ? product : (product * (x - other)) / (node - other)), 1)
  return NODES.reduce((sum, x, k) => sum + until * WEIGHTS[k]! * polynomial(until * x), 0)
}

/**
 * The same, angles in radians: `above` is how far the edge's start lies north of the parallel. The geodesic's equations
 * (latitude, longitude, azimuth by length) are solved by Gauss collocation of four stages, order 8, from the start, in
 * differences that keep their relative precision, with direction and length corrected until it ends in B.
 * Undefined where that does not settle in 30 rounds, as on long edges close to a pole.
 */
function localArea(
  latA: number,
  rise: number,
  turn: number,
  above: number,
  parallel: number,
  steps: readonly number[],
  fromPole: number,
  start: GeodesicSolution | undefined,
): number | undefined {
  const pole = latA + latA + rise > 0 ? 1 : -1
  const [middleM, middleN] = radii(Math.sin(latA + rise / 2))
  const [north, east] = [rise * middleM, turn * middleN * Math.cos(latA + rise / 2)]
  // Of many steps, what starts them is better known from the library.
  let length = start ? start.distance : Math.hypot(north, east)
  let azimuth = start ? start.azimuthA * RADIANS : Math.atan2(east, north)
  const [endM, endN] = radii(Math.sin(latA + rise))
  const stages = steps.map((part) => ({ part, lat: [0, 0, 0, 0], bearing: [0, 0, 0, 0], dLon: [0, 0, 0, 0] }))
  const [dLat, dBearing] = [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ]
  let settled = false
  for (let round = 0; round < 30; round++) {
    const passes = round === 0 && steps.length > MANY_STEPS ? 8 : 1
    spend(0.8 * passes * steps.length)
    let [lat, lon, bearing, moved] = [0, 0, 0, 0]
    for (const stage of stages) {
      const step = length * stage.part
      if (round === 0) {
        stage.lat.fill(lat)
        stage.bearing.fill(bearing)
      }
      // The first round of many steps is a march, each step settled before the next one: near a pole all at once would not settle.
      for (let pass = 0; pass < passes; pass++) {
        for (let i = 0; i < 4; i++) {
          // From the pole, as near to it no digits are lost so.
          const colatitude = fromPole - pole * stage.lat[i]!
          const [cosLat, sinLat] = [Math.sin(colatitude), pole * Math.cos(colatitude)]
          const [m, n] = radii(sinLat)
          const sin = Math.sin(azimuth + stage.bearing[i]!)
          dLat[i] = Math.cos(azimuth + stage.bearing[i]!) / m
          stage.dLon[i] = sin / (n * cosLat)
          dBearing[i] = (sin * sinLat) / (n * cosLat)
        }
        for (let i = 0; i < 4; i++) {
          const next = lat + step * dot(COLLOCATION[i]!, dLat)
          const turned = bearing + step * dot(COLLOCATION[i]!, dBearing)
          moved = Math.max(
            moved,
            Math.abs(next - stage.lat[i]!),
            (Math.abs(turned - stage.bearing[i]!) * length) / A,
          )
          stage.lat[i] = next
          stage.bearing[i] = turned
        }
      }
      lat += step * dot(WEIGHTS, dLat)
      lon += step * dot(WEIGHTS, stage.dLon)
      bearing += step * dot(WEIGHTS, dBearing)
    }
    const [n, e] = [(rise - lat) * endM, (turn - lon) * endN * Math.cos(latA + rise)]
    const end = azimuth + bearing
    azimuth += (e * Math.cos(end) - n * Math.sin(end)) / (A * Math.sin(length / A))
    length += n * Math.cos(end) + e * Math.sin(end)
    // Each round gains two digits or so; the last ones are rounding.
    settled = Math.hypot(n, e) < 1e-15 * length && moved * A < 1e-15 * length
    if (settled) break
  }
  if (!settled) return undefined
  const sum = new Sum()
  for (const { part, lat, dLon } of stages)
    for (let i = 0; i < 4; i++)
      sum.add(WEIGHTS[i]! * length * part * dLon[i]! * parallelArea(parallel, above + lat[i]!))
  return sum.value
}

/** Radii of curvature at the sine of a latitude, metres: along the meridian, and across it. */
function radii(sin: number): readonly [number, number] {
  const square = 1 - E2 * sin * sin
  const n = A / Math.sqrt(square)
  return [(n * (1 - E2)) / square, n]
}

function dot(weights: readonly number[], values: readonly number[]): number {
  return (
    weights[0]! * values[0]! + weights[1]! * values[1]! + weights[2]! * values[2]! + weights[3]! * values[3]!
  )
}
