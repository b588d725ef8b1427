// SPDX-License-Identifier: MIT
import { highWord, ofHighWord } from './words'

/**
 * Reduces arguments of sin, cos and tan by multiples of pi / 2, as fdlibm does (e_rem_pio2.c; NOTICE), with
 * the same additions and multiplications in the same order, so the results have the same bits.
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
/** The first doubles above 3 pi / 4 and 2^19 pi, as their high words determine them. */
const NEAR = ofHighWord(0x4002_d97c)
const FAR = ofHighWord(0x4139_21fc)

/** Second result of reducePiHalves: the remainder is `high` + `low`. */
export const remainder = { high: 0, low: 0 }

/**
 * Reduces a finite number beyond pi / 4. Writes its remainder by pi / 2, at most about pi / 4, into
 * `remainder`, and returns the multiple that was subtracted. Throws a RangeError for numbers beyond 2^19 pi,
 * which need another algorithm. Only `positionFrom` can exceed them, about 1e13 m away.
 */
export function reducePiHalves(x: number): number {
  const size = Math.abs(x)
  if (size >= FAR) throw new RangeError(`The angle ${x} is larger than 2^19 pi.`)
  const n = reduceMedium(size)
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
