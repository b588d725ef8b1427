import { z } from 'zod'

/** Messages that the SDK would refuse in words of its validator, refused in a sentence instead. */

/** An error of JSON-RPC; one without an id answers no message in particular. */
export function jsonRpcError<Id extends string | number | null = null>(
  code: number,
  message: string,
  id: Id = null as Id,
) {
  return { jsonrpc: '2.0' as const, error: { code, message }, id }
}

/** JSON-RPC 2.0, 5.1. */
export const INVALID_REQUEST = -32_600
const INVALID_PARAMS = -32_602
/** What requests need that the SDK refuses with what its validator printed; and the same in words. */
const NEEDED: Readonly<Record<string, { params: z.ZodObject; words: string }>> = {
  initialize: {
    params: z.looseObject({
      ...{ protocolVersion: z.string(), capabilities: z.looseObject({}) },
      clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
    }),
    words:
      'initialize needs params: protocolVersion, such as "2025-06-18", capabilities, such as {}, and clientInfo with name and version.',
  },
  'tools/call': {
    params: z.looseObject({ name: z.string(), arguments: z.looseObject({}).optional() }),
    words: 'tools/call needs params: name, one of tools/list, and arguments, an object.',
  },
}

/** The error for a request without the params that it needs. */
export function lackingParams(body: unknown) {
  const { id, method, params } = (body ?? {}) as Record<string, unknown>
  // Other messages are for the SDK to judge.
  if ((typeof id !== 'string' && typeof id !== 'number') || typeof method !== 'string') return undefined
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined
  if (!needed || needed.params.safeParse(params).success) return undefined
  return jsonRpcError(INVALID_PARAMS, needed.words, id)
}
