// SPDX-License-Identifier: MIT
import { z } from 'zod'
import { addTool, READS, type Tools } from './tool'

const listed = z.object({
  chains: z.array(
    z.object({
      slug: z.string(),
      id: z.number(),
      ready: z.boolean().describe('True if answers for it can be signed now'),
      reason: z.string().optional(),
      attester: z.string().describe('Address that signs answers for it'),
      eas: z.string(),
      proxy: z.string().nullable().describe('Where answers land in any order'),
    }),
  ),
})

export function chainTools(tools: Tools): void {
  addTool(
    tools,
    {
      name: 'list_chains',
      title: 'List chains',
      description: 'Chains that operations support, with the attester of each.',
      annotations: { ...READS, openWorldHint: false },
      input: z.object({}),
      output: listed,
    },
    async (_, signal) => {
      const information = await tools.geo.info({ fresh: true, signal })
      const { chains } = listed.parse({
        chains: information.chains.map((each) => ({ ...each, proxy: each.proxy?.address ?? null })),
      })
      const lines = chains.map(
        ({ slug, id, ready, reason, attester }) =>
          `- ${slug} (${id}): ${ready ? `signed for by ${attester}` : `cannot be signed for now${reason === undefined ? '' : `: ${reason}`}`}`,
      )
      return { structured: { chains }, texts: [[`${chains.length} chains.`, ...lines].join('\n')] }
    },
  )
}
