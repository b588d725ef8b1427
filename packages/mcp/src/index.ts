/**
 * The Geospatial Attestation Service as tools for agents (Model Context Protocol), over its typed client.
 * Start at `createMcpServer`, which has the tools; `serveStdio` serves it over stdin and stdout,
 * `createHttpHandler` over Streamable HTTP.
 */
export { createMcpServer, type McpOptions } from './server'
export type { Payer } from './earlier'
export { createHttpHandler, type HttpHandler } from './http'
export { jsonRpcError } from './params'
export { serveStdio, type StdioConnection, type StdioOptions } from './stdio'
