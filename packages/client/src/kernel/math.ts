// SPDX-License-Identifier: MIT
import { reducePiHalves, remainder } from './pi-halves'
import { highWord, ofHighWord, roundedTo23, withHighWord, withoutLowWord } from './words'

/**
 * The functions of Math that engines compute differently, as V8 computes them in Node: those of fdlibm by Sun
 * Microsystems, with cbrt of FreeBSD's msun (NOTICE). They use only additions, multiplications, divisions and
 * square roots, which IEEE 754 defines to the last bit, in fdlibm's order, so every engine produces the same
 * bits. math.test.ts compares them with Math in Node.
 */

/** The first double above pi / 4, as its high word determines it. Smaller arguments need no reduction. */
const PI_4_END = ofHighWord(0x3fe9_21fc)
const PI_4 = Math.PI / 4
const PI_4_LOW = 3.06161699786838301793e-17
const PI_2 = Math.PI / 2
const PI_2_LOW = 6.12323399573676603587e-17
const PI_LOW = 1.2246467991473531772e-16
const TWO_MINUS_27 = ofHighWord(0x3e40_0000)
const TWO_MINUS_28 = ofHighWord(0x3e30_0000)

export function sin(x: number): number {
  if (Math.abs(x) < PI_4_END) return sine(x)
  if (!Number.isFinite(x)) return NaN
  const n = reducePiHalves(x) & 3
  const { high, low } = remainder
  const value = n & 1 ? cosine(high, low) : sineOfSum(high, low)
  return n & 2 ? -value : value
}

export function cos(x: number): number {
  if (Math.abs(x) < PI_4_END) return cosine(x, 0)
  if (!Number.isFinite(x)) return NaN
  const n = reducePiHalves(x) & 3
  const { high, low } = remainder
  const value = n & 1 ? sineOfSum(high, low) : cosine(high, low)
  return n === 1 || n === 2 ? -value : value
}

export function tan(x: number): number {
  if (Math.abs(x) < PI_4_END) return tangent(x, 0, false)
  if (!Number.isFinite(x)) return NaN
  const inverse = (reducePiHalves(x) & 1) === 1
  return tangent(remainder.high, remainder.low, inverse)
}

const S1 = -1.66666666666666324348e-1
const S2 = 8.33333333332248946124e-3
const S3 = -1.98412698298579493134e-4
const S4 = 2.75573137070700676789e-6
const S5 = -2.50507602534068634195e-8
const S6 = 1.58969099521155010221e-10

/** Sine of x for |x| up to about pi / 4 (k_sin.c). */
function sine(x: number): number {
  if (Math.abs(x) < TWO_MINUS_27) return x
  const z = x * x
  const r = S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))
  return x + z * x * (S1 + z * r)
}

/** Sine of x + y, where y is the part of the sum that x cannot represent (k_sin.c). */
function sineOfSum(x: number, y: number): number {
  if (Math.abs(x) < TWO_MINUS_27) return x
  const z = x * x
  const v = z * x
  const r = S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))
  return x - (z * (0.5 * y - v * r) - y - v * S1)
}

const C1 = 4.16666666666666019037e-2
const C2 = -1.38888888888741095749e-3
const C3 = 2.48015872894767294178e-5
const C4 = -2.75573143513906633035e-7
const C5 = 2.0875723212981748279e-9
const C6 = -1.13596475577881948265e-11
const NEAR_0_3 = ofHighWord(0x3fd3_3333)
const BEYOND_0_78 = ofHighWord(0x3fe9_0001)

/** Cosine of x + y for sums up to about pi / 4 (k_cos.c). */
function cosine(x: number, y: number): number {
  const size = Math.abs(x)
  if (size < TWO_MINUS_27) return 1
  const z = x * x
  const r = z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))
  if (size < NEAR_0_3) return 1 - (0.5 * z - (z * r - x * y))
  // A quarter of x, rounded down to a few bits, so that 1 - q and z / 2 - q are exact.
  const q =
    size < 0.5
      ? Math.floor(size * 4_194_304) / 16_777_216
      : size < BEYOND_0_78
        ? Math.floor(size * 2_097_152) / 8_388_608
        : 0.28125
  return 1 - q - (0.5 * z - q - (z * r - x * y))
}

