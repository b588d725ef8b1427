// SPDX-License-Identifier: MIT
/**
 * Numbers of twice the precision of a double, as unevaluated sums of two doubles (T. J. Dekker, "A
 * floating-point technique for extending the available precision", 1971; D. E. Knuth, "The Art of Computer
 * Programming", volume 2, 4.2.2). Relative errors are below 1e-30; for sums they are relative to the larger
 * term.
 */
export type Wide = readonly [high: number, low: number]

/** Exact sum of two doubles. */
export function sum(a: number, b: number): Wide {
  const high = a + b
  const part = high - a
  return [high, a - (high - part) + (b - part)]
}

/** Exact product of two doubles. */
function product(a: number, b: number): Wide {
  const high = a * b
  const [aHigh, bHigh] = [upper(a), upper(b)]
  const [aLow, bLow] = [a - aHigh, b - bHigh]
  return [high, aHigh * bHigh - high + aHigh * bLow + aLow * bHigh + aLow * bLow]
}

/** Upper 26 bits of a double. */
function upper(a: number): number {
  const shifted = 134_217_729 * a
  return shifted - (shifted - a)
}

/** Normalises a sum of two doubles with |low| below |high|. */
function normal(high: number, low: number): Wide {
  const total = high + low
  return [total, low - (total - high)]
}

export function add(a: Wide, b: Wide): Wide {
  const [high, low] = sum(a[0], b[0])
  return normal(high, low + a[1] + b[1])
}

export function subtract(a: Wide, b: Wide): Wide {
  return add(a, [-b[0], -b[1]])
}

export function multiply(a: Wide, b: Wide): Wide {
  const [high, low] = product(a[0], b[0])
  return normal(high, low + (a[0] * b[1] + a[1] * b[0]))
}

export function divide(a: Wide, b: Wide): Wide {
  const quotient = a[0] / b[0]
  const [rest] = subtract(a, multiply(b, [quotient, 0]))
  return normal(quotient, rest / b[0])
}

/** 1 / sqrt(a), by one step of Newton's method. */
export function inverseRoot(a: Wide): Wide {
  const root = 1 / Math.sqrt(a[0])
  const [rest] = subtract([1, 0], multiply(a, product(root, root)))
  return normal(root, (root * rest) / 2)
}

/** pi / 180 */
export const DEGREE: Wide = [0.017453292519943295, 2.9486522708701687e-19]

/** Sines and cosines of whole degrees from 0 to 90. */
const TABLE = Array.from({ length: 91 }, (_, degrees): readonly [sin: Wide, cos: Wide] => {
  const angle = multiply(DEGREE, [degrees > 45 ? 90 - degrees : degrees, 0])
  const terms: [Wide, Wide] = [
    [0, 0],
    [1, 0],
  ]
  let term: Wide = [1, 0]
  for (let n = 1; n < 28; n++) {
    term = divide(multiply(term, angle), [n % 4 === 2 || n % 4 === 0 ? -n : n, 0])
    terms[n % 2 === 1 ? 0 : 1] = add(terms[n % 2 === 1 ? 0 : 1], term)
  }
  return degrees > 45 ? [terms[1], terms[0]] : terms
})

/** Sine and cosine of an angle from -90 to 90 degrees, accurate to 1e-23. */
export function sinCosOfDegrees(degrees: number): readonly [sin: Wide, cos: Wide] {
  const whole = Math.round(degrees)
  return sinCosNear(whole, multiply(DEGREE, [degrees - whole, 0]))
}

/** Sine and cosine of an angle from -pi/2 to pi/2 radians, accurate to 1e-23. */
export function sinCosOfRadians(radians: number): readonly [sin: Wide, cos: Wide] {
  const whole = Math.round(radians / DEGREE[0])
  return sinCosNear(whole, subtract([radians, 0], multiply(DEGREE, [whole, 0])))
}

/** Sine and cosine of whole degrees plus a remainder of at most half a degree, which is given in radians. */
function sinCosNear(degrees: number, rest: Wide): readonly [sin: Wide, cos: Wide] {
  const [r, low] = rest
  const z = r * r
  const sin = normal(r, low * (1 - z / 2) + r * z * (-1 / 6 + z * (1 / 120 + z * (-1 / 5040 + z / 362_880))))
  const [square, squareLow] = product(r, r)
  const cos = add(
    [1, 0],
    [-square / 2, z * z * (1 / 24 + z * (-1 / 720 + z / 40_320)) - squareLow / 2 - r * low],
  )
  const [tableSin, tableCos] = TABLE[Math.abs(degrees)]!
  const wholeSin = degrees < 0 ? negative(tableSin) : tableSin
  return [
    add(multiply(wholeSin, cos), multiply(tableCos, sin)),
    subtract(multiply(tableCos, cos), multiply(wholeSin, sin)),
  ]
}

export function negative([high, low]: Wide): Wide {
  return [-high, -low]
}

/** Angle of a direction in radians, accurate to 1e-23. Either x is above 0, or x is 0 and y above 0. */
export function angleOf(y: Wide, x: Wide): Wide {
  const angle = Math.atan2(y[0], x[0])
  const [sin, cos] = sinCosOfRadians(angle)
  const [across] = subtract(multiply(y, cos), multiply(x, sin))
  return normal(angle, across / Math.sqrt(x[0] * x[0] + y[0] * y[0]))
}
