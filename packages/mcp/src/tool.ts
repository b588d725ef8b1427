// SPDX-License-Identifier: MIT
import type { Geo, Quorum } from '@geospatial-attestation/client'
import type { McpServer, ToolAnnotations } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { KeptAnswers } from './answers'
import { adviceOf } from './errors'

/** State that the tools of one server share. */
export interface Tools {
  server: McpServer
  geo: Geo
  /** quorum that answers instead of the service, if there is one */
  quorum: Quorum | undefined
  onError: (error: unknown) => void
  /** undefined: answers are not kept */
  kept: KeptAnswers | undefined
}

/** Annotations of a tool that only reads, and whose data comes from outside the service. */
export const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: true }

/** Result of a tool: structured for programs, and as text for hosts that show a model only the text. */
export interface Told<Output> {
  structured: Output
  texts: string[]
}

/** Registers a tool. `run` receives checked input. Its errors reach the model with advice (errors.ts). */
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
  // Typed as ZodObject, since TypeScript cannot infer the callback's type from the generic Input.
  const schemas: Record<'inputSchema' | 'outputSchema', z.ZodObject> = {
    inputSchema: z.strictObject(input.shape, { error: (issue) => unknownArguments(issue, input.shape) }),
    outputSchema: output,
  }
  server.registerTool(name, { ...rest, ...schemas }, async (values, { mcpReq: { signal } }) => {
    try {
      const { structured, texts } = await run(values as z.output<Input>, signal)
      return { structuredContent: structured, content: texts.map((text) => ({ type: 'text', text })) }
    } catch (error) {
      // After a cancellation, nobody reads the message.
      const advice = signal.aborted ? 'This was cancelled.' : adviceOf(error)
      if (advice === undefined) onError(error)
      const text =
        advice ?? 'The tool failed because of an internal error. Try once more, then tell the user.'
      return { isError: true, content: [{ type: 'text', text }] }
    }
  })
}

/** Text of a page of a list: the number of its lines, `about` them, and how to get the next page. */
export function pageText(noun: string, lines: readonly string[], next: string | null, about = ''): string {
  const count = `${lines.length} ${lines.length === 1 ? noun : `${noun}s`}${lines.length ? about : ': none matches'}.`
  const more = next === null ? '' : ` There are more: pass cursor ${next}`
  return [`${count}${more}`, ...lines].join('\n')
}

/** Rejects unknown arguments: a misspelt filter would otherwise be ignored. */
function unknownArguments(issue: z.core.$ZodRawIssue, shape: z.ZodRawShape): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined
  const known = Object.keys(shape)
  return (
    `unknown argument ${issue.keys.join(', ')}; ` +
    (known.length ? `arguments: ${known.join(', ')}` : 'this tool has none')
  )
}
