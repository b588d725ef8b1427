import { RpcError, RpcProtocolError } from '@subsquid/rpc-client'

/**
 * Patterns for the meaning of an endpoint's error: endpoints agree neither on codes nor on texts. Nothing
 * else in this project depends on the text of an error.
 */
const WORDS = {
  /** The endpoint may answer the same call later. */
  temporary:
    /rate (?:limit|exceeded)|too many requests|per second|\d\/sec|throughput|timed? ?out|try again|temporar|capacity|overloaded/i,
  /** The endpoint would answer a smaller request. */
  tooMuch: /range|limit|exceed|more than|too (many|large|big|wide)|results|size|gas|memory/i,
  /**
   * Maximum range of blocks: "limited to a 5 range", "up to a 10K block range", "max 2,000 blocks"; "range 9
   * exceeds limit of 5", "range: 9, max: 5"; "maximum block range: 5". Excludes rates and sizes.
   */
  allowedRange: [
    /(?:limited to|up to|max(?:imum)?|at most|exceeds?)\D{0,40}?(\d[\d,_]*)\s*(k\b)?\s*(?:block|range)(?!s? ?(?:per |\/)sec)/i,
    /range:? \d[\d,_]*\W{0,3}(?:exceeds|max(?:imum)?)\D{0,15}(\d[\d,_]*)\s*(k\b)?(?![\d,_.]*\s*(?:[kmg]?i?b|bytes|results|logs|m?s|seconds)\b)/i,
    /max(?:imum)? (?:block )?range:? (\d[\d,_]*)\s*(k\b)?/i,
  ],
  /** A call reverted or halted, in the error's message or its data: geth reports a halt without data. */
  reverted: /\brevert|invalid (?:opcode|jump)/i,
}

/**
 * True if a JSON-RPC error is temporary rather than permanent. Any contract chooses the text of a revert. A
 * refusal that names a range of blocks may also mention the rate of a plan.
 */
export function isTemporary(error: RpcError): boolean {
  if (isRevert(error) || allowedRange(error) !== undefined) return false
  return error.code === 429 || WORDS.temporary.test(error.message)
}

/** True if an error means that the call reverted or halted: geth's code 3, data of a revert, or the text. */
export function isRevert(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false
  const texts = [error.message, error.data].filter((each) => typeof each === 'string')
  return error.code === 3 || revertData(error) !== undefined || WORDS.reverted.test(texts.join(' '))
}

/** Revert data of an RPC error: the error's data in geth and anvil; within an object or a text in others. */
export function revertData(error: unknown): string | undefined {
  if (!(error instanceof RpcError)) return undefined
  const data: unknown = (error.data as { data?: unknown } | undefined)?.data ?? error.data
  return typeof data === 'string' ? /0x(?:[0-9a-f]{2})+$/i.exec(data)?.[0] : undefined
}

/**
 * True if a JSON-RPC error refuses the size of the request. If it came with an HTTP status, this decides, or
 * a range that it names: the limit of a plan is another one.
 */
export function isTooMuch(error: RpcError): boolean {
  if (statusOf(error) === undefined) return WORDS.tooMuch.test(error.message)
  return isHttpTooMuch(error) || allowedRange(error) !== undefined
}

/** HTTP status that came with an error; undefined for the error of a successful response. */
export function statusOf(error: Error): number | undefined {
  return (error as { response?: { status?: number } }).response?.status
}

/** True if an HTTP status refuses the size of the request. */
export function isHttpTooMuch(error: Error): boolean {
  const status = statusOf(error)
  return status === 400 || status === 413 || status === 422
}

/** True if an endpoint refused a batch and may answer its calls one by one, or in smaller batches. */
export function isBatchRefused(error: Error): boolean {
  if (error instanceof RpcError) return !isTemporary(error)
  return error instanceof RpcProtocolError || isHttpTooMuch(error)
}

/** Maximum number of blocks in one eth_getLogs that the error names; undefined if it names none. */
export function allowedRange(error: Error): number | undefined {
  const found = WORDS.allowedRange.map((form) => form.exec(error.message)).find((each) => each)
  if (!found) return undefined
  return Number(found[1]!.replace(/[,_]/g, '')) * (found[2] ? 1000 : 1) || undefined
}
