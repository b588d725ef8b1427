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
  turnBetween,
  type GeodesicSolution,
} from './ellipsoid'
import { spend } from './effort'
import { turnsOf } from './region'
import type { Chain, Shape } from './shape'

/**
 * Area of the polygons in square metres, without their holes. By Green's theorem it is the sum over edges of
 * the area between the geodesic and a parallel at one of the ring's own latitudes. The integral is computed
 * here, in differences from the start of the edge, to about 1e-15 of the area; near a pole it is computed by
 * triangles with the pole. (GeographicLib integrates from the equator, with an error of 1e-5 to 3e-2 m2.)
 * Polygons of a MultiPolygon must not overlap (union.ts): the sum would not be their area.
 */
export function polygonArea({ given: shape }: Prepared): number {
  const sum = new Sum()
  for (const { firstChain, endChain } of shape.polygons)
    for (let c = firstChain; c < endChain; c++)
      sum.add(c === firstChain ? ringArea(shape, shape.chains[c]!) : -ringArea(shape, shape.chains[c]!))
  return Math.max(0, sum.value)
}

/** Length of the lines in metres: the sum of the lengths of their edges. */
export function lineLength({ given: shape }: Prepared): number {
  const sum = new Sum()
  for (let e = 0; e < shape.from.length; e++) {
    const [a, b] = [shape.from[e]!, shape.to[e]!]
    if (a !== b) sum.add(inverseDistance(shape.lon[a]!, shape.lat[a]!, shape.lon[b]!, shape.lat[b]!))
  }
  return sum.value
}

/** A sum with compensation for rounding (Neumaier's variant of Kahan's algorithm). */
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

/** Area of the smaller side of a ring, square metres. */
function ringArea(shape: Shape, chain: Chain): number {
  const { lon, lat, from, to } = shape
  const { start, end } = chain
  let [south, north] = [90, -90]
  for (let e = start; e < end; e++) {
    south = Math.min(south, lat[from[e]!]!)
    north = Math.max(north, lat[from[e]!]!)
  }
  // For a ring round a pole the sum is the cap above it; for another ring, the area between it and its middle
  // latitude.
  const middle = (south + north) / 2
  const reference = turnsOf(shape, chain) === 0 ? middle : middle > 0 ? 90 : -90
  const sum = new Sum()
  for (let e = start; e < end; e++)
    sum.add(areaToParallel(lon[from[e]!]!, lat[from[e]!]!, lon[to[e]!]!, lat[to[e]!]!, reference))
  const side = Math.abs(sum.value)
  return Math.min(side, TOTAL_AREA - side)
}

/**
 * Largest integration step of an edge: in earth radii, or as a part of the distance to the pole where that is
 * below one radius. With this step, four nodes leave less error than rounding (measured: 4e-14 of the area at
 * 0.045, 2e-13 at 0.09).
 */
const STEP = 0.02
/** An edge so close to a pole that it needs more steps is integrated by the library. */
const MAX_STEPS = 1_500

/** With more equal steps than this, unequal steps are used, which are small only near the pole. */
const MANY_STEPS = 24

/**
 * The integration steps of an edge, as parts that add up to 1; undefined when there are more than MAX_STEPS.
 */
