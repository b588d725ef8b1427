// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { createHttpHandler, createMcpServer } from '../src'

/** Returns the structured content of a tool's result, with the given parts of a client. */
export async function call(geo: object, name: string, args: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const response = await createHttpHandler()(
    new Request('http://inside/mcp', { method: 'POST', headers }),
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    () => createMcpServer({ geo: geo as Geo }),
  )
  return ((await response.json()) as any).result.structuredContent
}
