/** A payload that cannot be decoded as its schema says. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError'
}

/** The decoded value of a field: an integer, a boolean, a string, bytes, or a list of strings or bytes. */
export type FieldValue = bigint | boolean | string | Uint8Array | string[] | Uint8Array[]

const WORD = 32
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes an ABI payload (Contract ABI Specification, "Formal Specification of the Encoding") of the types
 * uint8 to uint256, bool, string, bytes, string[], bytes[] and bytes32[]. It is strict, and its time is
 * proportional to the payload: every pointer and length must be within bounds, strings must be valid UTF-8,
 * and fields must not overlap. Throws a PayloadError otherwise. Anyone can attest any bytes.
 */
export function decodeBytes(types: readonly string[], bytes: Uint8Array): FieldValue[] {
  const reader = new Reader(bytes)
  return types.map((type, i) => {
    const head = i * WORD
    if (type === 'string') return reader.text(reader.pointer(head))
    if (type === 'bytes') return reader.bytes(reader.pointer(head))
    if (type === 'string[]') return reader.list(reader.pointer(head), (at) => reader.text(at))
    if (type === 'bytes[]') return reader.list(reader.pointer(head), (at) => reader.bytes(at))
    if (type === 'bytes32[]') return reader.words(reader.pointer(head))
    if (type === 'bool') return reader.uint(head, 1) === 1n
    const bits = /^uint(\d+)$/.exec(type)?.[1]
    if (bits) return reader.uint(head, Number(bits))
    throw new TypeError(`no decoder for the type ${type}`)
  })
}

class Reader {
  private spent = 0

  constructor(private readonly buffer: Uint8Array) {}

  uint(at: number, bits = 256): bigint {
    if (at + WORD > this.buffer.length)
      throw new PayloadError(`payload of ${this.buffer.length} bytes ends within a field at byte ${at}`)
    let value = 0n
    for (let i = at; i < at + WORD; i += 4)
      value =
        (value << 32n) |
        BigInt(
          ((this.buffer[i]! << 24) |
            (this.buffer[i + 1]! << 16) |
            (this.buffer[i + 2]! << 8) |
            this.buffer[i + 3]!) >>>
            0,
        )
    if (bits < 256 && value >> BigInt(bits))
      throw new PayloadError(`the number at byte ${at} does not fit ${bits} bits`)
    return value
  }

  /** Reads an offset or a length, which must lie within the payload. */
  size(at: number): number {
    const value = this.uint(at)
    if (value > BigInt(this.buffer.length))
      throw new PayloadError(`the length or offset at byte ${at} points outside the payload`)
    return Number(value)
  }

  pointer(head: number, base = 0): number {
    return base + this.size(head)
  }

  bytes(at: number): Uint8Array {
    const length = this.size(at)
    const start = at + WORD
    if (start + length > this.buffer.length)
      throw new PayloadError(`the ${length} bytes at byte ${start} reach beyond the payload`)
    this.spend(WORD + length)
    return this.buffer.subarray(start, start + length)
  }

  text(at: number): string {
    try {
      return utf8.decode(this.bytes(at))
    } catch (error) {
      if (error instanceof PayloadError) throw error
      throw new PayloadError(`the text at byte ${at} is not valid UTF-8`)
    }
  }

  list<T>(at: number, read: (at: number) => T): T[] {
    const length = this.size(at)
    const base = at + WORD
    this.spend(WORD + length * WORD)
    return Array.from({ length }, (_, i) => read(this.pointer(base + i * WORD, base)))
  }

  words(at: number): Uint8Array[] {
    const length = this.size(at)
    const start = at + WORD
    if (start + length * WORD > this.buffer.length)
      throw new PayloadError(`the ${length} words at byte ${start} reach beyond the payload`)
    this.spend(WORD + length * WORD)
    return Array.from({ length }, (_, i) => this.buffer.subarray(start + i * WORD, start + (i + 1) * WORD))
  }

  /** Pointers may share a string, as contracts allow, but 52 kB must not decode to 20 MB. */
  private spend(bytes: number): void {
    this.spent += bytes
    if (this.spent > 4 * this.buffer.length + 1_024)
      throw new PayloadError('the fields of the payload overlap')
  }
}

/**
 * The types of a schema text such as `uint256 result, string units`, in order. Schemas with equal types
 * encode alike.
 */
export function fieldTypes(schema: string): string[] {
  return fieldWords(schema, 0)
}

/** The names of the fields of a schema text, in order. */
export function fieldNames(schema: string): string[] {
  return fieldWords(schema, 1)
}

function fieldWords(schema: string, word: number): string[] {
  return schema.split(',').map((field) => field.trim().split(/\s+/)[word] ?? '')
}
