// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { hunt, type Hunt } from '../../../test/seed'
import * as ours from '../src/kernel/math'

/**
 * Compares the functions of the kernel with this Node's Math, bit for bit, since the service computes with
 * Math.
 */

const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
const long = new BigInt64Array(double.buffer)
let random: () => number
const word = () => Math.floor(random() * 2 ** 32)
/** Returns any double, including infinities and NaN. */
const any = () => {
  words[0] = word()
  words[1] = word()
  return double[0]!
}
/** Returns a double of either sign, with exponents distributed evenly over a range. */
const ofExponent = (low: number, high: number) => () => {
  words[0] = word()
  words[1] = ((1023 + low + Math.floor(random() * (high - low))) << 20) | (word() & 0x800f_ffff)
  return double[0]!
}
/** Returns a double at most 32 steps from a given one. */
const beside = (place: () => number) => () => {
  double[0] = place()
  long[0] = long[0]! + BigInt(Math.floor(random() * 65) - 32)
  return double[0]
}
const between = (low: number, high: number) => () => low + (high - low) * random()
const among = (places: readonly number[]) => () => places[Math.floor(random() * places.length)]!
const multipleOf = (angle: number, most: number) => () => angle * Math.floor((2 * random() - 1) * most)

const SPECIAL = [
  ...[0, -0, 1, -1, 0.5, -0.5, 2, Infinity, -Infinity, NaN, Number.MAX_VALUE, -Number.MAX_VALUE],
  ...[5e-324, -5e-324],
  ...[27, 28, 29, 54, 57, 1022, 1023].map((power) => 2 ** -power),
  ...[18, 19, 53, 54, 60, 61, 66].map((power) => 2 ** power),
  ...[Math.PI, Math.PI / 2, Math.PI / 4, (3 * Math.PI) / 4, -Math.PI],
]
const ANGLES = [
  ...[between(-Math.PI, Math.PI), between(-1_000, 1_000), beside(multipleOf(Math.PI / 2, 64))],
  ...[beside(multipleOf(Math.PI / 4, 2 ** 20)), ofExponent(-60, 3), ofExponent(17, 20)],
]
/** True for numbers that sin, cos and tan reject. */
const isFar = (x: number) => Number.isFinite(x) && Math.abs(x) > 2 ** 19 * Math.PI
const SINES = [between(-1, 1), beside(among([-1, 1, 0.5, -0.5, 0.975, -0.975])), ofExponent(-60, 0)]
const NUMBERS = [
  between(-4, 4),
  beside(among([0.4375, 0.6875, 1.1875, 2.4375, 1, -1, Math.SQRT1_2 - 1, Math.SQRT2 - 1])),
  ofExponent(-60, 60),
  ofExponent(-1022, 1023),
  () => ofExponent(-20, 20)() * 1e-310,
]
const KINDS: Record<string, (() => number)[]> = {
  ...{ sin: ANGLES, cos: ANGLES, tan: ANGLES },
  ...{ asin: SINES, acos: SINES, atanh: SINES },
  ...{ atan: NUMBERS, log1p: NUMBERS, cbrt: NUMBERS },
  ...{ atan2: NUMBERS, hypot: NUMBERS },
}
/** Number of arguments of a function. */
const ARITIES: Record<string, readonly number[]> = { atan2: [2], hypot: [2, 3] }

test('the cases cover every function except pow', () => {
  expect(Object.keys(KINDS).sort()).toEqual(
    Object.keys(ours)
      .filter((name) => name !== 'pow')
      .sort(),
  )
})
for (const name of Object.keys(KINDS))
  hunt(`${name} equals Math.${name} bit for bit`, 5_000, (given) => compareWithMath(name, given))

/** Compares a number of arguments of each kind. */
function compareWithMath(name: string, { cases, random: seeded, report }: Hunt): void {
  random = seeded
  const own = ours[name as 'hypot'] as (...values: number[]) => number
  const native = (...values: number[]) => Math[name as 'hypot'](...values)
  const wrong: unknown[] = []
  let compared = 0
  const compare = (values: number[]) => {
    if (KINDS[name] === ANGLES && isFar(values[0]!)) return
    compared++
    const [found, expected] = [own(...values), native(...values)]
    if (!Object.is(found, expected) && wrong.length < 5) wrong.push({ values, found, expected })
  }
  for (const arity of ARITIES[name] ?? [1]) {
    const places = Array.from({ length: arity }, (_, i) => i)
    for (const kind of [...KINDS[name]!, any])
      for (let i = 0; i < cases; i++) compare(places.map((at) => (at % 2 ? among(SPECIAL) : kind)()))
    if (arity > 1)
      for (const kind of KINDS[name]!) for (let i = 0; i < cases; i++) compare(places.map(() => kind()))
    for (const first of SPECIAL)
      for (const second of arity > 1 ? SPECIAL : [0]) compare([first, second, second].slice(0, arity))
  }
  report(`${compared} compared`)
  expect(wrong).toEqual([])
}

test.each(['sin', 'cos', 'tan'] as const)('%s rejects numbers beyond 2^19 pi', (name) => {
  for (const x of [1_647_100, -2e6, Number.MAX_VALUE]) expect(() => ours[name](x)).toThrow(RangeError)
})

test('pow computes powers of 2 and 1/2 exactly, and rejects other bases', () => {
  for (let power = -1022; power <= 1022; power++) {
    expect(ours.pow(2, power)).toBe(2 ** power)
    expect(ours.pow(0.5, power)).toBe(2 ** -power)
  }
  for (const [base, power] of [
    [3, 2],
    [2, 0.5],
    [2, 1024],
    [2, NaN],
  ] as const)
    expect(() => ours.pow(base, power)).toThrow(RangeError)
})
