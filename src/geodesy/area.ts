// SPDX-License-Identifier: MIT
import { assertBound } from './bounds'
import {
  DEGREE,
  add,
  angleOf,
  divide,
  inverseRoot,
  multiply,
  negative,
  sinCosOfDegrees,
  sinCosOfRadians,
  subtract,
  sum,
  type Wide,
} from './double-double'
import { A, E2, FLATTENING, TOTAL_AREA, inverseDistance } from './ellipsoid'
import { spend } from './effort'
import { turnsOf } from './region'
import type { Chain, Shape } from './shape'

/**
 * Area of the polygons in square metres, without their holes: the sum over all edges of the area between the
 * geodesic and the equator. Twice the precision of a double keeps the error relative to the result even if a
 * hole nearly fills its shell. Polygons must not overlap (see `overlapOf` in union.ts).
 */
export function polygonArea({ given: shape }: { readonly given: Shape }): number {
  let total: Wide = [0, 0]
  for (const { firstChain, endChain } of shape.polygons)
    for (let c = firstChain; c < endChain; c++) {
      const ring = ringAngle(shape, shape.chains[c]!)
      total = add(total, ring[0] > 0 === (c === firstChain) ? ring : negative(ring))
    }
  return Math.max(0, total[0] * AUTHALIC_SQUARE)
}

/** Area in square metres of loops with the inside on their left, each at most half of the globe. */
export function areaOfLoops(shape: Shape): number {
  const total = shape.chains.reduce<Wide>((sum, chain) => add(sum, ringAngle(shape, chain)), [0, 0])
  return total[0] * AUTHALIC_SQUARE
}

/** Length of the lines in metres: the sum of the lengths of their edges. */
export function lineLength({ given: shape }: { readonly given: Shape }): number {
  let total: Wide = [0, 0]
  for (let e = 0; e < shape.from.length; e++) {
    const [a, b] = [shape.from[e]!, shape.to[e]!]
    if (a !== b)
      total = add(total, [inverseDistance(shape.lon[a]!, shape.lat[a]!, shape.lon[b]!, shape.lat[b]!), 0])
  }
  return total[0]
}

/** Square of the radius of the sphere with the ellipsoid's area. */
const AUTHALIC_SQUARE = TOTAL_AREA / (4 * Math.PI)
/** Solid angle of a whole sphere in steradians: 4 pi, or 720 degrees. */
const ALL_AROUND = multiply(DEGREE, [720, 0])

/** Area of the smaller side of a ring, in squares of the authalic radius; negative if it is on the right. */
function ringAngle(shape: Shape, chain: Chain): Wide {
  const { lon, lat, from, to } = shape
  let total: Wide = [0, 0]
  let [last, start] = [-1, NOWHERE]
  for (let e = chain.start; e < chain.end; e++) {
    const [a, b] = [from[e]!, to[e]!]
    if (a !== last) start = reducedLatitude(lat[a]!)
    const end = reducedLatitude(lat[b]!)
    total = add(total, toEquator(start, end, turn(lon[a]!, lon[b]!)))
    ;[last, start] = [b, end]
  }
  // For a ring around the poles, this is the area to the equator: a hemisphere less that of the polar side.
  total = subtract(total, multiply(ALL_AROUND, [turnsOf(shape, chain) / 2, 0]))
  total = subtract(total, multiply(ALL_AROUND, [Math.round(total[0] / ALL_AROUND[0]), 0]))
  return negative(total)
}

/** Radians from the meridian of one longitude to that of another, the shorter way. */
function turn(lonA: number, lonB: number): Wide {
  const across = sum(lonB, -lonA)
  return multiply(DEGREE, Math.abs(across[0]) > 180 ? add(across, [across[0] > 0 ? -360 : 360, 0]) : across)
}

/** Sine and cosine of the reduced latitude, whose tangent is 1 - f times that of the latitude. */
interface Latitude {
  sin: Wide
  cos: Wide
}

const NOWHERE: Latitude = { sin: [0, 0], cos: [0, 0] }
const FLAT = divide([1e9, 0], [298_257_223_563, 0])
const POLAR_RADIUS = subtract([1, 0], FLAT)
const ECCENTRICITY = multiply(FLAT, subtract([2, 0], FLAT))

