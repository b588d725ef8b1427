// SPDX-License-Identifier: MIT
import {
  privatePlace,
  sentenceOf,
  timeOf,
  type Answer,
  type Claims,
  type Input,
  type Question,
  type QuorumAnswer,
} from '@geospatial-attestation/client'
import { z } from 'zod'
import { OPERATION_ROWS, TEXTS, type OperationName, type OperationRow } from '../../../src/operations/table'
import { ToolInputError } from './errors'
import { chain, metres, place, placeOf, shape, type Place } from './inputs'
import { addTool, READS, type Tools } from './tool'

/** Parameters of every operation. */
const ASKED = {
  chain: chain('Slug such as base-sepolia (list_chains); UIDs are on this chain'),
  schema: z.string().optional().describe('UID of a schema to attest under'),
  recipient: z.string().optional().describe('Address that receives the attestation'),
  include_signature: z.boolean().optional().describe('Also return the signed answer (3 kB)'),
}
const PRIVATE = 'Inputs of which only salted hashes are signed'
/** Fields of every answer, in addition to its result. */
const TOLD = {
  sentence: z.string().describe('The answer as a sentence'),
  chain: z.string(),
  timestamp: z.number().describe('Unix seconds of the computation'),
  inputRefs: z.array(z.string()).describe('Per input: its UID, or the hash of a raw geometry'),
  attester: z.string().describe('Attester: of answers of a quorum, its contract'),
  deadline: z.number().describe('Unix seconds until which it can land'),
  salts: z
    .record(z.string(), z.string())
    .optional()
    .describe('Salts of private places: together with the geometry they prove what the answer is about'),
  signers: z.string().optional().describe('Bitmap of the operators of a quorum that signed, in hex'),
  dissent: z
    .array(z.looseObject({ url: z.string(), reason: z.string(), detail: z.string() }))
    .optional()
    .describe('Operators of a quorum that did not sign, or signed another payload'),
  answer_id: z.string().optional().describe('ID for verify_answer and land_answer'),
  signed_answer: z.looseObject({}).optional(),
}

type Shape = typeof ASKED & { private: z.ZodOptional<z.ZodArray<z.ZodString>> }

/** Defines the tool of an operation. */
function definitionOf(name: OperationName, { inputs, parameters = [], units }: OperationRow) {
  const names = inputs.map((each) => each.name)
  const privateError = `expected a list of names of inputs: ${names.join(', ')}`
  const places = inputs.map(({ name, label, accepts, usual = [] }): [string, z.ZodType] => {
    const types = accepts ?? usual
    return [
      name,
      types.length > 0 && !types.includes('Point') ? shape(label, types.join(' or ')) : place(label),
    ]
  })
  const result = units ? { result: z.number(), units: z.literal(units) } : { result: z.boolean() }
  const input: z.ZodRawShape = {
    ...Object.fromEntries(places),
    ...Object.fromEntries(
      parameters.map((each): [string, z.ZodType] => [
        each.name,
        metres(`Metres, above ${each.range.exclusiveMinimum}`),
      ]),
    ),
    private: z
      .array(z.enum(names, { error: privateError }), { error: privateError })
      .optional()
      .describe(PRIVATE),
    ...ASKED,
  }
  return {
    name,
    title: name[0]!.toUpperCase() + name.slice(1),
    description: `${TEXTS[name].summary}. ${TEXTS[name].about}`,
    annotations: READS,
    input: z.object(input) as unknown as z.ZodObject<Shape>,
    output: z.object({ ...result, ...TOLD }) as z.ZodObject<typeof TOLD>,
  }
}

/** Adds a tool for each operation (docs/reference/compute.md). */
export function operationTools(tools: Tools): void {
  const { geo, quorum, kept } = tools
  for (const [name, row] of OPERATION_ROWS)
    addTool(tools, definitionOf(name, row), async (values, signal) => {
      const { chain, schema, recipient, include_signature: whole, private: hidden = [] } = values
      const given = values as unknown as Record<string, Place> & Record<string, number>
      const inputs = Object.fromEntries(row.inputs.map((each) => [each.name, placeOf(given[each.name]!)]))
      const salts = saltAll(inputs, hidden)
      const numbers = Object.fromEntries((row.parameters ?? []).map((each) => [each.name, given[each.name]]))
      const question = { operation: name, ...inputs, ...numbers } as unknown as Question
      const answer = await (quorum ?? geo).ask(question, { chain, schema, recipient, signal })
      const { result, units, timestamp, inputRefs }: Claims = answer
      const { attester, deadline, ...ofQuorum } = signingOf(answer)
      const sentence = sentenceOf(answer)
      const { slug } = await geo.chain(answer.chainId)
      const id = kept?.keep(answer)
      return {
        structured: {
          ...{ result, ...(units && { units }), sentence, chain: slug, timestamp, inputRefs },
          ...{ attester, deadline },
          ...ofQuorum,
          ...(hidden.length && { salts }),
          ...(id !== undefined && { answer_id: id }),
          ...(whole && { signed_answer: { ...answer } }),
        },
        texts: [
          `${sentence} Signed by ${attester} for ${slug}; it can land until ` +
            `${timeOf(deadline)}${id === undefined ? '' : ` as ${id}`}.`,
          ...Object.entries(salts).map(
            ([name, salt]) =>
              `Salt of ${name}: ${salt}. Tell the user to store it with the geometry: without both nobody ` +
              'can prove what this is about.',
          ),
          ...(whole ? [JSON.stringify(answer)] : []),
        ],
      }
    })
}

/** Returns the attester of an answer and its deadline; for an answer of a quorum, also its signers. */
function signingOf(answer: Answer | QuorumAnswer) {
  if (!('quorum' in answer)) {
    const { attester, deadline } = answer.delegatedAttestation
    return { attester, deadline }
  }
  const { quorum: attester, signers, dissent } = answer
  const named = dissent.map(({ url, reason, detail }) => ({ url, reason, detail }))
  return { attester, deadline: answer.answer.deadline, signers, dissent: named }
}

/** Adds fresh salts to these inputs, and returns them. Throws a ToolInputError if one cannot have a salt. */
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
