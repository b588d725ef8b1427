import { Positions, type Numbers } from './positions'

/**
 * Reads the coordinates of GeoJSON from the bytes of a body in one pass that parses the numbers and prints
 * them in canonical form. With JSON.parse, JSON.stringify and the steps between, they took half the time of a
 * large request.
 *
 * It reads plain coordinates: equally nested lists of two or three numbers in range, with up to 6 digits
 * before the decimal point and no exponent. Otherwise the caller reads the body in the usual way, which words
 * the errors.
 */

/** Consecutive positions, an innermost list of some coordinates: from `start` to before `end`. */
export class Run {
  constructor(
    readonly start: number,
    readonly end: number,
  ) {}
}
export type Runs = Run | Run[] | Run[][]

/** One value of `coordinates`. */
export interface CoordinateList {
  /** 0 a position, 1 a list of them, ... */
  depth: number
  runs: Runs
  /** its first and last offset in the JSON */
  start: number
  end: number
  /** its canonical form */
  text: { start: number; end: number }
}

export interface Lifted extends Numbers {
  /**
   * The JSON with each value of `coordinates` replaced by its index in `lists`, within as many brackets as it
   * had.
   */
  rest: Uint8Array
  lists: CoordinateList[]
  /** The canonical JSON of one list. */
  print(list: CoordinateList): string
}

/**
 * Takes the values of `coordinates` out of JSON in UTF-8. Undefined when one of them is not plain, or there
 * is a backslash anywhere: without backslashes no key has two spellings, and every quote starts or ends a
 * string. When the JSON is malformed elsewhere, so is `rest`.
 */
export function liftCoordinates(json: Uint8Array): Lifted | undefined {
  const scanner = new Scanner(json)
  const lists: CoordinateList[] = []
  const rest = new Uint8Array(json.length)
  let [kept, copied] = [0, 0]
  const keep = (from: number, to: number) => {
    rest.set(json.subarray(from, to), kept)
    kept += to - from
  }
  for (let at = 0; at < json.length; at++) {
    if (json[at] === BACKSLASH) return undefined
    if (json[at] !== QUOTE || !KEY.every((byte, i) => json[at + i] === byte)) continue
    const list = scanner.list(at + KEY.length)
    if (!list) return undefined
    const index = bytesOf('['.repeat(list.depth + 1) + lists.length + ']'.repeat(list.depth + 1))
    if (list.start + index.length > list.end) return undefined
    keep(copied, list.start)
    rest.set(index, kept)
    kept += index.length
    copied = list.end
    lists.push(list)
    at = list.end - 1
  }
  if (lists.length === 0) return undefined
  keep(copied, json.length)
  return {
    rest: rest.subarray(0, kept),
    lists,
    print: ({ text }) => scanner.print(text),
    ...scanner.positions.numbers(),
  }
}

const UTF_8 = new TextDecoder()
const bytesOf = (text: string) => new TextEncoder().encode(text)
const KEY = bytesOf('"coordinates"')

const TAB = 0x09
const LINE_FEED = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const LARGE_E = 0x45
const OPEN = 0x5b
const BACKSLASH = 0x5c
const CLOSE = 0x5d
const SMALL_E = 0x65

/** A MultiPolygon's: lists of polygons, of rings, of positions, of numbers. */
const MOST_BRACKETS = 4
/** The most digits before the decimal point. */
const WHOLE_DIGITS = 6
/** Digits after the decimal point are read in two parts of this length. */
const PART_DIGITS = 9
/** Smaller numbers are printed with an exponent. */
const LEAST_PLAIN = 1e-6
/** All of these are exact doubles. */
const POWERS_OF_TEN = Array.from({ length: 19 }, (_, exponent) => Number(`1e${exponent}`))

class Scanner {
  readonly positions = new Positions()
  private at = 0
  /** The canonical form of what was read; it is never longer. */
  private readonly canonical: Uint8Array
  private length = 0
  /** the number read last */
  private number = 0

  constructor(private readonly json: Uint8Array) {
    this.canonical = new Uint8Array(json.length)
  }