const T0 = 3.33333333333334091986e-1
const T1 = 1.33333333333201242699e-1
const T2 = 5.39682539762260521377e-2
const T3 = 2.18694882948595424599e-2
const T4 = 8.86323982359930005737e-3
const T5 = 3.59207910759131235356e-3
const T6 = 1.45620945432529025516e-3
const T7 = 5.88041240820264096874e-4
const T8 = 2.46463134818469906812e-4
const T9 = 7.817944429395570923e-5
const T10 = 7.14072491382608190305e-5
const T11 = -1.85586374855275456654e-5
const T12 = 2.59073051863633712884e-5
const NEAR_PI_4 = ofHighWord(0x3fe5_9428)

/** Tangent of x + y for sums up to about pi / 4, or its negative reciprocal (k_tan.c). */
function tangent(x: number, y: number, inverse: boolean): number {
  const sign = x < 0 ? -1 : 1
  const size = Math.abs(x)
  if (size < TWO_MINUS_28) return inverse ? minusInverse(x, y, x + y) : x
  const turned = size >= NEAR_PI_4
  if (turned) {
    x = PI_4 - size + (PI_4_LOW - sign * y)
    y = 0
  }
  const z = x * x
  const w = z * z
  const odd = T1 + w * (T3 + w * (T5 + w * (T7 + w * (T9 + w * T11))))
  const even = z * (T2 + w * (T4 + w * (T6 + w * (T8 + w * (T10 + w * T12)))))
  const s = z * x
  const r = y + z * (s * (odd + even) + y) + T0 * s
  const sum = x + r
  if (turned) {
    const v = inverse ? -1 : 1
    return sign * (v - 2 * (x - ((sum * sum) / (sum + v) - r)))
  }
  return inverse ? minusInverse(x, r, sum) : sum
}

/** Returns -1 / (x + y); `sum` is x + y, rounded. */
function minusInverse(x: number, y: number, sum: number): number {
  const z = withoutLowWord(sum)
  const v = y - (z - x)
  const a = -1 / sum
  const t = withoutLowWord(a)
  return t + a * (1 + t * z + t * v)
}

const P0 = 1.66666666666666657415e-1
const P1 = -3.25565818622400915405e-1
const P2 = 2.01212532134862925881e-1
const P3 = -4.00555345006794114027e-2
const P4 = 7.91534994289814532176e-4
const P5 = 3.4793310759602116757e-5
const Q1 = -2.40339491173441421878
const Q2 = 2.02094576023350569471
const Q3 = -6.8828397160545329303e-1
const Q4 = 7.70381505559019352791e-2

/** Returns (asin x - x) / x for z = x^2. */
function arcRatio(z: number): number {
  const p = z * (P0 + z * (P1 + z * (P2 + z * (P3 + z * (P4 + z * P5)))))
  const q = 1 + z * (Q1 + z * (Q2 + z * (Q3 + z * Q4)))
  return p / q
}

const NEAR_1 = ofHighWord(0x3fef_3333)

export function asin(x: number): number {
  const size = Math.abs(x)
  if (size < TWO_MINUS_27) return x
  if (size < 0.5) return x + x * arcRatio(x * x)
  if (size === 1) return x * PI_2 + x * PI_2_LOW
  if (!(size < 1)) return NaN
  const z = (1 - size) * 0.5
  const r = arcRatio(z)
  const s = Math.sqrt(z)
  let value
  if (size >= NEAR_1) value = PI_2 - (2 * (s + s * r) - PI_2_LOW)
  else {
    const w = withoutLowWord(s)
    const c = (z - w * w) / (s + w)
    value = PI_4 - (2 * s * r - (PI_2_LOW - 2 * c) - (PI_4 - 2 * w))
  }
  return x > 0 ? value : -value
}

const TWO_MINUS_57_END = ofHighWord(0x3c60_0001)

export function acos(x: number): number {
  const size = Math.abs(x)
  if (size < TWO_MINUS_57_END) return PI_2 + PI_2_LOW
  if (size < 0.5) return PI_2 - (x - (PI_2_LOW - x * arcRatio(x * x)))
  if (size === 1) return x > 0 ? 0 : Math.PI + 2 * PI_2_LOW
  if (!(size < 1)) return NaN
  const z = (1 - size) * 0.5
  const s = Math.sqrt(z)
  const r = arcRatio(z)
  if (x < 0) return Math.PI - 2 * (s + (r * s - PI_2_LOW))
  const f = withoutLowWord(s)
  const c = (z - f * f) / (s + f)
  return 2 * (f + (r * s + c))
}

