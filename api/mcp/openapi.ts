import type { FastifySchema } from 'fastify'
import { answer as answerOf, integer, object, ref, text, type Schema } from '../http/openapi-components'

/** OpenAPI 3.1 description of /mcp. The protocol describes messages, and tools/list the tools. */

const VERSION = { const: '2.0', description: 'Of JSON-RPC.' }
const ID = { type: ['string', 'number', 'null'], description: 'ID of the message that is answered.' }
const ANY = { type: 'object', additionalProperties: true }

export const MCP_COMPONENTS: Record<string, Schema> = {
  McpMessage: {
    ...object(
      'A message of the Model Context Protocol (JSON-RPC 2.0).',
      {
        jsonrpc: VERSION,
        id: { type: ['string', 'integer'], description: 'ID chosen by the client; a notification has none.' },
        method: text('Method, such as `tools/call`.', { examples: ['tools/list'] }),
        params: { ...ANY, description: "The method's parameters." },
      },
      ['id', 'params'],
    ),
    title: 'A message',
  },
  McpAnswer: object(
    'Response: a result or an error.',
    {
      jsonrpc: VERSION,
      id: ID,
      result: { ...ANY, description: 'Result of the method. `isError` is true if a tool failed.' },
      error: ref('McpFault'),
    },
    ['result', 'error'],
  ),
  McpFault: object(
    'Error of the message.',
    {
      code: integer('Of JSON-RPC.'),
      message: text('Problem, and the expected value.'),
      data: { description: 'Details.' },
    },
    ['data'],
  ),
}

const answer = (description: string) => answerOf(ref('McpAnswer'), description)

export const mcpSchemas = {
  message: {
    operationId: 'sendMcpMessage',
    tags: ['Agents'],
    summary: 'Operations and searches as tools',
    description:
      'Model Context Protocol over Streamable HTTP, without sessions and streams: one message per ' +
      'request. The tools call this API for the client, so its limits and errors apply. ' +
      'docs/guide/agents.md shows how to connect a host.',
    body: ref('McpMessage'),
    response: {
      200: answer('Response to the message.'),
      202: { type: 'null', description: 'A notification was accepted.' },
      400: answer('The message is not a message of this protocol, or has an unsupported revision.'),
      403: answer('A page of another origin sent the message.'),
      413: answer('The body is larger than 64 KiB.'),
      415: answer('The body is not JSON.'),
      429: answer('Too many messages.'),
      503: answer('The tool did not finish in time.'),
    },
  },
} satisfies Record<string, FastifySchema>
