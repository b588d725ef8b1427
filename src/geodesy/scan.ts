// SPDX-License-Identifier: MIT
import { Positions, type Numbers } from './positions'
import { NumberScanner } from './scan-number'

/**
 * Reads coordinates from the bytes of a body in one pass, together with their canonical form: a view of the
 * bytes if they are canonical. It reads plain coordinates only: equally nested lists of two or three numbers
 * in range, with up to 6 digits before the point and no exponent. The slower reader (geojson.ts) reads all
 * others, and writes the error messages.
 */

/** Consecutive positions of an innermost list of coordinates: from `start` to before `end`. */
export class Run {
  constructor(
    readonly start: number,
    readonly end: number,
  ) {}
}
export type Runs = Run | Run[] | Run[][]

/** Value of one `coordinates` member. */
export interface CoordinateList {
  /** 0 for a position, 1 for a list of positions, and so on */
  depth: number
  runs: Runs
  /** first and last offset in the JSON */
  start: number
  end: number
  /** its canonical JSON in ASCII: a view of the body if that is canonical */
  text: Uint8Array
}

export interface Lifted extends Numbers {
  /** JSON with an index in `lists` for each value of `coordinates`, in as many brackets as the value */
  rest: Uint8Array
  lists: CoordinateList[]
}

/**
 * Lifts the values of `coordinates` out of JSON in UTF-8. Undefined if one is not plain, or if the JSON has a
 * backslash, with which keys have two spellings. If the JSON is malformed elsewhere, so is `rest`.
 */
export function liftCoordinates(json: Uint8Array): Lifted | undefined {
  const scanner = new Scanner(json)
  const lists: CoordinateList[] = []
  const rest: Uint8Array[] = []
  let copied = 0
  for (let at = 0; at < json.length; at++) {
    if (json[at] === BACKSLASH) return undefined
    if (json[at] !== QUOTE || !KEY.every((byte, i) => json[at + i] === byte)) continue
    const list = scanner.list(at + KEY.length)
    if (!list) return undefined
    const index = bytesOf('['.repeat(list.depth + 1) + lists.length + ']'.repeat(list.depth + 1))
    if (list.start + index.length > list.end) return undefined
    rest.push(json.subarray(copied, list.start), index)
    copied = list.end
    lists.push(list)
    at = list.end - 1
  }
  if (lists.length === 0) return undefined
  rest.push(json.subarray(copied))
  return { rest: joined(rest), lists, ...scanner.positions.used() }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const KEY = bytesOf('"coordinates"')

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x5b
const BACKSLASH = 0x5c
const CLOSE = 0x5d

/** Nesting of a MultiPolygon: lists of polygons, of rings, of positions, of numbers. */
const MOST_BRACKETS = 4
/** Bytes reserved per position. Two numbers of full length take 40. */
const BYTES_PER_POSITION = 32

class Scanner extends NumberScanner {
  readonly positions = new Positions()

  /** Reads a colon and lists. Undefined if they are not plain. */
  list(at: number): CoordinateList | undefined {
    this.at = this.copied = at
    if (!this.consume(COLON)) return undefined
    this.skipSpace()
    const { at: start, length: textStart } = this
    this.copied = start
    let brackets = 0
    while (this.consume(OPEN)) if (++brackets > MOST_BRACKETS) return undefined
    if (brackets === 0) return undefined
    const runs: Run[][] = [[]]
    let first = this.positions.count
    if (brackets > 1) this.positions.reserve(Math.floor((this.json.length - start) / BYTES_PER_POSITION))
    for (let open = brackets; ;) {
      if (!this.position()) return undefined
      for (open--; open > 0 && this.consume(CLOSE); open--) {
        if (open === brackets - 1) {
          runs[runs.length - 1]!.push(new Run(first, this.positions.count))
          first = this.positions.count
        } else if (open === brackets - 2) runs.push([])
      }
      if (open === 0) break
      if (!this.consume(COMMA)) return undefined
      for (; open < brackets; open++) if (!this.consume(OPEN)) return undefined
    }
    // The last run began when the list of runs ended.
    if (brackets === 4) runs.pop()
    const nested = [new Run(first, this.positions.count), runs[0]![0]!, runs[0]!, runs][brackets - 1]!
    const end = this.at
    let text = this.json.subarray(start, end)
    if (this.copied !== start) {
      this.copy(end)
      text = this.canonical.subarray(textStart, this.length)
    }
    return { depth: brackets - 1, runs: nested, start, end, text }
  }

  /** Reads two or three numbers and the bracket that closes them. */
  private position(): boolean {
    const { number } = this
    if (!this.readNumber() || !(Math.abs(number[0]!) <= 180) || !this.consume(COMMA)) return false
    const longitude = number[0]!
    if (!this.readNumber() || !(Math.abs(number[0]!) <= 90)) return false
    const latitude = number[0]!
    const high = this.consume(COMMA)
    if (high && !this.readNumber()) return false
    this.positions.add(longitude, latitude, high ? number[0]! : NaN)
    return this.consume(CLOSE)
  }
}
