import { RpcError, RpcProtocolError } from '@subsquid/rpc-client'

/**
 * What a node's error means. Nodes agree neither on error codes nor on words, so both are looked at; nothing
 * else in this project decides by the words of an error.
 */
const WORDS = {
  /** The node may answer the same call later. */
  temporary: /rate limit|too many requests|timed? ?out|try again|temporar|capacity|overloaded/i,
  /** The node would answer if it were asked for less. */
  tooMuch: /range|limit|exceed|more than|too (many|large|big|wide)|results|size|gas|memory/i,
  /** The largest range of blocks: "limited to a 5 range", "up to a 10K block range", "max 2,000 blocks". */
  allowedRange:
    /(?:limited to|up to|max(?:imum)?|at most|exceeds?)\D{0,40}?(\d[\d,_]*)\s*(k\b)?\s*(?:block|range)/i,
}

/** Whether a JSON-RPC error says "not now" rather than "never". */
export function isTemporary(error: RpcError): boolean {
  return error.code === 429 || WORDS.temporary.test(error.message)
}

/** Whether a JSON-RPC error refuses the size of the question. */
export function isTooMuch(error: RpcError): boolean {
  return WORDS.tooMuch.test(error.message)
}

/** Whether an HTTP status refuses the size of the question. */
export function isHttpTooMuch(error: Error): boolean {
  const status = (error as { response?: { status?: number } }).response?.status
  return status === 400 || status === 413 || status === 422
}

/**
 * True if an endpoint refused calls as a batch and may answer them one by one: it takes no batches, or none
 * of this size.
 */
export function isBatchRefused(error: Error): boolean {
  if (error instanceof RpcError) return !isTemporary(error)
  return error instanceof RpcProtocolError || isHttpTooMuch(error)
}

/** The number of blocks that a node says it allows in one eth_getLogs; undefined when it says none. */
export function allowedRange(error: Error): number | undefined {
  const found = WORDS.allowedRange.exec(error.message)
  if (!found) return undefined
  return Number(found[1]!.replace(/[,_]/g, '')) * (found[2] ? 1000 : 1) || undefined
}
