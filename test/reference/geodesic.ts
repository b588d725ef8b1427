import { Geodesic } from 'geographiclib-geodesic'
import type { CoarsePlace } from './coarse'
import { fixedPoint, type FixedPoint } from './fixed'

/**
 * Geodesics on WGS84 in fixed-point arithmetic: the reference that the kernel is tested against. It shares no
 * code with the kernel.
 *
 * Method. Positions are unit vectors of the auxiliary sphere (reduced latitude; C. F. F. Karney, "Algorithms
 * for geodesics", 2013), directions are unit vectors tangent to it, so that neither a pole nor the
 * antimeridian is a special position. Along a great circle of that sphere, with k = e' cos(alpha0) and u =
 * k^2 sin^2(sigma),
 *   ds = b sqrt(1 + u) dsigma,   dlambda = domega - f sin(alpha0) (2 - f) / (1 + (1 - f) sqrt(1 + u)) dsigma.
 * Both functions of u are expanded in powers of u (at most 0.00674), and the powers of sin^2 in cosines of 2
 * l sigma, by exact binomials. The integrals are then sums of sines. The omitted terms are below 2^-bits.
 *
 * Newton's method on (direction, length) solves the inverse problem. Double precision (geographiclib-geodesic
 * for far positions, the chord for near ones) provides only the start and the slope. The iteration ends if
 * the residual itself, computed in fixed point, is below 1e-24 of the length (or at the last bits), so no
 * error of the start remains.
 *
 * Lengths are in units of the equatorial radius. With 144 bits, a unit of the last bit is 3e-37 m.
 */
export const EQUATORIAL_RADIUS = 6_378_137
/** 1 / 298.257223563 */
const FLATTENING = [1_000_000_000n, 298_257_223_563n] as const

export type Vector = readonly [bigint, bigint, bigint]
/** Longitude and latitude in degrees: doubles, used as exact numbers. */
export type LonLat = readonly [lon: number, lat: number]

export interface Inverse {
  /** length of the shortest geodesic, equatorial radii */
  length: bigint
  /** directions of the geodesic at its start and at its end */
  start: Vector
  end: Vector
}

/** A geodesic line, without ends. */
export interface Line {
  origin: Vector
  direction: Vector
  /** Position after a length (equatorial radii, negative behind the origin), and the direction there. */
  at: (length: bigint) => { place: Vector; direction: Vector }
}

export interface Geodesics {
  fixed: FixedPoint
  place: (position: LonLat) => Vector
  /** nearest doubles, degrees */
  position: (place: Vector) => LonLat
  /**
   * direction of an azimuth, degrees clockwise from north; at a pole, north is that of the meridian of the
   * position's longitude
   */
  direction: (position: LonLat, azimuth: number) => Vector
  /** azimuth of a direction at a position that is not a pole, degrees clockwise from north, -180 to 180 */
  azimuth: (place: Vector, direction: Vector) => number
  line: (origin: Vector, direction: Vector) => Line
  inverse: (from: Vector, to: Vector) => Inverse
  /** position in double precision, to 1e-15 radian; a pole gets longitude 0 */
  coarsePlace: (place: Vector) => CoarsePlace
  coarseAzimuth: (place: Vector, direction: Vector) => number
  metres: (length: bigint) => number
  length: (metres: number) => bigint
  dot: (a: Vector, b: Vector) => bigint
  cross: (a: Vector, b: Vector) => Vector
}

const library = Geodesic.WGS84
const RADIANS = Math.PI / 180
/** Distance in equatorial radii from the axis below which a position has no longitude. */
const AT_POLE = 1e-20
const SOLVED = Geodesic.DISTANCE | Geodesic.AZIMUTH | Geodesic.REDUCEDLENGTH

