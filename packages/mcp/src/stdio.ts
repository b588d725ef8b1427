import { serveStdio as serve, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { createMcpServer, type McpOptions } from './server'

/** Over stdin and stdout, for one user, whose answers are kept while the connection lasts. */
export type StdioOptions = Omit<McpOptions, 'keepAnswers'>

export interface StdioConnection {
  /** Resolves when the connection has ended: stdin did, or `close` was called. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Serves one connection over stdin and stdout. Nothing else may write to stdout: log to stderr. */
export function serveStdio(options: StdioOptions): StdioConnection {
  const transport = new StdioServerTransport()
  const connection = serve(() => createMcpServer({ ...options, keepAnswers: true }), {
    transport,
    ...(options.onError && { onerror: options.onError }),
  })
  const closed = new Promise<void>((resolve) => {
    const close = transport.onclose?.bind(transport)
    transport.onclose = () => {
      close?.()
      resolve()
    }
  })
  return { closed, close: () => connection.close() }
}
