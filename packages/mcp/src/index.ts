// SPDX-License-Identifier: MIT
/**
 * The Geospatial Attestation Service as tools for agents (Model Context Protocol), built on its typed client.
 * Start with `createMcpServer`, which has the tools. `serveStdio` serves them over stdin and stdout,
 * `createHttpHandler` over Streamable HTTP.
 */
export { createMcpServer, type McpOptions } from './server'
export type { Payer } from './earlier'
export { createHttpHandler, type HttpHandler } from './http'
export { jsonRpcError } from './params'
export { serveStdio, type StdioConnection, type StdioOptions } from './stdio'