export function geodesics(bits: number): Geodesics {
  const fixed = fixedPoint(bits)
  const { one, multiply, divide, sqrt, sinCos, toNumber, from } = fixed
  const shift = BigInt(bits)

  const f = (FLATTENING[0] << shift) / FLATTENING[1]
  const polar = one - f
  const e2 = multiply(f, 2n * one - f)
  const secondE2 = divide(e2, one - e2)
  const polarNumber = toNumber(polar)
  const e2Number = toNumber(e2)

  // ---------------------------------------------------------------------------------------------- series
  const ORDER = Math.ceil(bits / 7.2)
  const rising = (n: number) => Array.from({ length: n }, (_, i) => i)
  const binomial = (n: number, k: number): bigint =>
    rising(k).reduce((value, i) => (value * BigInt(n - i)) / BigInt(i + 1), 1n)
  /** coefficients of u^n in sqrt(1 + u) */
  const root = [one]
  for (let n = 1; n <= ORDER; n++) root.push((root[n - 1]! * BigInt(3 - 2 * n)) / BigInt(2 * n))
  /** coefficients of u^n in (2 - f) / (1 + (1 - f) sqrt(1 + u)), by division of series */
  const turning: bigint[] = []
  for (let n = 0; n <= ORDER; n++) {
    let rest = n === 0 ? 2n * one - f : 0n
    for (let i = 1; i <= n; i++) rest -= multiply(multiply(polar, root[i]!), turning[n - i]!)
    turning.push(divide(rest, one + polar))
  }
  /** [l][n]: the part of k^(2n) in the integral's coefficient of sigma (l = 0) or of sin(2 l sigma). */
  const weights = (series: readonly bigint[]) =>
    rising(ORDER + 1).map((l) =>
      rising(ORDER + 1).map((n) => {
        if (n < l) return 0n
        const share = (series[n]! * binomial(2 * n, n - l)) / (1n << BigInt(2 * n))
        return l === 0 ? share : (l % 2 === 0 ? share : -share) / BigInt(l)
      }),
    )
  const lengthWeights = weights(root)
  const turningWeights = weights(turning)

  function coefficients(table: readonly (readonly bigint[])[], powers: readonly bigint[]): bigint[] {
    return table.map((row, l) => {
      let sum = 0n
      for (let n = l; n <= ORDER; n++) sum += row[n]! * powers[n]!
      return sum >> shift
    })
  }
  /** Sum of c[l] sin(2 l sigma), for l from 1, by Clenshaw. */
  function sines(c: readonly bigint[], sin: bigint, cos: bigint): bigint {
    const twice = 2n * (one - 2n * multiply(sin, sin))
    let next = 0n
    let sum = 0n
    for (let l = ORDER; l >= 1; l--) {
      const before = ((twice * sum) >> shift) - next + c[l]!
      next = sum
      sum = before
    }
    return multiply(sum, 2n * multiply(sin, cos))
  }

  // --------------------------------------------------------------------------------------------- vectors
  const dot = (a: Vector, b: Vector) => (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) >> shift
  const cross = (a: Vector, b: Vector): Vector => [
    (a[1] * b[2] - a[2] * b[1]) >> shift,
    (a[2] * b[0] - a[0] * b[2]) >> shift,
    (a[0] * b[1] - a[1] * b[0]) >> shift,
  ]
  const combine = (a: Vector, x: bigint, b: Vector, y: bigint): Vector => [
    (a[0] * x + b[0] * y) >> shift,
    (a[1] * x + b[1] * y) >> shift,
    (a[2] * x + b[2] * y) >> shift,
  ]
  const plus = (a: Vector, b: Vector): Vector => [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
  const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
  function unit(a: Vector): Vector {
    const norm = sqrt(dot(a, a))
    return [divide(a[0], norm), divide(a[1], norm), divide(a[2], norm)]
  }
  /** Tangent part of a direction at a position, normalized. */
  const tangent = (place: Vector, direction: Vector) =>
    unit(combine(direction, one, place, -dot(place, direction)))
  const turn = (a: Vector, sin: bigint, cos: bigint): Vector => [
    (a[0] * cos - a[1] * sin) >> shift,
    (a[0] * sin + a[1] * cos) >> shift,
    a[2],
  ]

  function place([lon, lat]: LonLat): Vector {
    const [sinLon, cosLon] = fixed.sinCosDegrees(lon)
    const [sinLat, cosLat] = fixed.sinCosDegrees(lat)
    const up = multiply(polar, sinLat)
    const norm = sqrt(multiply(up, up) + multiply(cosLat, cosLat))
    const out = divide(cosLat, norm)
    return [multiply(out, cosLon), multiply(out, sinLon), divide(up, norm)]
  }
  function position([x, y, z]: Vector): LonLat {
    const out = sqrt(multiply(x, x) + multiply(y, y))
    const degrees = (angle: bigint) => Number(((angle * 180n) << 64n) / fixed.pi) / 2 ** 64
    return [out === 0n ? 0 : degrees(fixed.atan2(y, x)), degrees(fixed.atan2(divide(z, polar), out))]
  }
  function direction([lon, lat]: LonLat, azimuth: number): Vector {
    const [sinLon, cosLon] = fixed.sinCosDegrees(lon)
    const [, , sinBeta] = place([lon, lat])
    const [sin, cos] = fixed.sinCosDegrees(azimuth)
    const cosBeta = Math.abs(lat) === 90 ? 0n : sqrt(one - multiply(sinBeta, sinBeta))
    const north = multiply(cos, sinBeta)
    return tangent(place([lon, lat]), [
      -multiply(north, cosLon) - multiply(sin, sinLon),
      -multiply(north, sinLon) + multiply(sin, cosLon),
      multiply(cos, cosBeta),
    ])
  }
  function azimuth([x, y, z]: Vector, d: Vector): number {
    const east = multiply(x, d[1]) - multiply(y, d[0])
    const north =
      multiply(d[2], multiply(x, x) + multiply(y, y)) - multiply(z, multiply(x, d[0]) + multiply(y, d[1]))
    return Number(((fixed.atan2(east, north) * 180n) << 64n) / fixed.pi) / 2 ** 64
  }

  // ---------------------------------------------------------------------------------------------- direct
  function line(origin: Vector, direction: Vector): Line {
    const sinAlpha0 = (origin[0] * direction[1] - origin[1] * direction[0]) >> shift
    const cosAlpha0Squared = one - multiply(sinAlpha0, sinAlpha0)
    const k2 = cosAlpha0Squared > 0n ? multiply(secondE2, cosAlpha0Squared) : 0n
    const powers = [one]
    for (let n = 1; n <= ORDER; n++) powers.push(multiply(powers[n - 1]!, k2))
    const lengths = coefficients(lengthWeights, powers)
    const turns = coefficients(turningWeights, powers)
    const slow = multiply(f, sinAlpha0)
    // On the equator, sigma has no natural origin, and no result depends on it.
    const norm = sqrt(multiply(origin[2], origin[2]) + multiply(direction[2], direction[2]))
    const near = norm < one >> (shift / 2n)
    const sin1 = near ? 0n : divide(origin[2], norm)
    const cos1 = near ? one : divide(direction[2], norm)
    const lengthBefore = sines(lengths, sin1, cos1)
    const turnBefore = sines(turns, sin1, cos1)
    const k2Number = toNumber(k2)

    function at(length: bigint) {
      const wanted = divide(length, polar)
      const first = lengths[0]!
      let sigma = divide(wanted, first)
      let sin = 0n
      let cos = one
      let sin2 = sin1
      let cos2 = cos1
      for (let i = 0; ; i++) {
        ;[sin, cos] = sinCos(sigma)
        sin2 = (sin1 * cos + cos1 * sin) >> shift
        cos2 = (cos1 * cos - sin1 * sin) >> shift
        const rest = wanted - multiply(first, sigma) - sines(lengths, sin2, cos2) + lengthBefore
        const size = Math.abs(toNumber(rest))
        const sine = toNumber(sin2)
        const step = from(toNumber(rest) / Math.sqrt(1 + k2Number * sine * sine))
        sigma += step
        // The slope is accurate to 1e-15, and changes by less than k2.
        if (size * (size + 1e-15) < toNumber(16n)) {
          const bend = [sin + multiply(step, cos), cos - multiply(step, sin)] as const
          sin = bend[0] - (multiply(multiply(step, step), sin) >> 1n)
          cos = bend[1] - (multiply(multiply(step, step), cos) >> 1n)
          sin2 = (sin1 * cos + cos1 * sin) >> shift
          cos2 = (cos1 * cos - sin1 * sin) >> shift
          break
        }
        if (i > 60) throw new Error('The length did not converge')
      }
      const lag = multiply(slow, multiply(turns[0]!, sigma) + sines(turns, sin2, cos2) - turnBefore)
      const [sinLag, cosLag] = sinCos(-lag)
      return {
        place: turn(combine(origin, cos, direction, sin), sinLag, cosLag),
        direction: turn(combine(direction, cos, origin, -sin), sinLag, cosLag),
      }
    }
    return { origin, direction, at }
  }

  // --------------------------------------------------------------------------------------------- inverse
  /**
   * North and east at a position, as doubles. At a pole, any two perpendicular directions, because the
   * ellipsoid is round there.
   */
  function compass(place: Vector) {
    const [x, y, z] = [toNumber(place[0]), toNumber(place[1]), toNumber(place[2])]
    const out = Math.hypot(x, y)
    const [sin, cos] = out < AT_POLE ? [0, 1] : [y / out, x / out]
    return {
      north: [-z * cos, -z * sin, out],
      east: [-sin, cos, 0],
      stretch: Math.sqrt(1 - e2Number * out * out),
    }
  }
  const numbers = (a: Vector) => [toNumber(a[0]), toNumber(a[1]), toNumber(a[2])]
  const dotNumbers = (a: readonly number[], b: readonly number[]) =>
    a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!
  const towards = (at: ReturnType<typeof compass>, northward: number, eastward: number): Vector => {
    const component = (i: number) => from(at.north[i]! * northward + at.east[i]! * eastward)
    return [component(0), component(1), component(2)]
  }

  function coarsePlace(place: Vector): CoarsePlace {
    const [x, y, z] = numbers(place) as [number, number, number]
    const out = Math.hypot(x, y)
    return {
      lon: out < AT_POLE ? 0 : Math.atan2(y, x) / RADIANS,
      lat: Math.atan2(z, polarNumber * out) / RADIANS,
    }
  }
  function coarseAzimuth(place: Vector, direction: Vector): number {
    const { north, east } = compass(place)
    return Math.atan2(dotNumbers(numbers(direction), east), dotNumbers(numbers(direction), north)) / RADIANS
  }

  /** Start of the iteration: an approximate direction and length, and the reduced length. */
  function guess(a: Vector, b: Vector) {
    const chord = minus(b, a)
    if (Math.hypot(...numbers(chord)) < 1e-4) {
      const middle = compass(unit(plus(a, b)))
      const northward = middle.stretch * dotNumbers(numbers(chord), middle.north)
      const eastward = dotNumbers(numbers(chord), middle.east)
      const length = Math.hypot(northward, eastward)
      return {
        direction: tangent(a, towards(middle, northward / length, eastward / length)),
        length,
        reduced: length,
      }
    }
    const [from, to] = [coarsePlace(a), coarsePlace(b)]
    const { s12, azi1, m12 } = library.Inverse(from.lat, from.lon, to.lat, to.lon, SOLVED)
    const north = compass(a)
    const radians = azi1! * RADIANS
    return {
      direction: tangent(a, towards(north, Math.cos(radians), Math.sin(radians))),
      length: s12! / EQUATORIAL_RADIUS,
      reduced: m12! / EQUATORIAL_RADIUS,
    }
  }

  const floor = Math.pow(2, 12 - bits)

  function inverse(a: Vector, b: Vector): Inverse {
    const chord = minus(b, a)
    if (Math.hypot(...numbers(chord)) < floor) {
      const any = tangent(a, a[2] > one / 2n || a[2] < -one / 2n ? [one, 0n, 0n] : [0n, 0n, one])
      return { length: 0n, start: any, end: any }
    }
    const start = guess(a, b)
    let heading = start.direction
    let length = from(start.length)
    for (let i = 0; i < 40; i++) {
      const there = line(a, heading).at(length)
      const miss = numbers(minus(b, there.place))
      const { north, east, stretch } = compass(there.place)
      const course = numbers(there.direction)
      const [cos, sin] = [dotNumbers(course, north), dotNumbers(course, east)]
      const northward = stretch * dotNumbers(miss, north)
      const eastward = dotNumbers(miss, east)
      const along = northward * cos + eastward * sin
      const left = northward * sin - eastward * cos
      length += from(along)
      if (Math.hypot(along, left) < floor + 1e-24 * Math.abs(start.reduced))
        return { length, start: heading, end: there.direction }
      // Near antipodes all directions lead close to the target. From pole to pole every direction reaches the
      // target, so no correction is needed.
      const turned = Math.max(-0.01, Math.min(0.01, left / start.reduced)) || 0
      heading = tangent(a, combine(heading, one, cross(a, heading), from(turned)))
    }
    throw new Error('The inverse problem did not converge')
  }

  return {
    fixed,
    place,
    position,
    direction,
    azimuth,
    line,
    inverse,
    coarsePlace,
    coarseAzimuth,
    dot,
    cross,
    metres: (length) => toNumber(length) * EQUATORIAL_RADIUS,
    length: (metres) => divide(from(metres), from(EQUATORIAL_RADIUS)),
  }
}
