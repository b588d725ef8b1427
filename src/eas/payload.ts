import { AbiCoder } from 'ethers'

/** The schema of numeric results (FACTS: Schemas): distance and length in centimetres, area in square centimetres. */
export const NUMERIC_RESULT_FIELDS = 'uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation'
/** The schema of boolean results. */
export const BOOLEAN_RESULT_FIELDS = 'bool result,bytes32[] inputRefs,uint256 timestamp,string operation'

/** What every signed result says beside the result itself. */
export interface ResultContext {
  /** One 32-byte reference per input, in request order. */
  inputRefs: readonly string[]
  /** Unix seconds. */
  timestamp: number
  operation: string
}

/** ABI encoding of a numeric result: a whole number of `units`. */
export function encodeNumericResult(result: bigint, units: string, context: ResultContext): string {
  return AbiCoder.defaultAbiCoder().encode(fieldTypes(NUMERIC_RESULT_FIELDS), [result, units, context.inputRefs, context.timestamp, context.operation])
}

/** ABI encoding of a boolean result. */
export function encodeBooleanResult(result: boolean, context: ResultContext): string {
  return AbiCoder.defaultAbiCoder().encode(fieldTypes(BOOLEAN_RESULT_FIELDS), [result, context.inputRefs, context.timestamp, context.operation])
}

/** The types of a schema text such as `uint256 result, string units`, in order: two schemas with equal types encode alike. */
export function fieldTypes(schema: string): string[] {
  return fieldWords(schema, 0)
}

/** The names of a schema text's fields, in order. */
export function fieldNames(schema: string): string[] {
  return fieldWords(schema, 1)
}

function fieldWords(schema: string, word: number): string[] {
  return schema.split(',').map((field) => field.trim().split(/\s+/)[word] ?? '')
}
