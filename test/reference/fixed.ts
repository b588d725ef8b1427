/**
 * Numbers with a fixed count of fractional bits, in BigInt: x stands for x / 2^bits. Products and quotients
 * are rounded down, so each operation errs by at most one unit of the last bit; sine, cosine and arctangent
 * by a few units. Method: Machin's formula for pi; Newton for the square root and the arctangent, from a
 * start in double precision; sine and cosine by quadrant, a table of steps of 1/64, and the Taylor series of
 * the rest.
 */
export interface FixedPoint {
  bits: number
  one: bigint
  pi: bigint
  multiply: (x: bigint, y: bigint) => bigint
  divide: (x: bigint, y: bigint) => bigint
  /** of a number that is not negative */
  sqrt: (x: bigint) => bigint
  /** of an angle in radians */
  sinCos: (x: bigint) => [sin: bigint, cos: bigint]
  /** of an angle in degrees: a double, used as an exact number; multiples of 90 degrees are exact */
  sinCosDegrees: (degrees: number) => [sin: bigint, cos: bigint]
  /** radians, from -pi to pi; at least one argument differs from 0 */
  atan2: (y: bigint, x: bigint) => bigint
  /** the exact double, truncated after the last bit */
  from: (x: number) => bigint
  /** the nearest double */
  toNumber: (x: bigint) => number
}

/** Steps per radian in the table of sines and cosines. */
const STEPS = 64n
const GUARD = 16n

const view = new DataView(new ArrayBuffer(8))

function integerSqrt(x: bigint): bigint {
  if (x < 2n) return x
  let root = BigInt(Math.floor(Math.sqrt(Number(x))))
  for (;;) {
    const next = (root + x / root) >> 1n
    const change = next - root
    root = next
    if (change >= -1n && change <= 1n) break
  }
  while (root * root > x) root--
  while ((root + 1n) * (root + 1n) <= x) root++
  return root
}

