// SPDX-License-Identifier: MIT
/**
 * Reads the numbers of plain coordinates (scan.ts) from the bytes of JSON. Digits are read four at a time, as
 * integers. Numbers for which this is not certain to be exact are read with `Number`.
 */

const UTF_8 = new TextDecoder()

const TAB = 0x09
const LINE_FEED = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30

/** Maximum number of digits before the decimal point. */
const WHOLE_DIGITS = 6
/** Number of decimals in the first of the two parts in which decimals are read. */
const HIGH_DIGITS = 8
/** Maximum number of decimals read four at a time: eight in each part. The second may have two more. */
const MOST_WHOLE_FOURS = 16
const MOST_DECIMALS = 18
/** Room for a sign, WHOLE_DIGITS, a point, MOST_WHOLE_FOURS and four more bytes. */
const LONGEST_NUMBER = 28
/** Constants with the same value in each of the four bytes of an integer. */
const FOUR_ZEROS = 0x30303030
const FOUR_SIXES = 0x06060606
const HIGH_HALVES = 0xf0f0f0f0
const PLAIN = /^-?(0|[1-9]\d{0,5})(\.\d+)?$/
/** by byte: 1 if a number may contain it */
const IN_NUMBERS = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[-+.\deE]/.test(String.fromCharCode(byte))),
)
/** Smaller numbers are printed with an exponent. */
const LEAST_PLAIN = 1e-6
/** Whole numbers below this are exact doubles. */
const SIXTEEN_DIGITS = 1e15
/** Powers of ten from 0 to 18, all of them exact doubles. */
const POWERS_OF_TEN = Float64Array.from({ length: 19 }, (_, exponent) => Number(`1e${exponent}`))
/** Half the gap between doubles, by number of bits before the point; 0 below 1, where gaps differ. */
const HALF_GAPS = Float64Array.from({ length: 21 }, (_, bits) => (bits === 0 ? 0 : (1 << bits) * 2 ** -54))
/** Number of decimals that form a whole number below SIXTEEN_DIGITS. */
const EXACT_DECIMALS = 15
/** Maximum error of a fraction below 1, which is rounded by up to 2^-54. */
const FRACTION_ERROR = 6e-17
/** Number of bytes below which copying one by one is faster. */
const FEW_BYTES = 64
const NOTHING = new Uint8Array()

/** Reads numbers one after another, and writes their canonical form. */
export class NumberScanner {
  protected at = 0
  /** Canonical form of the bytes read, if it differs from them. It is never longer. */
  protected canonical = NOTHING
  protected length = 0
  /** Offset in the JSON up to which `canonical` is written, if the list needs one. */
  protected copied = 0
  /** reads four digits at a time */
  private readonly view: DataView
  /** Operand and result of divideLong. As arguments and return values they would be allocated. */
  protected readonly number = new Float64Array(1)

  constructor(protected readonly json: Uint8Array) {
    this.view = new DataView(json.buffer, json.byteOffset, json.byteLength)
  }

  /** Skips white space and consumes this byte. Returns false if the next byte is another one. */
  protected consume(byte: number): boolean {
    if (this.json[this.at]! <= SPACE) this.skipSpace()
    if (this.json[this.at] !== byte) return false
    this.at++
    return true
  }

  protected skipSpace(): void {
    const { json, at: start } = this
    let at = start
    for (let byte = json[at]; byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB;)
      byte = json[++at]
    if (at === start) return
    this.copy(start)
    this.at = this.copied = at
  }

  /** Appends the JSON up to `until` to the canonical form. */
  protected copy(until: number): void {
    const { json } = this
    if (this.canonical === NOTHING) this.canonical = new Uint8Array(json.length)
    const { canonical, copied, length } = this
    const count = until - copied
    if (count < FEW_BYTES) for (let i = 0; i < count; i++) canonical[length + i] = json[copied + i]!
    else canonical.set(json.subarray(copied, until), length)
    this.length = length + count
    this.copied = until
  }

