// SPDX-License-Identifier: MIT
import { highWord, ofHighWord } from './words'

/**
 * Reduces arguments of sin, cos and tan by multiples of pi / 2, as fdlibm does (e_rem_pio2.c and
 * k_rem_pio2.c; NOTICE), with the same additions and multiplications in the same order, so the results have
 * the same bits.
 */

/** pi / 2 in three pieces of 33 bits, each followed by the remainder that it leaves. */
const PIECE_1 = 1.57079632673412561417
const REST_1 = 6.07710050650619224932e-11
const PIECE_2 = 6.0771005063039659766e-11
const REST_2 = 2.02226624879595063154e-21
const PIECE_3 = 2.0222662487111664558e-21
const REST_3 = 8.47842766036889956997e-32
const TWO_OVER_PI = 6.36619772367581382433e-1

/** High words of the first multiples of pi / 2. */
const MULTIPLES = Int32Array.from({ length: 32 }, (_, n) => highWord(n * (Math.PI / 2)))
/** Range of the doubles that have the high word of pi / 2: the first one, and the first one above them. */
const PI_HALF = ofHighWord(0x3ff9_21fb)
const PI_HALF_END = ofHighWord(0x3ff9_21fc)
/** The first doubles above 3 pi / 4 and 2^18 pi, as their high words determine them. */
const NEAR = ofHighWord(0x4002_d97c)
const FAR = ofHighWord(0x4139_21fc)

/** Second result of reducePiHalves: the remainder is `high` + `low`. */
export const remainder = { high: 0, low: 0 }

/**
 * Reduces a finite number beyond pi / 4. Writes its remainder by pi / 2, at most about pi / 4, into
 * `remainder`, and returns the multiple that was subtracted, modulo 8 for numbers beyond 2^18 pi.
 */
export function reducePiHalves(x: number): number {
  const size = Math.abs(x)
  const n = size < FAR ? reduceMedium(size) : reduceFar(size)
  if (x > 0) return n
  remainder.high = -remainder.high
  remainder.low = -remainder.low
  return -n
}

function reduceMedium(x: number): number {
  if (x < NEAR) {
    const near = x >= PI_HALF && x < PI_HALF_END
    const z = near ? x - PIECE_1 - PIECE_2 : x - PIECE_1
    const rest = near ? REST_2 : REST_1
    remainder.high = z - rest
    remainder.low = z - remainder.high - rest
    return 1
  }
  const high = highWord(x)
  const n = Math.trunc(x * TWO_OVER_PI + 0.5)
  let r = x - n * PIECE_1
  let w = n * REST_1
  let y = r - w
  // The subtraction cancelled too many bits, so the next piece is needed.
  if ((n >= 32 || high === MULTIPLES[n]) && lostBits(high, y) > 16) {
    let before = r
    w = n * PIECE_2
    r = before - w
    w = n * REST_2 - (before - r - w)
    y = r - w
    if (lostBits(high, y) > 49) {
      before = r
      w = n * PIECE_3
      r = before - w
      w = n * REST_3 - (before - r - w)
      y = r - w
    }
  }
  remainder.high = y
  remainder.low = r - y - w
  return n
}

/** Returns the difference of the exponents of a positive number with this high word and of `y`. */
function lostBits(high: number, y: number): number {
  return (high >>> 20) - ((highWord(y) >>> 20) & 0x7ff)
}

const TWO_24 = 16_777_216
const TWO_MINUS_24 = 1 / TWO_24
/** The first 1,584 bits of 2 / pi after the binary point, in digits of 24 bits. */
const DIGITS = (
  'a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1' +
  'deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f11' +
  '8b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046f' +
  'c7b6babf0cfbc209af4361da9e391615ee61b086599855f14a068408dffd8804d73273106061556ca73a8c960e27bc08c6b'
)
  .match(/.{6}/g)!
  .map((digit) => parseInt(digit, 16))
/** pi / 2 in pieces of 24 bits. */
const PIECES = [
  1.57079625129699707031, 7.54978941586159635335e-8, 5.39030252995776476554e-15, 3.28200341580791294123e-22,
  1.27065575308067607349e-29,
]
/** Number of digits of the product that are computed first, in addition to the one before the point. */
const TERMS = 4

/**
 * Reduces a number beyond 2^18 pi. Multiplies it by the digits of 2 / pi whose products are not multiples of
 * 8, and uses as many digits as the fraction needs.
 */
