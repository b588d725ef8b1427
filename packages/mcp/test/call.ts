// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { createHttpHandler, createMcpServer, type McpOptions } from '../src'

/** Returns the result of a tool, with the given parts of a client. */
async function resultOf(geo: object, name: string, args: object, options: Partial<McpOptions> = {}) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const response = await createHttpHandler()(
    new Request('http://inside/mcp', { method: 'POST', headers }),
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    () => createMcpServer({ geo: geo as Geo, ...options }),
  )
  return ((await response.json()) as any).result as {
    structuredContent: unknown
    content: { text: string }[]
  }
}

/** Returns the structured content of a tool's result. */
export async function call(...given: Parameters<typeof resultOf>): Promise<unknown> {
  return (await resultOf(...given)).structuredContent
}

/** Returns the texts of a tool's result. */
export async function textsOf(...given: Parameters<typeof resultOf>): Promise<string[]> {
  return (await resultOf(...given)).content.map(({ text }) => text)
}
