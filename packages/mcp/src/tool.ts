import type { Geo } from '@geospatial-attestation/client'
import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { KeptAnswers } from './answers'
import { adviceOf } from './errors'

/** What the tools of one server have in common. */
export interface Tools {
  server: McpServer
  geo: Geo
  onError: (error: unknown) => void
  /** undefined: answers are not kept */
  kept: KeptAnswers | undefined
}

/** Asks, and changes nothing; what it reads is beyond the service. */
export const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: true }

/** A result: by the output schema for programs, and in words for hosts that show a model the text alone. */
export interface Told<Output> {
  structured: Output
  texts: string[]
}

/**
 * Registers a tool. `run` gets checked input and throws errors of the client, which the model gets as a
 * sentence with what to do next.
 */
export function addTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  { server, onError }: Tools,
  definition: {
    name: string
    title: string
    description: string
    annotations: ToolAnnotations
    input: Input
    output: Output
  },
  run: (input: z.output<Input>, signal: AbortSignal) => Promise<Told<z.input<Output>>>,
): void {
  const { name, input, output, ...rest } = definition
  // Widened: with Input the type of the callback could not be told here.
  const schemas: Record<'inputSchema' | 'outputSchema', z.ZodObject> = {
    inputSchema: z.strictObject(input.shape, { error: (issue) => unknownArguments(issue, input.shape) }),
    outputSchema: output,
  }
  server.registerTool(name, { ...rest, ...schemas }, async (values, { mcpReq: { signal } }) => {
    try {
      const { structured, texts } = await run(values as z.output<Input>, signal)
      return { structuredContent: structured, content: texts.map((text) => ({ type: 'text', text })) }
    } catch (error) {
      // Whoever called has left, and is told nothing.
      const advice = signal.aborted ? 'This was cancelled.' : adviceOf(error)
      if (advice === undefined) onError(error)
      const text = advice ?? 'The tool failed on our side. Try once more, then tell the user.'
      return { isError: true, content: [{ type: 'text', text }] }
    }
  })
}

/** Arguments that a tool does not have are refused: a filter that is misspelt would filter nothing. */
function unknownArguments(issue: z.core.$ZodRawIssue, shape: z.ZodRawShape): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined
  const known = Object.keys(shape)
  return `there is no argument ${issue.keys.join(', ')}; ${known.length ? `there are ${known.join(', ')}` : 'this tool has none'}`
}
