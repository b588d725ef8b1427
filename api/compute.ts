import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { BOOLEAN_RESULT_FIELDS, NUMERIC_RESULT_FIELDS, encodeBooleanResult, encodeNumericResult, fieldTypes } from '../src/eas'
import { parseRecipient, type Attester, type SignedResult } from './attester'
import type { ChainReader } from './chain-reader'
import type { Measurer } from './measure'
import { operationSchema } from './openapi'
import { OPERATIONS, type Operation } from './operations'
import { ComputeProblem, computeErrorHandler } from './problems'
import type { Resolver } from './resolve'

/** What a compute endpoint answers (INTERFACE.md, Compute result). */
export interface ComputeResult extends SignedResult {
  result: number | boolean
  units?: string
  operation: string
  /** Unix seconds */
  timestamp: number
  inputRefs: string[]
}

export interface ComputeParts {
  resolver: Resolver
  measurer: Measurer
  /** By chain id: the signer of each configured chain and the reader of its contracts. */
  attesters: ReadonlyMap<number, { attester: Attester; reader: ChainReader }>
  defaultSchemas: { number: string; boolean: string }
  schemaCheck: boolean
  publicBaseUrl: string
  /** milliseconds */
  clock: () => number
}

/** The Compute API (INTERFACE.md, Endpoints), mounted at /compute/v0: one handler for the whole table. */
export function computeRoutes(parts: ComputeParts) {
  return (app: FastifyInstance, _options: object, done: () => void): void => {
    app.setErrorHandler(computeErrorHandler(parts.publicBaseUrl))
    for (const [name, operation] of Object.entries(OPERATIONS)) app.post(`/${name}`, { schema: operationSchema(name, operation) }, (request) => answer(parts, name, operation, request.body, Number(request.headers['content-length']) > LARGE_BODY))
    done()
  }
}

const COMMON_PARAMETERS = ['chainId', 'schema', 'recipient']

/** Bytes above which others get a turn between parsing the body and reading its geometries: 5 MiB take 50 and 20 ms. */
const LARGE_BODY = 262_144

async function answer(parts: ComputeParts, name: string, operation: Operation, body: unknown, large: boolean): Promise<ComputeResult> {
  const request = readObject(body, operation)
  const { attester, reader } = await chosenChain(parts, request.chainId)
  const recipient = parseRecipient(optionalText(request, 'recipient'))
  if (recipient === undefined) throw invalid('recipient: expected an address, 0x and 40 hex digits, in one letter case or with its right checksum')
  const numbers = (operation.numbers ?? []).map((parameter) => readNumber(request, parameter))

  const [schema, ...inputs] = await Promise.all([
    chosenSchema(parts, operation, reader, optionalText(request, 'schema')),
    ...operation.geometries.map(async (parameter) => {
      const { value, name: given } = readGeometryParameter(request, parameter)
      if (large) await setImmediate()
      return parts.resolver.resolve(value, given, attester.chain, reader)
    }),
  ])

  const { outcome, refs: inputRefs } = await parts.measurer.measure({ operation: name, inputs, numbers })
  const timestamp = Math.floor(parts.clock() / 1000)
  const label = operation.label?.(numbers) ?? name
  const context = { inputRefs, timestamp, operation: label }
  const data = typeof outcome === 'boolean' ? encodeBooleanResult(outcome, context) : encodeNumericResult(outcome, operation.units!.payload, context)
  const signed = await attester.sign({ schema: schema.uid, revocable: schema.revocable, recipient, data, timestamp })
  return {
    result: typeof outcome === 'boolean' ? outcome : Number(outcome) / operation.units!.perAnswerUnit,
    ...(operation.units && { units: operation.units.answer }),
    operation: label,
    timestamp,
    inputRefs,
    ...signed,
  }
}

function invalid(detail: string): ComputeProblem {
  return new ComputeProblem('invalid-input', detail)
}

type RequestBody = Record<string, unknown>

/** The body as an object whose fields are all known: a misspelt `recipient` must not become the zero address. */
function readObject(body: unknown, { geometries, numbers = [] }: Operation): RequestBody {
  const known = [...COMMON_PARAMETERS, ...geometries.flatMap(({ name, aliases = [] }) => [name, ...aliases]), ...numbers.map(({ name }) => name)]
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid(`The body must be a JSON object with the fields ${known.join(', ')}`)
  for (const field of Object.keys(body)) if (!known.includes(field)) throw invalid(`${field.slice(0, 40)}: unknown field; known ones are ${known.join(', ')}`)
  return body as RequestBody
}

function optionalText(request: RequestBody, name: string): string | undefined {
  const value = request[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw invalid(`${name}: expected a string`)
  return value
}

function readNumber(request: RequestBody, { name, check }: { name: string; check: (value: number) => string | undefined }): number {
  const value = request[name]
  const problem = value === undefined ? 'missing; expected a number' : typeof value === 'number' ? check(value) : 'expected a number'
  if (problem) throw invalid(`${name}: ${problem}`)
  return value as number
}

function readGeometryParameter(request: RequestBody, { name, aliases = [] }: { name: string; aliases?: readonly string[] }) {
  const given = [name, ...aliases].filter((candidate) => request[candidate] !== undefined)
  if (given.length === 0) throw invalid(`${name}: missing; expected an attestation UID or a GeoJSON geometry`)
  if (given.length > 1) throw invalid(`${given.join(', ')}: the same parameter twice; give one`)
  return { name: given[0]!, value: request[given[0]!] }
}

async function chosenChain({ attesters }: ComputeParts, chainId: unknown) {
  const usable = async () => {
    const states = await Promise.all([...attesters].map(async ([id, { attester }]) => ((await attester.refusal()) ? [] : [id])))
    return states.flat().join(', ') || 'none at the moment'
  }
  if (typeof chainId !== 'number' || !Number.isInteger(chainId))
    throw invalid(`chainId: ${chainId === undefined ? 'missing; ' : ''}expected a chain ID as a whole number, one of: ${await usable()}`)
  const chosen = attesters.get(chainId)
  if (!chosen) throw invalid(`chainId: chain ${chainId} is not served; usable ones: ${await usable()}`)
  const refusal = await chosen.attester.refusal()
  if (refusal) throw invalid(`chainId: chain ${chainId} cannot be signed for, as ${refusal}; usable ones: ${await usable()}`)
  return chosen
}

/** The schema to attest under, whose registered types must be the payload's: or a distance could be signed that reads as something else. */
async function chosenSchema(parts: ComputeParts, operation: Operation, reader: ChainReader, given: string | undefined) {
  if (given !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(given)) throw invalid('schema: expected a schema UID, 0x and 64 hex digits')
  const fields = operation.units ? NUMERIC_RESULT_FIELDS : BOOLEAN_RESULT_FIELDS
  const uid = (given ?? parts.defaultSchemas[operation.units ? 'number' : 'boolean']).toLowerCase()
  const record = await reader.schema(uid)
  if (!record) throw invalid(`schema: ${uid} is not registered on this chain${given === undefined ? ' (it is the default)' : ''}; register "${fields}" or name another`)
  if (parts.schemaCheck && fieldTypes(record.schema).join() !== fieldTypes(fields).join())
    throw invalid(`schema: ${uid} is "${record.schema.slice(0, 200)}", but a result of this operation has the fields "${fields}"`)
  return { uid, revocable: record.revocable }
}
