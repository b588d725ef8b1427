// SPDX-License-Identifier: MIT
import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { serveStdio as serve, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { onOneLine } from '../../../src/strict-json'
import { INVALID_REQUEST, jsonRpcError, lackingParams, PARSE_ERROR } from './params'
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
export function serveStdio({
  stdin = process.stdin,
  stdout = process.stdout,
  ...options
}: StdioOptions): StdioConnection {
  const transport = new StdioServerTransport(stdin, withWholeLines(stdout))
  // Sending fails if the client has disconnected.
  const send = (message: object) =>
    void transport.send(message as JSONRPCMessage).catch(options.onError ?? (() => {}))
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let begun = ''
  const answerFaults = (chunk: Uint8Array) => {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    const lines = [begun + first, ...others]
    begun = lines.pop()!
    for (const line of lines) {
      const fault = faultOf(line)
      if (fault) send(fault)
    }
  }
  // The transport listens too, from the next statement on.
  stdin.on('data', answerFaults)
  const connection = serve(() => createMcpServer({ ...options, keepAnswers: true }), {
    transport,
    onerror: (error) => {
      // A line that is no message has its answer (faultOf).
      if (error.name !== 'ZodError') options.onError?.(error)
    },
  })
  const serveMessage = transport.onmessage!.bind(transport)
  transport.onmessage = (message) => {
    const lacking = lackingParams(message)
    if (lacking) send(lacking)
    else serveMessage(message)
  }
  const closed = new Promise<void>((resolve) => {
    const close = transport.onclose?.bind(transport)
    transport.onclose = () => {
      close?.()
      // The transport does not pause a stream to which others listen. It would keep the process alive, unless
      // the host reads it too.
      stdin.off('data', answerFaults)
      if (stdin.listenerCount('data') === 0) stdin.pause()
      resolve()
    }
  })
  return { closed, close: () => connection.close() }
}

/** The stream, to which JSON is written without the line breaks of Unicode that the SDK leaves in strings. */
function withWholeLines<Stream extends NonNullable<Streams[1]>>(stdout: Stream): Stream {
  const write = (json: string) => stdout.write(onOneLine(json))
  return new Proxy(stdout, {
    get: (target, name) => {
      if (name === 'write') return write
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

/** Returns the error for a line that the SDK would ignore; undefined for a message and an empty line. */
function faultOf(line: string) {
  if (line.trim() === '') return undefined
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    return jsonRpcError(PARSE_ERROR, 'The line is not valid JSON. Send one message per line.')
  }
  if (Array.isArray(message))
    return jsonRpcError(INVALID_REQUEST, 'Batches are not supported. Send one message per line.')
  try {
    parseJSONRPCMessage(message)
    return undefined
  } catch {
    return jsonRpcError(
      INVALID_REQUEST,
      'The line is not a message of JSON-RPC 2.0. A request has jsonrpc, "2.0", an id, a string or an integer, and a method.',
    )
  }
}
