// SPDX-License-Identifier: MIT
import { sentenceOf, type Answer, type ZoneSet } from '@geospatial-attestation/client'
import { z } from 'zod'
import { ToolInputError } from './errors'
import { chain, place, placeOf } from './inputs'
import { visible } from './records'
import { addTool, READS, type Tools } from './tool'

const find = {
  name: 'find_zones',
  title: 'Find zones that contain a place',
  description:
    'Finds the attested polygons that contain a place, each with a signed contains. Name whose zones count: uids, or prover, zone_schema or both. Anyone can attest to a schema.',
  annotations: READS,
  input: z.object({
    geometry: place('Place'),
    uids: z.array(z.string()).optional().describe('UIDs of the zones'),
    prover: z.string().optional().describe('Attester of the zones'),
    zone_schema: z.string().optional().describe('Schema of the zones'),
    chain: chain('Chain of the zones'),
  }),
  output: z.object({
    zones: z.array(z.object({ uid: z.string(), sentence: z.string(), answer_id: z.string().optional() })),
    on_boundary: z.array(z.string()).describe('Zones whose boundary is 0.00 m away'),
    complete: z.boolean().describe('false: undecided zones may contain it too'),
    untrusted: z.object({ undecided: z.array(z.object({ uid: z.string(), reason: z.string() })) }),
    chain: z.string(),
  }),
}

export function zoneTools(tools: Tools): void {
  const { geo, kept } = tools
  addTool(tools, find, async ({ geometry, uids, prover, zone_schema, chain }, signal) => {
    if ((uids === undefined) === (prover === undefined && zone_schema === undefined))
      throw new ToolInputError('Expected uids, or prover, zone_schema or both.')
    const set: ZoneSet = uids
      ? { uids }
      : { ...(prover !== undefined && { prover }), ...(zone_schema !== undefined && { schema: zone_schema }) }
    const found = await geo.zones(placeOf(geometry), set, { chain, signal })
    const { results, onBoundary, undecidedMore, complete } = found
    const zones = results.map((result) => {
      const answer = { ...result, chainId: found.chainId } as unknown as Answer
      return {
        uid: result.inputRefs[0]!,
        sentence: sentenceOf(answer),
        ...(kept && { answer_id: kept.keep(answer) }),
      }
    })
    const { slug } = await geo.chain(found.chainId)
    const undecided = found.undecided.map(({ uid, reason }) => ({ uid, reason: visible(reason) }))
    return {
      structured: {
        ...{ zones, on_boundary: onBoundary, complete, untrusted: { undecided } },
        chain: slug,
      },
      texts: [
        [
          `${zones.length} zones contain it${complete ? '' : `; ${undecidedMore ? 'more than ' : ''}${undecided.length} could not be decided`}.`,
          ...zones.map(({ uid, sentence }) => `- ${uid}: ${sentence}`),
          ...onBoundary.map((uid) => `- ${uid}: on its boundary`),
          ...undecided.map(({ uid, reason }) => `- ${uid}: undecided, ${JSON.stringify(reason)}`),
        ].join('\n'),
      ],
    }
  })
}
