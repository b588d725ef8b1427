import {
  sentenceOf,
  timeOf,
  type Answer,
  type AskOptions,
  type Claims,
  type Geo,
} from '@geospatial-attestation/client'
import { z } from 'zod'
import { chain, place, placeOf, slugOf } from './inputs'
import { addTool, READS, type Tools } from './tool'

/** What every operation is asked with. */
const ASKED = {
  chain: chain('Slug such as base-sepolia (list_chains); UIDs are on it too'),
  schema: z.string().optional().describe('UID of a schema to attest under'),
  recipient: z.string().optional().describe('Address that receives the attestation'),
  include_signature: z.boolean().optional().describe('Also return the signed answer (3 kB)'),
}
/** What every answer tells beside its result. */
const TOLD = {
  sentence: z.string().describe('The answer in words'),
  chain: z.string(),
  timestamp: z.number().describe('Unix seconds of the computation'),
  inputRefs: z.array(z.string()).describe('By input: its UID, or the hash of raw geometry'),
  attester: z.string().describe('Who signed'),
  deadline: z.number().describe('Unix seconds until which it can be landed'),
  answer_id: z.string().optional().describe('Names it in verify_answer and land_answer'),
  signed_answer: z.looseObject({}).optional(),
}

/** An operation as a tool. `input` has the operation's own parameters too, which `ask` reads. */
interface OperationTool {
  name: string
  title: string
  description: string
  input: z.ZodObject<typeof ASKED>
  output: z.ZodObject<typeof TOLD>
  ask: (geo: Geo, values: object, options: AskOptions) => Promise<Answer>
}

function operation<Parameters extends z.ZodRawShape>(
  name: string,
  description: string,
  parameters: Parameters,
  units: 'meters' | 'square_meters' | undefined,
  ask: (geo: Geo, values: z.output<z.ZodObject<Parameters>>, options: AskOptions) => Promise<Answer>,
): OperationTool {
  const result = units ? { result: z.number(), units: z.literal(units) } : { result: z.boolean() }
  return {
    name,
    title: name[0]!.toUpperCase() + name.slice(1),
    description,
    input: z.object({ ...parameters, ...ASKED }),
    output: z.object({ ...result, ...TOLD }),
    ask: ask as OperationTool['ask'],
  }
}

/** The six operations (docs/reference/compute.md). */
const OPERATIONS: readonly OperationTool[] = [
  operation(
    'distance',
    'Shortest geodesic distance between two places, in metres; 0 where they touch.',
    { from: place('First'), to: place('Second') },
    'meters',
    (geo, { from, to }, options) => geo.distance(placeOf(from), placeOf(to), options),
  ),
  operation(
    'contains',
    'Whether a place lies wholly inside another. A point on the boundary does not: see intersects.',
    { container: place('Polygon'), geometry: place('What may lie in it') },
    undefined,
    (geo, { container, geometry }, options) => geo.contains(placeOf(container), placeOf(geometry), options),
  ),
  operation(
    'within',
    'Whether two places are at most a radius apart.',
    {
      geometry: place('First'),
      target: place('Second'),
      radius: z.number().describe('Metres, above 0'),
    },
    undefined,
    (geo, { geometry, target, radius }, options) =>
      geo.within(placeOf(geometry), placeOf(target), radius, options),
  ),
  operation(
    'intersects',
    'Whether two places share any point, boundaries included.',
    { geometry1: place('First'), geometry2: place('Second') },
    undefined,
    (geo, { geometry1, geometry2 }, options) =>
      geo.intersects(placeOf(geometry1), placeOf(geometry2), options),
  ),
  operation(
    'area',
    'Geodesic area of a polygon in square metres, holes left out.',
    { geometry: place('Polygon or MultiPolygon') },
    'square_meters',
    (geo, { geometry }, options) => geo.area(placeOf(geometry), options),
  ),
  operation(
    'length',
    'Geodesic length of a line in metres.',
    { geometry: place('LineString or MultiLineString') },
    'meters',
    (geo, { geometry }, options) => geo.length(placeOf(geometry), options),
  ),
]

/** Adds a tool for each operation. */
export function operationTools(tools: Tools): void {
  const { geo, kept } = tools
  for (const { ask, ...definition } of OPERATIONS)
    addTool(tools, { ...definition, annotations: READS }, async (values, signal) => {
      const { chain, schema, recipient, include_signature: whole } = values
      const answer = await ask(geo, values, { chain, schema, recipient, signal })
      const { result, units, timestamp, inputRefs }: Claims = answer
      const { attester, deadline } = answer.delegatedAttestation
      const sentence = sentenceOf(answer)
      const slug = await slugOf(geo, answer.chainId)
      const id = kept?.keep(answer)
      return {
        structured: {
          ...{
            result,
            ...(units && { units }),
            sentence,
            chain: slug,
            timestamp,
            inputRefs,
            attester,
            deadline,
          },
          ...(id !== undefined && { answer_id: id }),
          ...(whole && { signed_answer: answer }),
        },
        texts: [
          `${sentence} Signed by ${attester} for ${slug}; it can be landed until ${timeOf(deadline)}${id === undefined ? '' : ` as ${id}`}.`,
          ...(whole ? [JSON.stringify(answer)] : []),
        ],
      }
    })
}