export function fixedPoint(bits: number): FixedPoint {
  // Squares of numbers below 4 are converted to doubles, which end at 2^1023.
  if (bits % 2 !== 0 || bits > 480) throw new RangeError(`An even count of bits, at most 480, not ${bits}`)
  const shift = BigInt(bits)
  const one = 1n << shift
  const half = one >> 1n
  const unit = Math.pow(2, bits)

  const multiply = (x: bigint, y: bigint) => (x * y) >> shift
  const divide = (x: bigint, y: bigint) => (x << shift) / y
  const sqrt = (x: bigint) => integerSqrt(x << shift)
  const toNumber = (x: bigint) => Number(x) / unit

  function from(x: number): bigint {
    view.setFloat64(0, x)
    const raw = view.getBigUint64(0)
    const exponent = Number((raw >> 52n) & 0x7ffn)
    if (exponent === 0x7ff) throw new RangeError(`A finite number, not ${x}`)
    const mantissa = (raw & 0xf_ffff_ffff_ffffn) | (exponent === 0 ? 0n : 1n << 52n)
    const places = BigInt(Math.max(exponent, 1) - 1075) + shift
    const size = places >= 0n ? mantissa << places : mantissa >> -places
    return x < 0 ? -size : size
  }

  /** arctan(1/n) with guard bits */
  function arctanOfInverse(n: bigint): bigint {
    let power = (one << GUARD) / n
    let sum = power
    for (let k = 3n; power !== 0n; k += 2n) {
      power /= -(n * n)
      sum += power / k
    }
    return sum
  }
  const pi = (16n * arctanOfInverse(5n) - 4n * arctanOfInverse(239n)) >> GUARD
  const halfPi = pi >> 1n
  const degreesToRadians = ((16n * arctanOfInverse(5n) - 4n * arctanOfInverse(239n)) << 16n) / 180n
  const quarterTurn = 90n << shift

  /** Coefficients of the Taylor series in the square of an angle below 1/64, highest power first. */
  const sinTerms: bigint[] = []
  const cosTerms: bigint[] = []
  for (let n = 1n, factorial = 1n; ; n += 2n) {
    const sign = n % 4n === 1n ? 1n : -1n
    cosTerms.unshift((sign * one) / factorial)
    sinTerms.unshift((sign * one) / (factorial * n))
    if (factorial * (1n << (6n * n)) > one << 8n) break
    factorial *= n * (n + 1n)
  }
  function taylor(terms: readonly bigint[], square: bigint): bigint {
    let sum = 0n
    for (const term of terms) sum = ((sum * square) >> shift) + term
    return sum
  }
  const small = (x: bigint): [bigint, bigint] => {
    const square = multiply(x, x)
    return [multiply(x, taylor(sinTerms, square)), taylor(cosTerms, square)]
  }
  const rotate = (
    [s, c]: readonly [bigint, bigint],
    [ds, dc]: readonly [bigint, bigint],
  ): [bigint, bigint] => [(s * dc + c * ds) >> shift, (c * dc - s * ds) >> shift]
  /** Sine and cosine of 0, 1/64, 2/64, ... to beyond pi/4: from a 64th of the angle, doubled six times. */
  const table = Array.from({ length: 52 }, (_, step): [bigint, bigint] => {
    let pair = small((BigInt(step) * one) / (STEPS << 6n))
    for (let i = 0; i < 6; i++) pair = rotate(pair, pair)
    const norm = sqrt(multiply(pair[0], pair[0]) + multiply(pair[1], pair[1]))
    return [divide(pair[0], norm), divide(pair[1], norm)]
  })

  /** for an angle of at most slightly more than pi/4 */
  function sinCosInOctant(x: bigint): [bigint, bigint] {
    if (x < 0n) {
      const [s, c] = sinCosInOctant(-x)
      return [-s, c]
    }
    const step = (x * STEPS + half) >> shift
    const rest = small(x - (step * one) / STEPS)
    return step === 0n ? rest : rotate(table[Number(step)]!, rest)
  }
  function inQuadrant(quadrant: bigint, [s, c]: [bigint, bigint]): [bigint, bigint] {
    const turns = ((quadrant % 4n) + 4n) % 4n
    if (turns === 0n) return [s, c]
    if (turns === 1n) return [c, -s]
    if (turns === 2n) return [-s, -c]
    return [-c, s]
  }
  function nearestQuadrant(x: bigint, quadrant: bigint): bigint {
    const doubled = 2n * x + quadrant
    const floor = doubled / (2n * quadrant)
    return doubled < 0n && doubled % (2n * quadrant) !== 0n ? floor - 1n : floor
  }
  function sinCos(x: bigint): [bigint, bigint] {
    const quadrant = nearestQuadrant(x, halfPi)
    return inQuadrant(quadrant, sinCosInOctant(x - ((quadrant * pi) >> 1n)))
  }
  function sinCosDegrees(degrees: number): [bigint, bigint] {
    const exact = from(degrees)
    const quadrant = nearestQuadrant(exact, quarterTurn)
    const rest = exact - quadrant * quarterTurn
    return inQuadrant(quadrant, sinCosInOctant((rest * degreesToRadians) >> (shift + GUARD + 16n)))
  }

  function atan2(y: bigint, x: bigint): bigint {
    const length = sqrt(multiply(x, x) + multiply(y, y))
    if (length === 0n) throw new RangeError('No angle at the origin')
    let angle = from(Math.atan2(toNumber(y), toNumber(x)))
    for (let right = 50; ; right *= 3) {
      const [s, c] = sinCos(angle)
      const rest = divide((y * c - x * s) >> shift, length)
      // arcsin(r) = r + r^3 / 6 + ..., so each step triples the digits.
      angle += rest + multiply(multiply(rest, rest), rest) / 6n
      if (right > bits) return angle
    }
  }

  return { bits, one, pi, multiply, divide, sqrt, sinCos, sinCosDegrees, atan2, from, toNumber }
}