function reduceFar(size: number): number {
  const exponent = (highWord(size) >>> 20) - 1046
  const x = threeDigits(size / powerOfTwo(exponent))
  const skipped = Math.max(0, Math.trunc((exponent - 3) / 24))
  let scale = exponent - 24 * (skipped + 1)
  const q: number[] = []
  const extend = (terms: number) => {
    for (let i = q.length; i <= terms; i++)
      q.push(x.reduce((sum, each, j) => sum + each * (DIGITS[skipped + i - j] ?? 0), 0))
  }
  extend(TERMS)
  let product = fractionOf(q, scale)
  while (product.z === 0 && product.digits.slice(TERMS).every((digit) => digit === 0)) {
    let more = 1
    while (more <= TERMS && product.digits[TERMS - more] === 0) more++
    extend(q.length - 1 + more)
    product = fractionOf(q, scale)
  }
  const { digits, n, negative } = product
  let { z } = product
  // Appends the most significant digit.
  if (z === 0) {
    scale -= 24
    while (digits.at(-1) === 0) {
      digits.pop()
      scale -= 24
    }
  } else {
    z /= powerOfTwo(scale)
    if (z >= TWO_24) {
      const above = Math.trunc(TWO_MINUS_24 * z)
      digits.push(z - TWO_24 * above, above)
      scale += 24
    } else digits.push(z)
  }
  const [high, low] = timesPiHalf(digits, scale)
  remainder.high = negative ? -high : high
  remainder.low = negative ? -low : low
  return n & 7
}

/**
 * Splits a number below 2^24 into digits of 24 bits, of which the first is the whole part, without trailing
 * zeros.
 */
function threeDigits(number: number): number[] {
  const first = Math.trunc(number)
  const rest = (number - first) * TWO_24
  const second = Math.trunc(rest)
  const digits = [first, second, (rest - second) * TWO_24]
  while (digits.at(-1) === 0) digits.pop()
  return digits
}

/**
 * Returns the fraction of a product times 2^scale relative to its nearest whole number, as digits of 24 bits,
 * the lowest first, below z; n is the whole number modulo 8.
 */
function fractionOf(q: readonly number[], scale: number) {
  const digits: number[] = []
  let z = q.at(-1)!
  for (let j = q.length - 1; j > 0; j--) {
    const carried = Math.trunc(TWO_MINUS_24 * z)
    digits.push(z - TWO_24 * carried)
    z = q[j - 1]! + carried
  }
  z *= powerOfTwo(scale)
  z -= 8 * Math.floor(z * 0.125)
  let n = Math.trunc(z)
  z -= n
  const top = digits.length - 1
  let half = 0
  if (scale > 0) {
    const whole = digits[top]! >> (24 - scale)
    n += whole
    digits[top]! -= whole << (24 - scale)
    half = digits[top]! >> (23 - scale)
  } else if (scale === 0) half = digits[top]! >> 23
  else if (z >= 0.5) half = 2
  if (half === 0) return { digits, z, n, negative: false }

  const lowest = digits.findIndex((digit) => digit !== 0)
  if (lowest >= 0) {
    digits[lowest] = TWO_24 - digits[lowest]!
    for (let i = lowest + 1; i <= top; i++) digits[i] = TWO_24 - 1 - digits[i]!
  }
  if (scale > 0) digits[top]! &= (TWO_24 - 1) >> scale
  if (half === 2) z = 1 - z - (lowest >= 0 ? powerOfTwo(scale) : 0)
  return { digits, z, n: n + 1, negative: true }
}

/**
 * Multiplies digits (the lowest first, the highest scaled by 2^scale) by pi / 2, and returns the product as
 * the sum of two numbers.
 */
function timesPiHalf(digits: readonly number[], scale: number): [number, number] {
  let unit = powerOfTwo(scale)
  const values: number[] = []
  for (const digit of [...digits].reverse()) {
    values.unshift(unit * digit)
    unit *= TWO_MINUS_24
  }
  const products = values.map((_, i) =>
    PIECES.slice(0, values.length - i).reduce((sum, piece, k) => sum + piece * values[i + k]!, 0),
  )
  // products[i] belongs to digit i, so the largest products come last.
  const high = products.reduce((sum, each) => sum + each, 0)
  const low = products.slice(0, -1).reduceRight((sum, each) => sum + each, products.at(-1)! - high)
  return [high, low]
}

function powerOfTwo(exponent: number): number {
  return ofHighWord((exponent + 1023) << 20)
}
