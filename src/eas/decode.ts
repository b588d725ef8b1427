// SPDX-License-Identifier: MIT
/** Error for a payload that does not match its schema. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError'
}

/** Decoded value of a field; addresses are lower-case hex. */
export type FieldValue = bigint | boolean | string | Uint8Array | FieldValue[] | Tuple

/** Fields of a tuple in order. A field without a name has its position as its name. */
export class Tuple {
  constructor(readonly entries: readonly (readonly [name: string, value: FieldValue])[]) {}
}

/** A parsed ABI type. `size`: bytes in the head. `dynamic`: the head has an offset instead of the value. */
export type AbiType = { readonly size: number; readonly dynamic: boolean } & (
  | { readonly kind: 'uint' | 'int'; readonly bits: number }
  | { readonly kind: 'bool' | 'address' | 'string' | 'bytes' }
  | { readonly kind: 'bytesN'; readonly length: number }
  | { readonly kind: 'array'; readonly of: AbiType; readonly length: number | undefined }
  | { readonly kind: 'tuple'; readonly fields: readonly SchemaField[] }
)

export interface SchemaField {
  /** name in the schema; without one, the field's position from 0 */
  readonly name: string
  readonly type: AbiType
}

const WORD = 32
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Maximum number of characters of a schema text. The schema of v0.1 has 170. */
const MAX_SCHEMA_LENGTH = 8_192
const MAX_FIELDS = 128
/** Maximum nesting of tuples and lists. */
const MAX_TYPE_DEPTH = 6
/** Maximum number of bytes of a field in the head, as in uint256[100][3]. */
const MAX_HEAD_BYTES = 1_000_000
const NAME = /^[A-Za-z_$][\w$]{0,63}$/
const LIST = /\[(\d{0,6})\]$/

/**
 * Parses the text of an EAS schema, such as `uint256 result, (address owner, bytes4[] ids)[] parts`: ABI
 * types (without fixed) with optional names. Takes linear time. Throws a TypeError that states the rule.
 */
export function parseSchema(schema: string): SchemaField[] {
  if (schema.length > MAX_SCHEMA_LENGTH)
    throw new TypeError(`expected a schema of at most ${MAX_SCHEMA_LENGTH} characters, got ${schema.length}`)
  return fieldsOf(schema, 0, { fields: 0 })
}

function fieldsOf(text: string, depth: number, count: { fields: number }): SchemaField[] {
  const fields: SchemaField[] = []
  const names = new Set<string>()
  for (const part of splitOutside(text)) {
    if (++count.fields > MAX_FIELDS) throw new TypeError(`expected at most ${MAX_FIELDS} fields`)
    const field = part.trim()
    // The name follows the last bracket or parenthesis, or the first word.
    const end = Math.max(field.lastIndexOf(')'), field.lastIndexOf(']')) + 1
    const type = end ? field.slice(0, end) : /^\S*/.exec(field)![0]
    const given = field.slice(type.length).trim()
    const name = given || String(fields.length)
    if (!NAME.test(name) && name !== String(fields.length))
      throw new TypeError(`'${excerpt(name)}' is not a field name: expected letters, digits, _ and $`)
    if (names.has(name)) throw new TypeError(`two fields have the name ${name}`)
    names.add(name)
    fields.push({ name, type: typeOf(type, depth, count) })
  }
  return fields
}

