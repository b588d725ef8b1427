// SPDX-License-Identifier: MIT
import { serveStdio as serve, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { lackingParams } from './params'
import { createMcpServer, type McpOptions } from './server'

type Streams = ConstructorParameters<typeof StdioServerTransport>

/** Options for serving one user over stdin and stdout. Answers are kept while the connection lasts. */
export interface StdioOptions extends Omit<McpOptions, 'keepAnswers'> {
  /** default: the stdin and stdout of the process */
  stdin?: Streams[0]
  stdout?: Streams[1]
}

export interface StdioConnection {
  /** Resolves when the connection has ended, because stdin ended or `close` was called. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Serves one connection over stdin and stdout. Nothing else may write to stdout: log to stderr. */
export function serveStdio({ stdin, stdout, ...options }: StdioOptions): StdioConnection {
  const transport = new StdioServerTransport(stdin, stdout)
  const connection = serve(() => createMcpServer({ ...options, keepAnswers: true }), {
    transport,
    ...(options.onError && { onerror: options.onError }),
  })
  const serveMessage = transport.onmessage!.bind(transport)
  transport.onmessage = (message) => {
    const lacking = lackingParams(message)
    if (!lacking) return serveMessage(message)
    // Sending fails if the client has disconnected.
    transport.send(lacking).catch(options.onError ?? (() => {}))
  }
  const closed = new Promise<void>((resolve) => {
    const close = transport.onclose?.bind(transport)
    transport.onclose = () => {
      close?.()
      resolve()
    }
  })
  return { closed, close: () => connection.close() }
}