  /** Reads a colon and lists. Undefined when they are not plain. */
  list(at: number): CoordinateList | undefined {
    this.at = at
    if (!this.take(COLON)) return undefined
    this.nextByte()
    const { at: start, length: textStart } = this
    let brackets = 0
    while (this.takeAndPrint(OPEN)) if (++brackets > MOST_BRACKETS) return undefined
    if (brackets === 0) return undefined
    const runs: Run[][] = [[]]
    let first = this.positions.count
    for (let open = brackets; ;) {
      if (!this.position()) return undefined
      for (open--; open > 0 && this.takeAndPrint(CLOSE); open--) {
        if (open === brackets - 1) {
          runs[runs.length - 1]!.push(new Run(first, this.positions.count))
          first = this.positions.count
        } else if (open === brackets - 2) runs.push([])
      }
      if (open === 0) break
      if (!this.takeAndPrint(COMMA)) return undefined
      for (; open < brackets; open++) if (!this.takeAndPrint(OPEN)) return undefined
    }
    // The last run was begun when the list of runs ended.
    if (brackets === 4) runs.pop()
    const nested = [new Run(first, this.positions.count), runs[0]![0]!, runs[0]!, runs][brackets - 1]!
    return {
      depth: brackets - 1,
      runs: nested,
      start,
      end: this.at,
      text: { start: textStart, end: this.length },
    }
  }

  print({ start, end }: CoordinateList['text']): string {
    return UTF_8.decode(this.canonical.subarray(start, end))
  }

  /** Reads two or three numbers and the bracket that closes them. */
  private position(): boolean {
    if (!this.readNumber() || !(Math.abs(this.number) <= 180) || !this.takeAndPrint(COMMA)) return false
    const longitude = this.number
    if (!this.readNumber() || !(Math.abs(this.number) <= 90)) return false
    const latitude = this.number
    const high = this.takeAndPrint(COMMA)
    if (high && !this.readNumber()) return false
    this.positions.add(longitude, latitude, high ? this.number : NaN)
    return this.takeAndPrint(CLOSE)
  }

  /** The next byte that is no white space, without taking it. */
  private nextByte(): number {
    const { json } = this
    let byte = json[this.at]!
    if (byte > SPACE) return byte
    while (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB) byte = json[++this.at]!
    return byte
  }

  private take(byte: number): boolean {
    if (this.nextByte() !== byte) return false
    this.at++
    return true
  }

  private takeAndPrint(byte: number): boolean {
    if (!this.take(byte)) return false
    this.canonical[this.length++] = byte
    return true
  }

  /**
   * Reads a number into `number` and prints it. The digits as a whole number, divided by a power of ten, give
   * the nearest double when both are exact, as they always are up to 15 digits (Clinger 1990). No shorter
   * decimal reads as the same double then, so the given digits are canonical, except for trailing zeros.
   */
  private readNumber(): boolean {
    const { json, canonical } = this
    let byte = this.nextByte()
    let at = this.at
    let length = this.length
    const negative = byte === MINUS
    if (negative) {
      canonical[length++] = byte
      byte = json[++at]!
    }
    const before = at
    let whole = 0
    for (; byte >= ZERO && byte <= NINE; byte = json[++at]!) {
      if (at - before === WHOLE_DIGITS || (at > before && whole === 0)) return false
      whole = 10 * whole + byte - ZERO
      canonical[length++] = byte
    }
    if (at === before) return false
    let high = 0
    let highDigits = 0
    let low = 0
    let lowDigits = 0
    if (byte === POINT) {
      canonical[length++] = byte
      byte = json[++at]!
      for (; byte >= ZERO && byte <= NINE && highDigits < PART_DIGITS; byte = json[++at]!) {
        high = 10 * high + byte - ZERO
        highDigits++
        canonical[length++] = byte
      }
      if (highDigits === 0) return false
      for (; byte >= ZERO && byte <= NINE && lowDigits < PART_DIGITS; byte = json[++at]!) {
        low = 10 * low + byte - ZERO
        lowDigits++
        canonical[length++] = byte
      }
    }
    const complete = !(byte >= ZERO && byte <= NINE)
    while (byte >= ZERO && byte <= NINE) byte = json[++at]!
    if (byte === SMALL_E || byte === LARGE_E) return false

    high += whole * POWERS_OF_TEN[highDigits]!
    const short = high < POWERS_OF_TEN[15 - lowDigits]!
    const token = this.at
    const printed = this.length
    this.at = at
    this.length = length
    if (short && complete) {
      this.number = (high * POWERS_OF_TEN[lowDigits]! + low) / POWERS_OF_TEN[highDigits + lowDigits]!
      if (this.number === 0) this.put('0', printed)
      else if (highDigits > 0) {
        while (canonical[this.length - 1] === ZERO) this.length--
        if (canonical[this.length - 1] === POINT) this.length--
      }
      if (negative) this.number = -this.number
    } else {
      this.number = high
      if (complete && this.divideLong(low, lowDigits)) {
        if (negative) this.number = -this.number
      } else {
        this.number = Number(UTF_8.decode(json.subarray(token, at)))
        this.put(String(this.number), printed)
      }
    }
    return this.number === 0 || Math.abs(this.number) >= LEAST_PLAIN
  }