/** Splits at commas outside parentheses. */
function splitOutside(text: string): string[] {
  const parts: string[] = []
  let open = 0
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') open++
    else if (text[at] === ')' && --open < 0)
      throw new TypeError('a closing parenthesis has no opening parenthesis')
    else if (text[at] === ',' && open === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  if (open) throw new TypeError('a parenthesis is not closed')
  return [...parts, text.slice(start)]
}

function typeOf(text: string, depth: number, count: { fields: number }): AbiType {
  if (depth > MAX_TYPE_DEPTH) throw new TypeError(`expected at most ${MAX_TYPE_DEPTH} levels of nested types`)
  const list = LIST.exec(text)
  if (list) return arrayOf(typeOf(text.slice(0, list.index).trimEnd(), depth + 1, count), list[1]!)
  const tuple = /^(?:tuple\s*)?\(([^]*)\)$/.exec(text)
  if (tuple) {
    const fields = fieldsOf(tuple[1]!, depth + 1, count)
    const size = fields.reduce((sum, { type }) => sum + type.size, 0)
    const dynamic = fields.some(({ type }) => type.dynamic)
    if (size > MAX_HEAD_BYTES) throw new TypeError(`${excerpt(text)} exceeds ${MAX_HEAD_BYTES} bytes`)
    return { kind: 'tuple', fields, dynamic, size: dynamic ? WORD : size }
  }
  if (text === 'string' || text === 'bytes') return { kind: text, dynamic: true, size: WORD }
  if (text === 'bool' || text === 'address') return { kind: text, dynamic: false, size: WORD }
  const number = /^(u?int)(\d{0,3})$/.exec(text)
  const bits = Number(number?.[2] || 256)
  if (number && bits >= 8 && bits <= 256 && bits % 8 === 0)
    return { kind: number[1] as 'uint' | 'int', bits, dynamic: false, size: WORD }
  const length = text === 'function' ? 24 : Number(/^bytes(\d{1,2})$/.exec(text)?.[1] ?? 0)
  if (length >= 1 && length <= WORD) return { kind: 'bytesN', length, dynamic: false, size: WORD }
  throw new TypeError(`'${excerpt(text)}' is not an ABI type`)
}

function arrayOf(of: AbiType, digits: string): AbiType {
  if (digits === '') return { kind: 'array', of, length: undefined, dynamic: true, size: WORD }
  const length = Number(digits)
  const size = length * of.size
  if (length === 0 || size > MAX_HEAD_BYTES)
    throw new TypeError(
      `expected a list of 1 to ${Math.floor(MAX_HEAD_BYTES / of.size)} elements, got ${length}`,
    )
  return { kind: 'array', of, length, dynamic: of.dynamic, size: of.dynamic ? WORD : size }
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}

/**
 * Decodes an ABI payload (Contract ABI Specification, "Formal Specification of the Encoding") in linear time.
 * Throws a PayloadError unless every pointer and length is within bounds, strings are valid UTF-8, numbers
 * fit their types, and no fields overlap: anyone can attest any bytes.
 */
export function decodeFields(fields: readonly SchemaField[], bytes: Uint8Array): FieldValue[] {
  return new Reader(bytes).tuple(fields, 0)
}

/** Like `decodeFields`, with types as texts. */
export function decodeBytes(types: readonly string[], bytes: Uint8Array): FieldValue[] {
  return decodeFields(
    types.map((text, i) => ({ name: String(i), type: typeOf(text, 0, { fields: 0 }) })),
    bytes,
  )
}

class Reader {
  private spent = 0

  constructor(private readonly buffer: Uint8Array) {}

  /** Decodes the fields of a tuple whose head is at `base`. */
  tuple(fields: readonly SchemaField[], base: number): FieldValue[] {
    let head = base
    return fields.map(({ type }) => {
      const at = head
      head += type.size
      return this.value(type, at, base)
    })
  }

  /** Decodes the value whose head is at `head`. An offset there counts from `base`. */
  private value(type: AbiType, head: number, base: number): FieldValue {
    const at = type.dynamic ? base + this.size(head) : head
    switch (type.kind) {
      case 'string':
        return this.text(at)
      case 'bytes':
        return this.bytes(at)
      case 'uint':
        return this.uint(at, type.bits)
      case 'int':
        return this.int(at, type.bits)
      case 'bool':
        return this.uint(at, 1) === 1n
      case 'address':
        return `0x${this.uint(at, 160).toString(16).padStart(40, '0')}`
      case 'bytesN':
        return this.word(at, type.length)
      case 'array':
        return this.list(type, at)
      case 'tuple': {
        if (type.dynamic) this.spend(type.fields.reduce((sum, field) => sum + field.type.size, 0))
        const values = this.tuple(type.fields, at)
        return new Tuple(type.fields.map(({ name }, i) => [name, values[i]!]))
      }
    }
  }

  private requireWord(at: number): void {
    if (at + WORD > this.buffer.length)
      throw new PayloadError(`payload of ${this.buffer.length} bytes ends within the field at byte ${at}`)
  }

  private uint(at: number, bits = 256): bigint {
    this.requireWord(at)
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

  private int(at: number, bits: number): bigint {
    const value = BigInt.asIntN(256, this.uint(at))
    if (BigInt.asIntN(bits, value) !== value)
      throw new PayloadError(`the number at byte ${at} does not fit ${bits} bits`)
    return value
  }

  private word(at: number, length: number): Uint8Array {
    this.requireWord(at)
    if (this.buffer.subarray(at + length, at + WORD).some(Boolean))
      throw new PayloadError(`the value at byte ${at} has more than ${length} bytes`)
    return this.buffer.subarray(at, at + length)
  }

  /** Reads an offset or a length, which must lie within the payload. */
  private size(at: number): number {
    const value = this.uint(at)
    if (value > BigInt(this.buffer.length))
      throw new PayloadError(`the length or offset at byte ${at} points outside the payload`)
    return Number(value)
  }

  private bytes(at: number): Uint8Array {
    const length = this.size(at)
    const start = at + WORD
    if (start + length > this.buffer.length)
      throw new PayloadError(`the ${length} bytes at byte ${start} reach beyond the payload`)
    this.spend(WORD + length)
    return this.buffer.subarray(start, start + length)
  }

  private text(at: number): string {
    try {
      return utf8.decode(this.bytes(at))
    } catch (error) {
      if (error instanceof PayloadError) throw error
      throw new PayloadError(`the text at byte ${at} is not valid UTF-8`)
    }
  }

  private list({ of, length: fixed }: AbiType & { kind: 'array' }, at: number): FieldValue[] {
    const length = fixed ?? this.size(at)
    const base = fixed === undefined ? at + WORD : at
    if (base + length * of.size > this.buffer.length)
      throw new PayloadError(`the ${length} elements at byte ${base} reach beyond the payload`)
    if (fixed === undefined || of.dynamic) this.spend(WORD + length * of.size)
    return Array.from({ length }, (_, i) => this.value(of, base + i * of.size, base))
  }

  /** Limits the decoded bytes: pointers may share a string, but 52 kB must not decode to 20 MB. */
  private spend(bytes: number): void {
    this.spent += bytes
    if (this.spent > 4 * this.buffer.length + 1_024)
      throw new PayloadError('the fields of the payload overlap')
  }
}

/** Types of a schema text such as `uint256 result, string units`: schemas of equal types encode equally. */
export function fieldTypes(schema: string): string[] {
  return schema.split(',').map((field) => field.trim().split(/\s+/)[0]!)
}
