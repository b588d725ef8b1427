/**
 * /mcp: the tools of packages/mcp for agents over HTTP (Model Context Protocol, Streamable HTTP).
 *
 * A message enters at routes.ts, which creates an MCP server for it. Requests of its tools go back into this
 * process as requests that the client could have sent (inside.ts), so that the same limits, checks and errors
 * apply.
 */

export { MCP_COMPONENTS } from './openapi'
export { mcpRoutes } from './routes'