  /**
   * Reads a number, and prints it if it is not canonical. Digits divided by a power of ten give the nearest
   * double if both are exact, as they are up to 15 digits (Clinger 1990). No shorter decimal then reads as
   * the same double, so the digits are canonical except for trailing zeros.
   */
  protected readNumber(): boolean {
    const { json, view, number } = this
    if (json[this.at]! <= SPACE) this.skipSpace()
    let at = this.at
    if (at + LONGEST_NUMBER > json.length) return this.readUsual()
    const negative = json[at] === MINUS
    if (negative) at++
    const before = at
    let digit = json[at]! - ZERO
    let whole = digit
    if (digit < 0 || digit > 9) return false
    if (digit === 0) {
      digit = json[++at]! - ZERO
      if (digit >= 0 && digit <= 9) return false
    } else
      for (digit = json[++at]! - ZERO; digit >= 0 && digit <= 9; digit = json[++at]! - ZERO) {
        if (at - before === WHOLE_DIGITS) return false
        whole = 10 * whole + digit
      }

    // Reads four digits at a time, in the bytes of an integer.
    let high = whole
    let first = 0
    let part = 0
    let rest = 0
    let more = 0
    let decimals = 0
    let lowDigits = 0
    if (json[at] === POINT) {
      const from = ++at
      let four = 0
      let others = 0
      for (;;) {
        four = view.getInt32(at, true) ^ FOUR_ZEROS
        others = (four | (four + FOUR_SIXES)) & HIGH_HALVES
        if (others !== 0 || at - from === MOST_WHOLE_FOURS) break
        at += 4
        part = 10_000 * part + ofFour(four)
        if (at - from === HIGH_DIGITS) {
          first = part
          high = 1e8 * whole + first
          part = 0
        }
      }
      // Number of digits among the last four bytes.
      more = others === 0 ? 4 : (31 - Math.clz32(others & -others)) >> 3
      if (more > 0) rest = ofFour(four << (32 - 8 * more))
      lowDigits = decimals = at - from + more
      if (decimals >= HIGH_DIGITS) lowDigits -= HIGH_DIGITS
      at += more
      if (decimals === 0) return false
      if (decimals > MOST_DECIMALS) return this.readUsual()
    }
    const low = POWERS_OF_TEN[more]! * part + rest
    const digits = POWERS_OF_TEN[lowDigits]! * high + low
    if (digits < SIXTEEN_DIGITS) {
      const value = digits / POWERS_OF_TEN[decimals]!
      number[0] = negative ? -value : value
      if (digits === 0 ? at > before + 1 || negative : decimals > 0 && json[at - 1] === ZERO)
        this.printShort(at, digits)
    } else if (!this.readLong(at, negative, whole, first, part, rest, more, decimals)) return this.readUsual()
    this.at = at
    return number[0] === 0 || Math.abs(number[0]!) >= LEAST_PLAIN
  }

  /**
   * Reads a number of more than 15 digits that ends at `end`, and prints it if it is not canonical. Returns
   * false if that is not certain. The arguments are small integers, because doubles would be allocated.
   * @param first first eight decimals; 0 if there are fewer
   * @param part decimals after `first` that were read four at a time; `rest` are the last `more` decimals
   */
  private readLong(
    end: number,
    negative: boolean,
    whole: number,
    first: number,
    part: number,
    rest: number,
    more: number,
    decimals: number,
  ): boolean {
    const { number } = this
    const lowDigits = decimals >= HIGH_DIGITS ? decimals - HIGH_DIGITS : decimals
    const low = POWERS_OF_TEN[more]! * part + rest
    const lastTwo = more >= 2 ? rest % 100 : more === 1 ? 10 * (part % 10) + rest : part % 100
    // First converts the decimals alone: one fraction of exact numbers, off by at most FRACTION_ERROR.
    const scale = POWERS_OF_TEN[decimals]!
    const fraction = (POWERS_OF_TEN[lowDigits]! * first + low) / scale
    const value = whole + fraction
    // In units of the last digit: distance beyond the double, and half the range that reads as the double.
    const beyond = (fraction - (value - whole)) * scale
    const half = HALF_GAPS[32 - Math.clz32(whole)]! * scale
    const doubt = FRACTION_ERROR * scale
    const last = (lastTwo % 10) - beyond
    if (
      decimals <= EXACT_DECIMALS &&
      value > whole &&
      value < whole + 1 &&
      Math.abs(beyond) < half - doubt &&
      // No number with fewer decimals reads as the double, and no other with as many is nearer to it.
      last > half + doubt &&
      10 - last > half + doubt &&
      Math.abs(beyond) < 0.5 - doubt
    ) {
      number[0] = negative ? -value : value
      return true
    }
    number[0] = decimals >= HIGH_DIGITS ? 1e8 * whole + first : whole
    const shortest = this.divideLong(low, lowDigits, decimals, lastTwo)
    if (shortest < 0) return false
    if (negative) number[0] = -number[0]
    if (shortest !== lastTwo || shortest % 10 === 0) this.printLong(end, shortest)
    return true
  }