const A0 = 3.33333333333329318027e-1
const A1 = -1.99999999998764832476e-1
const A2 = 1.42857142725034663711e-1
const A3 = -1.1111110405462355788e-1
const A4 = 9.09088713343650656196e-2
const A5 = -7.69187620504482999495e-2
const A6 = 6.66107313738753120669e-2
const A7 = -5.83357013379057348645e-2
const A8 = 4.97687799461593236017e-2
const A9 = -3.6531572744216915527e-2
const A10 = 1.62858201153657823623e-2
const ATAN_HALF = 4.63647609000806093515e-1
const ATAN_HALF_LOW = 2.26987774529616870924e-17
const ATAN_3_2 = 9.82793723247329054082e-1
const ATAN_3_2_LOW = 1.39033110312309984516e-17
const TWO_66 = ofHighWord(0x4410_0000)

export function atan(x: number): number {
  const size = Math.abs(x)
  if (size < 0.4375) return size < TWO_MINUS_27 ? x : x - arc(x)
  if (Number.isNaN(x)) return NaN
  const value = size >= TWO_66 ? PI_2 + PI_2_LOW : atanBeyond(size)
  return x > 0 ? value : -value
}

function atanBeyond(size: number): number {
  if (size < 0.6875) return turnedBy(ATAN_HALF, ATAN_HALF_LOW, (2 * size - 1) / (2 + size))
  if (size < 1.1875) return turnedBy(PI_4, PI_4_LOW, (size - 1) / (size + 1))
  if (size < 2.4375) return turnedBy(ATAN_3_2, ATAN_3_2_LOW, (size - 1.5) / (1 + 1.5 * size))
  return turnedBy(PI_2, PI_2_LOW, -1 / size)
}

function turnedBy(high: number, low: number, x: number): number {
  return high - (arc(x) - low - x)
}

/** Returns x - atan x for |x| up to 7 / 16. */
function arc(x: number): number {
  const z = x * x
  const w = z * z
  const odd = z * (A0 + w * (A2 + w * (A4 + w * (A6 + w * (A8 + w * A10)))))
  const even = w * (A1 + w * (A3 + w * (A5 + w * (A7 + w * A9))))
  return x * (odd + even)
}

export function atan2(y: number, x: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN
  if (x === 1) return atan(y)
  const left = x < 0 || Object.is(x, -0)
  if (y === 0) return !left ? y : Object.is(y, 0) ? Math.PI : -Math.PI
  const value = angle(Math.abs(y), Math.abs(x), left)
  return y > 0 ? value : -value
}

/** Returns the angle from the positive x axis of the vector (x, y), or of (-x, y) if `left`; y is above 0. */
function angle(y: number, x: number, left: boolean): number {
  if (x === 0) return PI_2
  if (x === Infinity) return y === Infinity ? (left ? 3 * PI_4 : PI_4) : left ? Math.PI : 0
  if (y === Infinity) return PI_2
  const exponents = ((highWord(y) | 0) - (highWord(x) | 0)) >> 20
  if (exponents > 60) return PI_2 + 0.5 * PI_LOW
  const z = left && exponents < -60 ? 0 : atan(y / x)
  return left ? Math.PI - (z - PI_LOW) : z
}

const LN2_HIGH = 6.9314718036912381649e-1
const LN2_LOW = 1.90821492927058770002e-10
const L1 = 6.66666666666673513e-1
const L2 = 3.999999999940941908e-1
const L3 = 2.857142874366239149e-1
const L4 = 2.222219843214978396e-1
const L5 = 1.818357216161805012e-1
const L6 = 1.531383769920937332e-1
const L7 = 1.479819860511658591e-1
const TWO_MINUS_54 = ofHighWord(0x3c90_0000)
const TWO_MINUS_29 = ofHighWord(0x3e20_0000)
const TWO_53 = 9_007_199_254_740_992
/** Bounds of x between which 1 + x lies approximately between sqrt(1 / 2) and sqrt(2). */
const ROOT_HALF_LESS_1 = -ofHighWord(0x3fd2_bec4)
const ROOT_2_LESS_1 = ofHighWord(0x3fda_827a)

