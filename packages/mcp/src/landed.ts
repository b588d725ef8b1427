// SPDX-License-Identifier: MIT
import { sentenceOf, type AnswerPageOptions, type Claims } from '@geospatial-attestation/client'
import { z } from 'zod'
import { chain, pageSize } from './inputs'
import { addTool, pageText, READS, type Tools } from './tool'

const answer = z.object({
  uid: z.string().describe('Attestation that contains it'),
  chain: z.string(),
  attester: z.string(),
  recipient: z.string(),
  operation: z.string(),
  result: z.union([z.number(), z.boolean()]),
  units: z.string().nullable(),
  input_refs: z.array(z.string()),
  computed_at: z.string(),
  timestamp: z.string().describe('Time of the attestation'),
  revoked: z.boolean(),
})

const search = {
  name: 'search_answers',
  title: 'Search answers that landed',
  description: 'Finds answers of this service on a chain, whoever landed them, newest first.',
  annotations: READS,
  input: z.object({
    chain: chain('Only on this chain').optional(),
    operation: z.string().optional().describe('distance, within, within:50000 (centimetres), ...'),
    input: z.string().optional().describe('About this UID or reference'),
    recipient: z.string().optional().describe('Address'),
    revoked: z.boolean().optional().describe('false: only those that are not revoked'),
    limit: pageSize({ usual: 10, most: 50 }),
    cursor: z.string().optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({ answers: z.array(answer), next_cursor: z.string().nullable() }),
}

export function landedTools(tools: Tools): void {
  addTool(tools, search, async (input, signal) => {
    const options = { ...input, signal } satisfies AnswerPageOptions
    const { data, next_cursor } = await tools.geo.answers.page(options)
    const answers = data.map((each) => answer.parse(each))
    const lines = answers.map(({ uid, chain, input_refs: inputRefs, computed_at, revoked, ...rest }) => {
      const claims = { ...rest, inputRefs, timestamp: Date.parse(computed_at) / 1000 }
      return `- ${uid} on ${chain}: ${sentenceOf(claims as unknown as Claims)}${revoked ? ' REVOKED since.' : ''}`
    })
    return { structured: { answers, next_cursor }, texts: [pageText('answer', lines, next_cursor)] }
  })
}