  /** Prints the number that ends at `end`, without its trailing zeros. */
  private printShort(end: number, digits: number): void {
    if (digits === 0) return this.print('0', end)
    this.copy(end)
    while (this.canonical[this.length - 1] === ZERO) this.length--
    if (this.canonical[this.length - 1] === POINT) this.length--
  }

  /** Prints a number that ends here, with its last two digits replaced and without a zero at the end. */
  private printLong(end: number, lastTwo: number): void {
    this.copy(end)
    const tens = Math.floor(lastTwo / 10)
    this.canonical[this.length - 2] = ZERO + tens
    this.canonical[this.length - 1] = ZERO + lastTwo - 10 * tens
    if (lastTwo % 10 === 0) this.length--
  }

  /** Prints `text` instead of the bytes up to `end`. */
  private print(text: string, end: number): void {
    this.copy(this.at)
    for (let i = 0; i < text.length; i++) this.canonical[this.length++] = text.charCodeAt(i)
    this.copied = end
  }

  /** Reads a number with `Number`, and prints it if it is not canonical. */
  private readUsual(): boolean {
    const { json, number } = this
    let end = this.at
    while (IN_NUMBERS[json[end]!]) end++
    const text = UTF_8.decode(json.subarray(this.at, end))
    if (!PLAIN.test(text)) return false
    number[0] = Number(text)
    const printed = String(number[0])
    if (printed !== text) this.print(printed, end)
    this.at = end
    return number[0] === 0 || Math.abs(number[0]) >= LEAST_PLAIN
  }

  /**
   * Sets `number` to the double nearest to (number * 10^lowDigits + low) / 10^decimals. Returns the last two
   * of its shortest decimals with as many places (a zero at the end is one place less), or a negative number
   * if that is not certain. `lastTwo` are the last two digits as read.
   */
  private divideLong(low: number, lowDigits: number, decimals: number, lastTwo: number): number {
    const high = this.number[0]!
    // All digits together form the number sum + rest, both whole: `high` has at most 14 digits, `low` 10.
    const power = POWERS_OF_TEN[lowDigits]!
    const product = high * power
    const carried = low + roundingOf(high, power, product)
    const sum = product + carried
    const rest = carried - (sum - product)
    // Remainder of the quotient times the divisor, with a relative error of about 2^-50.
    const divisor = POWERS_OF_TEN[decimals]!
    const quotient = sum / divisor
    const back = quotient * divisor
    const lacking = sum - back + (rest - roundingOf(quotient, divisor, back))
    const nearest = quotient + lacking / divisor

    // In units of the last digit: the double is at `last`, from the number without its last two digits.
    // Numbers closer than `half` read as this double. DOUBT is far more than all errors.
    const binade =
      nearest < 1 ? (1 << (31 - Math.clz32(nearest * 2 ** 20))) * 2 ** -20 : 1 << (31 - Math.clz32(nearest))
    const half = binade * 2 ** -53 * divisor
    const beyond = lacking - (nearest - quotient) * divisor
    const last = lastTwo - beyond
    // The gap below a power of two is half as wide.
    if (!(Math.abs(beyond) < half * (1 - DOUBT)) || nearest === binade) return -1
    // If a multiple of 100 reads as the double, there is a decimal with fewer digits.
    if (!(Math.min(last, 100 - last) > half * (1 + DOUBT))) return -1
    let shortest = 10 * Math.floor(last / 10 + 0.5)
    let unit = 10
    let far = Math.abs(last - shortest)
    if (far > half * (1 + DOUBT)) {
      shortest = Math.floor(last + 0.5)
      unit = 1
      far = Math.abs(last - shortest)
    }
    // Among decimals with the same number of digits, the nearest one is chosen.
    if (!(far < half * (1 - DOUBT) && far < unit * (0.5 - DOUBT))) return -1
    this.number[0] = nearest
    return shortest
  }
}

/** Number formed by four digits in the bytes of an integer, with the first digit in the lowest byte. */
function ofFour(digits: number): number {
  const pairs = Math.imul(digits, 10) + (digits >>> 8)
  return 100 * (pairs & 0xff) + ((pairs >>> 16) & 0xff)
}

const DOUBT = 1e-6

/** Factor that splits a double into two halves of 26 bits. */
const SPLITTER = 2 ** 27 + 1
/** Exact rounding error a * b - product, with `product` the rounded a * b (Dekker 1971). */
function roundingOf(a: number, b: number, product: number): number {
  const aSplit = SPLITTER * a
  const bSplit = SPLITTER * b
  const aHigh = aSplit - (aSplit - a)
  const bHigh = bSplit - (bSplit - b)
  const aLow = a - aHigh
  const bLow = b - bHigh
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow)
}
