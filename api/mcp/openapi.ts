import type { FastifySchema } from 'fastify'
import { integer, object, ref, text, type Schema } from '../http/openapi-components'

/** OpenAPI 3.1 description of /mcp. The protocol describes messages, and tools/list the tools. */

const VERSION = { const: '2.0', description: 'Of JSON-RPC.' }
const ID = { type: ['string', 'integer', 'null'], description: 'Of the message that is answered.' }
const ANY = { type: 'object', additionalProperties: true }

export const MCP_COMPONENTS: Record<string, Schema> = {
  McpMessage: {
    ...object(
      'A message of the Model Context Protocol (JSON-RPC 2.0).',
      {
        jsonrpc: VERSION,
        id: { type: ['string', 'integer'], description: 'Chosen by the client; a notification has none.' },
        method: text('Such as `tools/call`.', { examples: ['tools/list'] }),
        params: { ...ANY, description: "The method's parameters." },
      },
      ['id', 'params'],
    ),
    title: 'A message',
  },
  McpAnswer: object(
    'The answer: a result, or an error.',
    {
      jsonrpc: VERSION,
      id: ID,
      result: { ...ANY, description: 'As the method says. A tool that failed says so in `isError`.' },
      error: ref('McpFault'),
    },
    ['result', 'error'],
  ),
  McpFault: object(
    'What is wrong with the message.',
    {
      code: integer('Of JSON-RPC.'),
      message: text('What is wrong, and what would be right.'),
      data: { description: 'More about it.' },
    },
    ['data'],
  ),
}

const answer = (description: string) => ({
  description,
  content: { 'application/json': { schema: ref('McpAnswer') } },
})

export const mcpSchemas = {
  message: {
    operationId: 'sendMcpMessage',
    tags: ['Agents'],
    summary: 'The same questions as tools',
    description:
      'Model Context Protocol over Streamable HTTP, without sessions and streams: one message a request. The tools ask this API as the caller, so its limits and errors hold. docs/guide/agents.md connects a host.',
    body: ref('McpMessage'),
    response: {
      200: answer('The answer to the message.'),
      202: { type: 'null', description: 'A notification was taken.' },
      400: answer('The message is no message of this protocol, or of no revision that is spoken.'),
      403: answer('A page of another origin sent it.'),
      413: answer('The body is larger than 64 KiB.'),
      415: answer('The body is no JSON.'),
      429: answer('Too many messages.'),
      503: answer('There was no answer in time.'),
    },
  },
} satisfies Record<string, FastifySchema>
