import { PayloadError, decodeBytes, fieldTypes } from './decode'
import { hex, padded, uint } from './words'

/** Schema of numeric results (docs/spec/facts.md 2): centimetres and square centimetres. */
export const NUMERIC_RESULT_FIELDS =
  'uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation'
/** Schema of boolean results. */
export const BOOLEAN_RESULT_FIELDS = 'bool result,bytes32[] inputRefs,uint256 timestamp,string operation'

/** Content of a signed result in addition to the result itself. */
export interface ResultContext {
  /** one reference of 32 bytes per input, in the order of the request */
  inputRefs: readonly string[]
  /** Unix seconds */
  timestamp: number
  operation: string
}

/** ABI encoding of a numeric result, at least 0. Throws a TypeError if a field does not fit its type. */
export function encodeNumericResult(
  result: bigint,
  units: string,
  { inputRefs, timestamp, operation }: ResultContext,
): string {
  return encode([
    uint(result, 32),
    { tail: text(units) },
    { tail: words(inputRefs) },
    uint(timestamp, 32),
    { tail: text(operation) },
  ])
}

/** ABI encoding of a boolean result. */
export function encodeBooleanResult(
  result: boolean,
  { inputRefs, timestamp, operation }: ResultContext,
): string {
  return encode([
    uint(result ? 1 : 0, 32),
    { tail: words(inputRefs) },
    uint(timestamp, 32),
    { tail: text(operation) },
  ])
}

/** Bytes of a payload in hex. Throws a TypeError if the text is not hex. */
export function payloadBytes(data: string): Uint8Array {
  // `hex` checks the digits first: Buffer considers only the low byte of a character, and stops at a
  // character that is not hex. ethers' getBytes would take ten times as long.
  const bytes = Buffer.from(hex(data), 'hex')
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Decodes the result of encodeNumericResult (with `units`) or encodeBooleanResult; undefined for others. */
export function decodeResult(
  data: string,
): (ResultContext & { result: bigint | boolean; units?: string }) | undefined {
  for (const fields of [NUMERIC_RESULT_FIELDS, BOOLEAN_RESULT_FIELDS])
    try {
      const values = decodeBytes(fieldTypes(fields), payloadBytes(data))
      const units = values.length === 5 ? (values.splice(1, 1)[0] as string) : undefined
      const [result, refs, timestamp, operation] = values as [bigint | boolean, Uint8Array[], bigint, string]
      if (timestamp > Number.MAX_SAFE_INTEGER) return undefined
      const context = {
        inputRefs: refs.map((ref) => `0x${Buffer.from(ref).toString('hex')}`),
        timestamp: Number(timestamp),
        operation,
      }
      const again =
        typeof result === 'bigint'
          ? encodeNumericResult(result, units!, context)
          : encodeBooleanResult(result, context)
      if (again === data) return { result, ...(units !== undefined && { units }), ...context }
    } catch (error) {
      if (!(error instanceof PayloadError)) throw error
    }
  return undefined
}

/** Encodes a tuple: its words, with the offset of the tail instead of each dynamic field, then the tails. */
function encode(fields: readonly (string | { tail: string })[]): string {
  let head = ''
  let tails = ''
  for (const field of fields) {
    if (typeof field === 'string') head += field
    else {
      head += uint(32 * fields.length + tails.length / 2, 32)
      tails += field.tail
    }
  }
  return `0x${head}${tails}`
}

function text(value: string): string {
  const bytes = Buffer.from(value, 'utf8')
  return uint(bytes.length, 32) + padded(bytes.toString('hex'))
}

function words(values: readonly string[]): string {
  return uint(values.length, 32) + values.map((value) => hex(value, 32)).join('')
}