function stepsAlong(fromA: number, fromB: number, turn: number, rise: number): number[] | undefined {
  // The distance of the edge from the pole, on a flat map around it, determines how fast its bearing changes.
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

/**
 * Area between the geodesic from A to B and a parallel in square metres; positive for an eastward edge north
 * of it.
 * @param turned degrees from the meridian of A to that of B, on the way of the edge
 */
function areaToParallel(
  lonA: number,
  latA: number,
  lonB: number,
  latB: number,
  reference: number,
  turned = turnBetween(lonA, lonB),
  halvings = 0,
): number {
  const turn = turned * RADIANS
  if (turn === 0) return 0
  const pole = latA + latB > 0 ? 90 : -90
  const fromA = Math.abs(pole - latA) * RADIANS
  const fromB = Math.abs(pole - latB) * RADIANS
  const cap = () => parallelArea(reference, (pole - reference) * RADIANS) * turn
  if (fromA < POLAR && fromB < POLAR) return cap() - Math.sign(pole) * polarTriangle(fromA, fromB, turn)
  // Along a meridian, and a turn at the pole.
  if (fromA === 0 || fromB === 0) return cap()
  const rise = (latB - latA) * RADIANS
  const steps = stepsAlong(fromA, fromB, turn, rise)
  // Longitudes are inaccurate near a pole, so the area is taken up to the pole, where it is small; the turn
  // is exact.
  const near = steps !== undefined && steps.length > MANY_STEPS
  const from = near ? pole : reference
  const local =
    steps &&
    localArea(
      latA * RADIANS,
      rise,
      turn,
      (latA - from) * RADIANS,
      from,
      steps,
      Math.sign(pole),
      fromA,
      near ? inverse(lonA, latA, lonB, latB) : undefined,
    )
  if (local !== undefined) return near ? local + cap() : local
  // An edge that passes a pole is halved, down to triangles with the pole. This costs the error in the place
  // of each middle, a nanometre.
  if (halvings === MAX_HALVINGS)
    return areaBelow(lonA, latA, lonB, latB) - parallelArea(0, reference * RADIANS) * turn
  const { distance, azimuthA } = inverse(lonA, latA, lonB, latB)
  const { lon, lat } = geodesicLine(lonA, latA, azimuthA)(distance / 2)
  // Beside a pole, rounding may move the middle to its other side: the halves turn as the edge all the same.
  const turns = [turnBetween(lonA, lon), turnBetween(lon, lonB)] as [number, number]
  turns[Math.abs(turns[0]) > 90 ? 0 : 1] += 360 * Math.round((turned - turns[0] - turns[1]) / 360)
  return (
    areaToParallel(lonA, latA, lon, lat, reference, turns[0], halvings + 1) +
    areaToParallel(lon, lat, lonB, latB, reference, turns[1], halvings + 1)
  )
}

/** 2000 km halved this often are 2 metres. */
const MAX_HALVINGS = 20

/** Within this angle from a pole, radians (11 km), a sphere fits the ellipsoid to 1e-13 of an area. */
const POLAR = 0.1 * RADIANS

/**
 * Area in square metres of the triangle of a pole and two places near it, with the sign of `turn`. The places
 * are given by their angles from the pole and the turn between their meridians. It is a spherical triangle of
 * two sides and the angle between them (I. Todhunter, "Spherical Trigonometry", 1886, 103), on the sphere
 * that fits the ellipsoid at the pole, with the true lengths of the meridians as sides.
 */
function polarTriangle(fromA: number, fromB: number, turn: number): number {
  const radius = (A * A) / B
  // Half the length of a meridian in radii: the integral of (1 + e'^2 sin^2)^(-3/2).
  const half = (angle: number) => Math.tan((angle - ((E2 / (1 - E2)) * angle * angle * angle) / 2) / 2)
  const product = half(fromA) * half(fromB)
  return 2 * radius * radius * Math.atan2(product * Math.sin(turn), 1 + product * Math.cos(turn))
}

/**
 * Area in square metres per radian of longitude between two parallels `rise` radians apart, the first at
 * `latitude`, degrees: the difference of the authalic function (J. P. Snyder, "Map Projections", 1987,
 * (3-12)), without cancellation.
 */
function parallelArea(latitude: number, rise: number): number {
  const e = Math.sqrt(E2)
  // Measured from the pole: a latitude in radians has lost digits of what is near it.
  const pole = latitude < 0 ? -1 : 1
  const colatitude = (90 - Math.abs(latitude)) * RADIANS
  const from = pole * Math.cos(colatitude)
  const step = 2 * Math.sin(colatitude - (pole * rise) / 2) * Math.sin(rise / 2)
  const to = from + step
  return (
    ((B * B) / 2) *
    ((step * (1 + E2 * from * to)) / ((1 - E2 * from * from) * (1 - E2 * to * to)) +
      Math.atanh((e * step) / (1 - E2 * from * to)) / e)
  )
}

/**
 * The four Gauss-Legendre nodes and weights on [0, 1], and for each node the integrals from 0 to it of the
 * Lagrange polynomials of all nodes.
 */
const NODES = [-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526].map(
  (x) => (1 + x) / 2,
)
const WEIGHTS = [0.34785484513745385, 0.6521451548625461, 0.6521451548625461, 0.34785484513745385].map(
  (w) => w / 2,
)
const COLLOCATION = NODES.map((until) => NODES.map((node) => integralOfLagrange(node, until)))

/**
 * Integral from 0 to `until` of the polynomial of degree 3 that is 1 at `node` and 0 at the other nodes. The
 * same four nodes integrate it exactly.
 */
function integralOfLagrange(node: number, until: number): number {
  const polynomial = (x: number) =>
    NODES.reduce((product, other) => (other === node ? product : (product * (x - other)) / (node - other)), 1)
  return NODES.reduce((sum, x, k) => sum + until * WEIGHTS[k]! * polynomial(until * x), 0)
}

/**
 * As areaToParallel, with angles in radians but for the parallel: `above` is how far the start of the edge
 * lies north of it, `fromPole` how far from the pole (1: the north pole, -1: the south pole). The equations
 * of the geodesic (latitude, longitude and azimuth by length) are solved by Gauss collocation with four
 * stages, order 8, from the start of the edge, in differences that keep their relative precision. Direction
 * and length are corrected until the geodesic ends in B. Undefined when that does not converge in 30 rounds,
 * as on long edges near a pole.
 */
function localArea(
  latA: number,
  rise: number,
  turn: number,
  above: number,
  parallel: number,
  steps: readonly number[],
  pole: number,
  fromPole: number,
  start: GeodesicSolution | undefined,
): number | undefined {
  const [middleM, middleN] = radii(Math.sin(latA + rise / 2))
  const [north, east] = [rise * middleM, turn * middleN * Math.cos(latA + rise / 2)]
  // With many steps the library gives better starting values.
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
      // With many steps the first round goes step by step, each one converged before the next: near a pole
      // all steps together would not converge.
      for (let pass = 0; pass < passes; pass++) {
        for (let i = 0; i < 4; i++) {
          // Measured from the pole, as this loses no digits near it.
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
    // Each round gains about two digits; the last ones only change by rounding.
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

/** Radii of curvature in metres, along the meridian and across it, for the sine of a latitude. */
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