function reducedLatitude(lat: number): Latitude {
  if (Math.abs(lat) === 90) return { sin: [Math.sign(lat), 0], cos: [0, 0] }
  const [sin, cos] = sinCosOfDegrees(lat)
  const scale = inverseRoot(subtract([1, 0], multiply(ECCENTRICITY, multiply(sin, sin))))
  return { sin: multiply(multiply(POLAR_RADIUS, sin), scale), cos: multiply(cos, scale) }
}

/** Square of the second eccentricity. */
const E2_SECOND = E2 / (1 - E2)

/**
 * Coefficients of the powers of x in D(x) = (t(e'^2) - t(e'^2 x)) / (e'^2 - e'^2 x), by the series of t(y) =
 * y + sqrt(1 + 1/y) asinh(sqrt y) (Karney 2013, equations 59 and 60).
 */
const D = seriesOfD()

function seriesOfD(): readonly number[] {
  // sqrt(1 + 1/y) asinh(sqrt y) is (1 + y) times the sum of a_n y^n, a_n = -2n / (2n + 1) a_(n-1).
  let [before, a] = [1, -2 / 3]
  let power = 1
  const terms = [2 + a]
  for (let n = 2; n <= 10; n++) {
    ;[before, a] = [a, (-2 * n * a) / (2 * n + 1)]
    power *= E2_SECOND
    terms.push((a + before) * power)
  }
  return terms.map((_, j) => terms.slice(j).reduceRight((total, term) => total + term, 0))
}

/** The first three of six Gauss-Legendre nodes on [0, 1] and their weights. The others mirror them. */
const NODES = [0.033765242898423975, 0.16939530676686774, 0.3806904069584015]
const WEIGHTS = [0.08566224618958518, 0.1803807865240693, 0.2339569672863455]

/**
 * Radians between two meridians below which the area is 0: less than 1e-180 m2. Products of smaller numbers
 * would have fewer digits than a double.
 */
const LEAST_TURN = 1e-200

/** e^2 a^2 / 2 in squares of the authalic radius. */
const SHARE = (E2 * A * A) / 2 / AUTHALIC_SQUARE

/**
 * Area between an edge and the equator, in squares of the authalic radius. It is positive for an eastward
 * edge north of the equator. `lambda` is the turn between the meridians of its ends, radians.
 *
 * The edge is a great circle of the auxiliary sphere (Karney 2013), on which its ends are omega apart in
 * longitude, and sigma apart along the arc:
 *   lambda = omega - f sin(alpha0) sum of g over the arc, g = (2 - f) / (1 + (1 - f) sqrt(1 + e'^2 sin^2 b))
 *   area = spherical excess - e^2 a^2 / 2 sin(alpha0) sum of D(sin^2 b) sin b over the arc
 * with the reduced latitude b. Both g - 1 and D less its constant are below 0.002. The remaining parts are
 * known exactly: sin(alpha0) sin(sigma) = cos b1 cos b2 sin(omega), and the sum of sin b is (sin b1 + sin b2)
 * tan(sigma / 2). So only these exact parts need twice the precision. The rest, a thousandth of them, is
 * summed in doubles.
 */
