/**
 * /mcp: the tools of packages/mcp for agents that come over HTTP (Model Context Protocol, Streamable HTTP).
 *
 * A message enters at routes.ts, which answers it with a server of its own. What its tools ask goes back into
 * this process as the requests that the caller could have sent (inside.ts), so that limits, checks and errors
 * are theirs.
 */

export { MCP_COMPONENTS } from './openapi'
export { mcpRoutes } from './routes'
