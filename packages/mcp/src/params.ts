// SPDX-License-Identifier: MIT
import { z } from 'zod'

/** Rejects malformed messages with a readable error. The SDK would return raw validator output. */

/** Creates a JSON-RPC error. Without an id it refers to no particular message. */
export function jsonRpcError<Id extends string | number | null = null>(
  code: number,
  message: string,
  id: Id = null as Id,
) {
  return { jsonrpc: '2.0' as const, error: { code, message }, id }
}

/** Error codes of JSON-RPC 2.0, 5.1. */
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
const INVALID_PARAMS = -32_602
/** Parameters that requests must have, and the error without them: the SDK's would be validator output. */
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

/** Returns the error for a request that lacks required parameters; undefined if it has them. */
export function lackingParams(body: unknown) {
  const { id, method, params } = (body ?? {}) as Record<string, unknown>
  // The SDK itself checks all other messages.
  if ((typeof id !== 'string' && typeof id !== 'number') || typeof method !== 'string') return undefined
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined
  if (!needed || needed.params.safeParse(params).success) return undefined
  return jsonRpcError(INVALID_PARAMS, needed.words, id)
}
