import {
  privatePlace,
  sentenceOf,
  timeOf,
  type Answer,
  type AskOptions,
  type Claims,
  type Geo,
  type Input,
} from '@geospatial-attestation/client'
import { z } from 'zod'
import { ToolInputError } from './errors'
import { chain, metres, place, placeOf, shape, slugOf, type Place } from './inputs'
import { addTool, READS, type Tools } from './tool'

/** What every operation is asked with. */
const ASKED = {
  chain: chain('Slug such as base-sepolia (list_chains); UIDs are on it too'),
  schema: z.string().optional().describe('UID of a schema to attest under'),
  recipient: z.string().optional().describe('Address that receives the attestation'),
  include_signature: z.boolean().optional().describe('Also return the signed answer (3 kB)'),
}
const PRIVATE = 'Of these only salted hashes are signed'
/** What every answer tells beside its result. */
const TOLD = {
  sentence: z.string().describe('The answer in words'),
  chain: z.string(),
  timestamp: z.number().describe('Unix seconds of the computation'),
  inputRefs: z.array(z.string()).describe('By input: its UID, or the hash of raw geometry'),
  attester: z.string().describe('Who signed'),
  deadline: z.number().describe('Unix seconds until which it can be landed'),
  salts: z
    .record(z.string(), z.string())
    .optional()
    .describe('Of private places: with the geometry they prove what the answer is about'),
  answer_id: z.string().optional().describe('Names it in verify_answer and land_answer'),
  signed_answer: z.looseObject({}).optional(),
}

/** What is asked: places by their names, and of `within` the radius. */
type Asked<Name extends string> = Readonly<Record<Name, Input>> & { radius: number }

/** An operation as a tool; `places` are the names of its places. */
interface OperationTool {
  name: string
  title: string
  description: string
  places: readonly string[]
  input: z.ZodObject<typeof ASKED & { private: z.ZodOptional<z.ZodArray<z.ZodString>> }>
  output: z.ZodObject<typeof TOLD>
  ask: (geo: Geo, asked: Asked<string>, options: AskOptions) => Promise<Answer>
}

function operation<Name extends string>(
  name: string,
  description: string,
  /** what its places are, by the names of their parameters: a place, or a schema of a shape */
  places: Readonly<Record<Name, string | z.ZodType>>,
  units: 'meters' | 'square_meters' | undefined,
  ask: (geo: Geo, asked: Asked<Name>, options: AskOptions) => Promise<Answer>,
  more: z.ZodRawShape = {},
): OperationTool {
  const result = units ? { result: z.number(), units: z.literal(units) } : { result: z.boolean() }
  const names = Object.keys(places) as [Name, ...Name[]]
  const taken = Object.fromEntries(
    names.map((each) => {
      const role = places[each]
      return [each, typeof role === 'string' ? place(role) : role]
    }),
  )
  const privateError = `expected a list of names of places, of ${names.join(', ')}`
  return {
    ...{ name, title: name[0]!.toUpperCase() + name.slice(1), description, places: names },
    input: z.object({
      ...taken,
      ...more,
      private: z
        .array(z.enum(names, { error: privateError }), { error: privateError })
        .optional()
        .describe(PRIVATE),
      ...ASKED,
    }) as unknown as OperationTool['input'],
    output: z.object({ ...result, ...TOLD }),
    ask: ask,
  }
}

/** The six operations (docs/reference/compute.md). */
const OPERATIONS: readonly OperationTool[] = [
  operation(
    'distance',
    'Shortest geodesic distance between two places, in metres; 0 where they touch.',
    { from: 'First', to: 'Second' },
    'meters',
    (geo, { from, to }, options) => geo.distance(from, to, options),
  ),
  operation(
    'contains',
    'Whether a place lies wholly inside another. A point on the boundary does not: see intersects.',
    { container: shape('Container', 'Polygon or MultiPolygon'), geometry: 'What may lie in it' },
    undefined,
    (geo, { container, geometry }, options) => geo.contains(container, geometry, options),
  ),
  operation(
    'within',
    'Whether two places are at most a radius apart.',
    { geometry: 'First', target: 'Second' },
    undefined,
    (geo, { geometry, target, radius }, options) => geo.within(geometry, target, radius, options),
    { radius: metres('Metres, above 0') },
  ),
  operation(
    'intersects',
    'Whether two places share any point, boundaries included.',
    { geometry1: 'First', geometry2: 'Second' },
    undefined,
    (geo, { geometry1, geometry2 }, options) => geo.intersects(geometry1, geometry2, options),
  ),
  operation(
    'area',
    'Geodesic area of a polygon in square metres, holes left out.',
    { geometry: shape('Area', 'Polygon or MultiPolygon') },
    'square_meters',
    (geo, { geometry }, options) => geo.area(geometry, options),
  ),
  operation(
    'length',
    'Geodesic length of a line in metres.',
    { geometry: shape('Line', 'LineString or MultiLineString') },
    'meters',
    (geo, { geometry }, options) => geo.length(geometry, options),
  ),
]

/** Adds a tool for each operation. */
export function operationTools(tools: Tools): void {
  const { geo, kept } = tools
  for (const { ask, places, ...definition } of OPERATIONS)
    addTool(tools, { ...definition, annotations: READS }, async (values, signal) => {
      const { chain, schema, recipient, include_signature: whole, private: hidden = [] } = values
      const given = values as unknown as Record<string, Place> & { radius: number }
      const inputs = Object.fromEntries(places.map((name) => [name, placeOf(given[name]!)]))
      const salts = saltAll(inputs, hidden)
      const asked: Asked<string> = Object.assign(inputs, { radius: given.radius })
      const answer = await ask(geo, asked, { chain, schema, recipient, signal })
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
          ...(hidden.length && { salts }),
          ...(id !== undefined && { answer_id: id }),
          ...(whole && { signed_answer: answer }),
        },
        texts: [
          `${sentence} Signed by ${attester} for ${slug}; it can be landed until ${timeOf(deadline)}${id === undefined ? '' : ` as ${id}`}.`,
          ...Object.entries(salts).map(
            ([name, salt]) =>
              `Salt of ${name}: ${salt}. Tell the user to keep it with the geometry: without them nobody can prove what this is about.`,
          ),
          ...(whole ? [JSON.stringify(answer)] : []),
        ],
      }
    })
}

/** Gives the places of these names fresh salts, which it returns. Throws a ToolInputError. */
function saltAll(inputs: Record<string, Input>, names: readonly string[]): Record<string, string> {
  const salts: Record<string, string> = {}
  for (const name of new Set(names)) {
    const input = inputs[name]!
    if (typeof input !== 'object' || !('type' in input))
      throw new ToolInputError(
        `${name} cannot be made private: only [longitude, latitude] and GeoJSON without a salt can.`,
      )
    const place = privatePlace(input)
    inputs[name] = place
    salts[name] = place.salt
  }
  return salts
}