export function log1p(x: number): number {
  if (!(x > -1)) return x === -1 ? -Infinity : NaN
  if (x === Infinity) return x
  const size = Math.abs(x)
  if (size < TWO_MINUS_29) return size < TWO_MINUS_54 ? x : x - x * x * 0.5
  if (x <= ROOT_HALF_LESS_1 || x >= ROOT_2_LESS_1) return logOfSum(x)
  const half = 0.5 * x * x
  return x - (half - logRest(x, half))
}

/** Returns log(1 + x). It first scales 1 + x by a power of two, 2^-k. */
function logOfSum(x: number): number {
  let u = x < TWO_53 ? 1 + x : x
  let high = highWord(u)
  let k = (high >> 20) - 1023
  const lost = x < TWO_53 ? (k > 0 ? 1 - (u - x) : x - (u - 1)) / u : 0
  high &= 0x000f_ffff
  const above = high >= 0x6a09e
  u = withHighWord(u, high | (above ? 0x3fe0_0000 : 0x3ff0_0000))
  if (above) {
    k++
    high = (0x0010_0000 - high) >> 2
  }
  const f = u - 1
  const half = 0.5 * f * f
  if (high === 0) {
    if (f === 0) return k * LN2_HIGH + (lost + k * LN2_LOW)
    const rest = half * (1 - 0.66666666666666666 * f)
    return k * LN2_HIGH - (rest - (k * LN2_LOW + lost) - f)
  }
  return k * LN2_HIGH - (half - (logRest(f, half) + (k * LN2_LOW + lost)) - f)
}

function logRest(f: number, half: number): number {
  const s = f / (2 + f)
  const z = s * s
  const r = z * (L1 + z * (L2 + z * (L3 + z * (L4 + z * (L5 + z * (L6 + z * L7))))))
  return s * (half + r)
}

export function atanh(x: number): number {
  const size = Math.abs(x)
  if (size < TWO_MINUS_28) return x
  if (!(size < 1)) return size === 1 ? x * Infinity : NaN
  const twice = size + size
  const value =
    size < 0.5 ? 0.5 * log1p(twice + (twice * size) / (1 - size)) : 0.5 * log1p(twice / (1 - size))
  return x > 0 ? value : -value
}

const B0 = 1.87595182427177009643
const B1 = -1.88497979543377169875
const B2 = 1.62142972010535446614
const B3 = -0.758397934778766047437
const B4 = 0.145996192886612446982
/** Offsets of the high word of a cube root from a third of the number's, without and with 2^54 as factor. */
const THIRDS = 715_094_163
const THIRDS_SCALED = 696_219_795
const SMALLEST_NORMAL = ofHighWord(0x0010_0000)
const TWO_54 = 18_014_398_509_481_984

export function cbrt(x: number): number {
  const size = Math.abs(x)
  if (!(size > 0 && size < Infinity)) return x
  const rough =
    size < SMALLEST_NORMAL
      ? Math.trunc(highWord(size * TWO_54) / 3) + THIRDS_SCALED
      : Math.trunc(highWord(size) / 3) + THIRDS
  let t = ofHighWord(rough)
  let r = t * t * (t / size)
  t = t * (B0 + r * (B1 + r * B2) + r * r * r * (B3 + r * B4))
  t = roundedTo23(t)
  // One step of Newton's method.
  r = size / (t * t)
  r = (r - t) / (t + t + r)
  t = t + t * r
  return x > 0 ? t : -t
}

/** V8's algorithm for two or three numbers: scaling by the largest, and Kahan summation. */
export function hypot(x: number, y: number, z?: number): number {
  const numbers = z === undefined ? [Math.abs(x), Math.abs(y)] : [Math.abs(x), Math.abs(y), Math.abs(z)]
  const most = Math.max(...numbers)
  if (numbers.includes(Infinity)) return Infinity
  if (!(most > 0)) return most
  let sum = 0
  let lost = 0
  for (const number of numbers) {
    const part = number / most
    const next = part * part - lost
    const total = sum + next
    lost = total - sum - next
    sum = total
  }
  return Math.sqrt(sum) * most
}

/** Returns powers of 2 and 1/2, which are exact. Throws a RangeError for others, in which engines differ. */
export function pow(base: number, exponent: number): number {
  const power = base === 2 ? exponent : base === 0.5 ? -exponent : NaN
  if (!(Number.isInteger(power) && Math.abs(power) <= 1022))
    throw new RangeError(`${base} to the power of ${exponent} differs between JavaScript engines`)
  return ofHighWord((power + 1023) << 20)
}