  private put(text: string, at: number): void {
    for (let i = 0; i < text.length; i++) this.canonical[at + i] = text.charCodeAt(i)
    this.length = at + text.length
  }

  /**
   * Sets `number` to the double nearest to (number * 10^lowDigits + low) / 10^(9 + lowDigits); false when
   * that is not certain. The last two of the digits that were just printed are replaced by those of the
   * shortest decimal that reads as this double. (The number is passed in a field, as an argument or a result
   * would be allocated.)
   */
  private divideLong(low: number, lowDigits: number): boolean {
    const high = this.number
    // The number that all digits make is sum + rest, both whole, as `high` has at most 15 digits and `low` 9.
    const product = high * POWERS_OF_TEN[lowDigits]!
    const carried = low + roundingOf(high, POWERS_OF_TEN[lowDigits]!, product)
    const sum = product + carried
    const rest = carried - (sum - product)
    // The remainder of the quotient times the divisor, with a relative error of about 2^-50.
    const divisor = POWERS_OF_TEN[PART_DIGITS + lowDigits]!
    const quotient = sum / divisor
    const back = quotient * divisor
    const lacking = sum - back + (rest - roundingOf(quotient, divisor, back))
    const nearest = quotient + lacking / divisor

    // In units of the last digit: the double is at `last`, counted from the number without its last two
    // digits; whatever is nearer to it than `half` reads as it. DOUBT is far more than all errors together.
    const binade =
      nearest < 1 ? (1 << (31 - Math.clz32(nearest * 2 ** 20))) * 2 ** -20 : 1 << (31 - Math.clz32(nearest))
    const half = binade * 2 ** -53 * divisor
    const beyond = lacking - (nearest - quotient) * divisor
    const last = (low % 100) - beyond
    // The gap below a power of two is half as wide. With one low digit, the last two digits are not both in
    // it.
    if (!(Math.abs(beyond) < half * (1 - DOUBT)) || nearest === binade || lowDigits < 2) return false
    // If a multiple of 100 reads as the double, there is a decimal with fewer digits.
    if (!(Math.min(last, 100 - last) > half * (1 + DOUBT))) return false
    let shortest = 10 * Math.floor(last / 10 + 0.5)
    let unit = 10
    let far = Math.abs(last - shortest)
    if (far > half * (1 + DOUBT)) {
      shortest = Math.floor(last + 0.5)
      unit = 1
      far = Math.abs(last - shortest)
    }
    // Of the decimals with equally many digits the nearest one counts.
    if (!(far < half * (1 - DOUBT) && far < unit * (0.5 - DOUBT))) return false
    const tens = Math.floor(shortest / 10)
    this.canonical[this.length - 2] = ZERO + tens
    this.canonical[this.length - 1] = ZERO + shortest - 10 * tens
    if (unit === 10) this.length--
    this.number = nearest
    return true
  }
}

const DOUBT = 1e-6

/** Splits a double into two halves of 26 bits. */
const SPLITTER = 2 ** 27 + 1
/** The rounding error a * b - product, exactly, where `product` is a * b rounded (Dekker 1971). */
function roundingOf(a: number, b: number, product: number): number {
  const aSplit = SPLITTER * a
  const bSplit = SPLITTER * b
  const aHigh = aSplit - (aSplit - a)
  const bHigh = bSplit - (bSplit - b)
  const aLow = a - aHigh
  const bLow = b - bHigh
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow)
}