function toEquator(start: Latitude, end: Latitude, lambda: Wide): Wide {
  if (Math.abs(lambda[0]) < LEAST_TURN) return [0, 0]
  spend(2)
  const cosines = multiply(start.cos, end.cos)
  // A product of 0 means that the edge is a turn at a pole.
  if (cosines[0] === 0) return start.sin[0] > 0 ? lambda : negative(lambda)
  const sines = multiply(start.sin, end.sin)
  const rise = subtract(multiply(end.sin, start.cos), multiply(start.sin, end.cos))[0]
  const arc = arcOf(start, end, rise, cosines[0], sines[0], lambda[0])

  // One step of Newton's method brings omega to twice the precision.
  const [sinHalf, cosHalf] = sinCosOfRadians(arc.omega / 2)
  const sinOmega = multiply([2, 0], multiply(sinHalf, cosHalf))
  const shift = multiply(FLAT, multiply(cosines, sinOmega))
  const [missing] = subtract(add(lambda, [shift[0], shift[1] + shift[0] * arc.excess]), [arc.omega, 0])
  assertBound(
    'omega has the precision of a double, and the arc is below half a radian',
    () =>
      Math.abs(missing) < 1e-14 * Math.abs(arc.omega) && sines[0] + cosines[0] * Math.cos(arc.omega) > 0.87,
  )
  const more = missing / (1 - FLATTENING * cosines[0] * (1 + arc.excess) * Math.cos(arc.omega))
  const sin = add(sinHalf, [(cosHalf[0] * more) / 2, 0])
  const cos = subtract(cosHalf, [(sinHalf[0] * more) / 2, 0])

  // tan(excess / 2) = (sin b1 + sin b2) / (1 + cos(b2 - b1)) tan(omega / 2)
  const sinSum = add(start.sin, end.sin)
  const base = add([1, 0], add(sines, cosines))
  const spherical = multiply([2, 0], angleOf(multiply(sinSum, sin), multiply(base, cos)))
  const product = multiply(cosines, multiply([2, 0], multiply(sin, cos)))
  // 1 + cos(sigma)
  const width = subtract(base, multiply([2, 0], multiply(cosines, multiply(sin, sin))))
  const flattened = multiply([SHARE * D[0]!, 0], divide(multiply(sinSum, product), width))
  return subtract(spherical, add(flattened, [SHARE * arc.bend * product[0], 0]))
}

interface Arc {
  /** difference of longitudes on the auxiliary sphere, radians, to the precision of a double */
  omega: number
  /** mean of g times sigma / sin(sigma), less 1 */
  excess: number
  /** mean of (D(sin^2 b) - D(0)) sin(b) times sigma / sin(sigma) */
  bend: number
}

function arcOf(
  start: Latitude,
  end: Latitude,
  rise: number,
  cosines: number,
  sines: number,
  lambda: number,
): Arc {
  const [sinA, sinB] = [start.sin[0], end.sin[0]]
  let omega = lambda
  for (let round = 0; ; round++) {
    const sinHalf = Math.sin(omega / 2)
    const northward = rise + 2 * sinA * end.cos[0] * sinHalf * sinHalf
    const eastward = end.cos[0] * Math.sin(omega)
    const sinSigma = Math.sqrt(northward * northward + eastward * eastward)
    const sigma = Math.atan2(sinSigma, sines + cosines * Math.cos(omega))
    const stretch = sigma / sinSigma
    let [g, bend] = [0, 0]
    for (let i = 0; i < 3; i++) {
      const [near, far] = [Math.sin(NODES[i]! * sigma), Math.sin((1 - NODES[i]!) * sigma)]
      for (const [p, q] of [
        [near, far],
        [far, near],
      ] as const) {
        const sin = (sinA * p + sinB * q) / sinSigma
        const x = sin * sin
        const root = Math.sqrt(1 + E2_SECOND * x)
        g -= (WEIGHTS[i]! * (1 - FLATTENING) * E2_SECOND * x) / (1 + root) / (1 + (1 - FLATTENING) * root)
        bend +=
          WEIGHTS[i]! * sin * x * (D[1]! + x * (D[2]! + x * (D[3]! + x * (D[4]! + x * (D[5]! + x * D[6]!)))))
      }
    }
    const excess = stretch * g + overSine(sigma)
    const shift = FLATTENING * cosines * (1 + excess)
    const next = omega - (omega - lambda - shift * Math.sin(omega)) / (1 - shift * Math.cos(omega))
    if (round > 20 || Math.abs(next - omega) <= 1e-15 * Math.abs(omega))
      return { omega, excess, bend: stretch * bend }
    omega = next
  }
}

/** sigma / sin(sigma) - 1 */
function overSine(sigma: number): number {
  const z = sigma * sigma
  // Series of sigma - sin(sigma), for arcs below half a radian: edges are below 2000 km (builder.ts).
  const series = 1 - (z / 20) * (1 - (z / 42) * (1 - (z / 72) * (1 - (z / 110) * (1 - z / 156))))
  return (sigma * z * series) / 6 / Math.sin(sigma)
}
