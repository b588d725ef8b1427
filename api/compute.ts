import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import {
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  encodeBooleanResult,
  encodeNumericResult,
  fieldTypes,
} from '../src/eas'
import { GeometryError } from '../src/geodesy'
import {
  isOurs,
  multiAttestRequests,
  otherThanSigned,
  readEarlier,
  readEarlierBatch,
  readList,
  readPayload,
  sourcesOf,
  withToken,
  type ComputeResult,
  type EarlierAnswer,
  type Finding,
  type MultiAttestRequest,
} from './answers'
import { parseRecipient, type ServedChain } from './attester'
import type { ChainReader } from './chain-reader'
import { findLanded, type Landed } from './landed'
import { clientOf } from './limits'
import type { Measurer } from './measure'
import { standingOf } from './offchain'
import { computeSchemas, operationSchema } from './openapi'
import { OPERATIONS, type Operation } from './operations'
import {
  invalid,
  optionalText,
  parametersOf,
  readGeometryParameter,
  readNumber,
  readObject,
  unverified,
  type RequestBody,
} from './parameters'
import { ComputeProblem, UnavailableError, computeErrorHandler } from './problems'
import type { Resolver } from './resolve'

export interface ComputeParts {
  resolver: Resolver
  measurer: Measurer
  /** By chain id: the signer of each configured chain and the reader of its contracts. */
  attesters: ReadonlyMap<number, ServedChain>
  defaultSchemas: { number: string; boolean: string }
  schemaCheck: boolean
  deadlineSeconds: number
  /** How long after its computation a result is signed again. */
  resignMaxAgeSeconds: number
  publicBaseUrl: string
  /** milliseconds */
  clock: () => number
}

export const COMPUTE_ENDPOINTS = [...Object.keys(OPERATIONS), 'batch', 'resign', 'verify']

/** The Compute API (INTERFACE.md, Endpoints), mounted at /compute/v0: one handler for the whole table, and what makes signatures land (docs/api.md). */
export function computeRoutes(parts: ComputeParts) {
  return (app: FastifyInstance, _options: object, done: () => void): void => {
    app.setErrorHandler(computeErrorHandler(parts.publicBaseUrl))
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      const known = [...COMMON_PARAMETERS, ...parametersOf(operation)]
      app.post(`/${name}`, { schema: operationSchema(name, operation) }, (request) =>
        compute(parts, name, readObject(request.body, known), clientOf(request)),
      )
    }
    app.post('/batch', { schema: computeSchemas.batch }, (request) =>
      oneOfFewBatches(clientOf(request), () => computeBatch(parts, request.body, clientOf(request))),
    )
    app.post('/resign', { schema: computeSchemas.resign }, (request) =>
      resign(parts, request.body, clientOf(request)),
    )
    app.post('/verify', { schema: computeSchemas.verify }, ({ body }) => verify(parts, body))
    done()
  }
}

const COMMON_PARAMETERS = ['chainId', 'schema', 'recipient']
/** How long one batch may take until all is measured. */
const BATCH_BUDGET_MS = 20_000
/** Inputs that were looked at longer ago than this are looked at again before anything is signed. */
const LOOKED_AT_MS = 1_000

async function compute(
  parts: ComputeParts,
  name: string,
  request: RequestBody,
  client: string,
): Promise<ComputeResult> {
  const chain = await chosenChain(parts, request.chainId)
  const started = performance.now()
  const finding = await find(parts, chain, name, request, client)
  if (performance.now() - started > LOOKED_AT_MS) await checkStands(parts, chain, finding)
  const answer = await sign(chain, finding, await chain.attester.nonce(), deadlineOf(parts))
  // Answers of one turn of the event loop go out together: more requests a second in the few runs that compared it (2,700 and 3,000 to 3,300).
  await setImmediate()
  return answer
}

/** Batches under way, by client. */
const batches = new Map<string, number>()
const BATCHES_AT_ONCE = 2

async function oneOfFewBatches<T>(client: string, work: () => Promise<T>): Promise<T> {
  const own = batches.get(client) ?? 0
  // One of them may ask a chain's node forty questions: others must get a word in.
  if (own >= BATCHES_AT_ONCE)
    throw new ComputeProblem(
      'rate-limited',
      `${BATCHES_AT_ONCE} batches are being answered for you already; wait for one of them.`,
      5,
    )
  batches.set(client, own + 1)
  try {
    return await work()
  } finally {
    const left = batches.get(client)! - 1
    if (left) batches.set(client, left)
    else batches.delete(client)
  }
}

interface BatchResult {
  results: ComputeResult[]
  /** Unix seconds */
  deadline: number
  multiAttestByDelegation: MultiAttestRequest[]
}

/** Up to 20 operations, signed at consecutive nonces until one deadline, so that they can land in one transaction. */
async function computeBatch(parts: ComputeParts, body: unknown, client: string): Promise<BatchResult> {
  const { operations, ...common } = readObject(body, [...COMMON_PARAMETERS, 'operations'])
  const chain = await chosenChain(parts, common.chainId)
  const findings: Finding[] = []
  const started = performance.now()
  // In turn: a batch is one request, and takes no more of the machine at once than another.
  for (const [i, operation] of readList(operations, 'operations').entries()) {
    const left = started + BATCH_BUDGET_MS - performance.now()
    if (left <= 0)
      throw new ComputeProblem(
        'computation-error',
        `Measuring the first ${i} operations took more than ${BATCH_BUDGET_MS / 1000} seconds. Nothing was signed; give fewer, or smaller geometries.`,
      )
    findings.push(
      await inPlace(`operations[${i}]`, () => findInBatch(parts, chain, common, operation, client, left)),
    )
  }
  if (performance.now() - started > LOOKED_AT_MS)
    for (const finding of findings) await checkStands(parts, chain, finding)
  return signBatch(parts, chain, findings, await chain.attester.nonce())
}

async function signBatch(
  parts: ComputeParts,
  chain: ServedChain,
  findings: readonly Finding[],
  nonce: number,
): Promise<BatchResult> {
  const deadline = deadlineOf(parts)
  const results = await Promise.all(findings.map((finding, i) => sign(chain, finding, nonce + i, deadline)))
  return { results, deadline, multiAttestByDelegation: multiAttestRequests(results) }
}

/** What is refused is said of this place in the request. */
async function inPlace<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ComputeProblem) throw error.within(`${place}: `)
    if (error instanceof GeometryError) throw invalid(`${place}: ${error.message}`)
    throw error
  }
}

/** The data of an earlier answer, or of those of a batch in their order, under the next nonces and another deadline. */
async function resign(
  parts: ComputeParts,
  body: unknown,
  client: string,
): Promise<ComputeResult | BatchResult> {
  if (typeof body === 'object' && body !== null && Object.hasOwn(body, 'results'))
    return oneOfFewBatches(client, () => resignBatch(parts, body))
  const { chainId, answer } = readEarlier(body)
  const chain = await chosenChain(parts, chainId)
  const finding = await findAgain(parts, chain, answer)
  return sign(chain, finding, await chain.attester.nonce(true), deadlineOf(parts))
}

async function resignBatch(parts: ComputeParts, body: object): Promise<BatchResult> {
  const { chainId, answers, said } = readEarlierBatch(body)
  const chain = await chosenChain(parts, chainId)
  const findings = await Promise.all(
    answers.map((answer, i) => inPlace(`results[${i}]`, () => findAgain(parts, chain, answer))),
  )
  if (said.deadline !== undefined && answers.some(({ deadline }) => deadline !== said.deadline))
    throw unverified('deadline: not that of these results')
  // Whose signatures have just proved to be ours.
  const signed = (body as BatchResult).results
  if (
    said.multiAttestByDelegation !== undefined &&
    !isDeepStrictEqual(said.multiAttestByDelegation, multiAttestRequests(signed))
  )
    throw unverified('multiAttestByDelegation: not the call of these results; leave it out')
  return signBatch(parts, chain, findings, await chain.attester.nonce(true))
}

/** What an earlier answer says, if it is ours, not too old, and its attestations still stand. */
async function findAgain(parts: ComputeParts, chain: ServedChain, answer: EarlierAnswer): Promise<Finding> {
  const { attester } = chain
  if (answer.contradiction) throw unverified(answer.contradiction)
  if (!(await isOurs(attester, answer))) throw unverified(`attestation: ${NOT_OURS}`)
  const says = readPayload(answer.statement.data)
  const [other] = otherThanSigned(says, answer.said)
  if (other) throw unverified(`${other}: not what was signed`)
  const sources = sourcesOf(attester, answer)
  const age = Math.floor(parts.clock() / 1000) - says.timestamp
  if (age > parts.resignMaxAgeSeconds)
    throw invalid(
      `attestation: computed ${age} seconds ago; up to ${parts.resignMaxAgeSeconds} it is signed again. Compute it anew`,
    )
  await checkStands(parts, chain, { says, sources })
  return { statement: answer.statement, says, sources }
}

const NOT_OURS =
  'not what we signed for this chain: the signature does not fit the content, nonce and deadline'

/** Throws unless the attestations among the inputs of a finding stand now. */
async function checkStands(
  { resolver }: ComputeParts,
  { attester, reader }: ServedChain,
  { says, sources }: Pick<Finding, 'says' | 'sources'>,
): Promise<void> {
  await Promise.all(
    sources.map(async (source, i) => {
      const [uid, path, offchain] = [says.inputRefs[i]!, `input ${i + 1}`, standingOf(source)]
      if (offchain) await resolver.offchain.checkStands(uid, offchain, path, reader)
      else if (source === 'onchain') await resolver.checkStands(uid, path, attester.chain, reader)
    }),
  )
}

/** Whether an answer is ours and untouched, whether the contract would take it now, why not, what it says, and where it has landed. */
async function verify(parts: ComputeParts, body: unknown) {
  const { chainId, answer } = readEarlier(body)
  const chain = await chosenChain(parts, chainId)
  const { attester } = chain
  const [signed, current, deadlineCounts] = await Promise.all([
    isOurs(attester, answer),
    attester.nonce(true),
    attester.enforcesDeadline(),
  ])
  const says = signed ? readPayload(answer.statement.data) : null
  const landed = says && (await findLanded(chain, answer.statement, says.timestamp))
  const reasons = says
    ? otherThanSigned(says, answer.said).map((field) => `${field} is not what was signed`)
    : [NOT_OURS]
  if (answer.contradiction) reasons.unshift(answer.contradiction)
  const ours = reasons.length === 0
  if (answer.nonce < current)
    reasons.push(`nonce ${answer.nonce} was used${landed ? USED_BY[landed.status] : ''}`)
  if (answer.nonce > current)
    reasons.push(`nonce ${answer.nonce} comes later: the contract now expects ${current}`)
  if (deadlineCounts && answer.deadline < Math.floor(parts.clock() / 1000))
    reasons.push(`the deadline ${answer.deadline} has passed: have it signed again`)
  const nonce = { signed: answer.nonce, current }
  return {
    ours,
    submittable: reasons.length === 0,
    reasons,
    says,
    landed,
    attester: attester.address,
    nonce,
    deadline: answer.deadline,
  }
}

const USED_BY: Readonly<Record<Landed['status'], string>> = {
  landed: ': this answer has landed',
  'not landed': ' by another answer: have this one signed again',
  unknown: ': by this answer, which then has landed, or by another one, and then it can be signed again',
}

function deadlineOf({ clock, deadlineSeconds }: ComputeParts): number {
  return Math.floor(clock() / 1000) + deadlineSeconds
}

async function sign(
  { attester }: ServedChain,
  { statement, says, sources }: Finding,
  nonce: number,
  deadline: number,
): Promise<ComputeResult> {
  return { ...says, ...withToken(attester, await attester.sign(statement, nonce, deadline), sources) }
}

async function findInBatch(
  parts: ComputeParts,
  chain: ServedChain,
  common: RequestBody,
  operation: unknown,
  client: string,
  budgetMs: number,
): Promise<Finding> {
  const name = (operation as { operation?: unknown } | null)?.operation
  if (typeof name !== 'string' || !Object.hasOwn(OPERATIONS, name))
    throw invalid(`operation: expected one of ${Object.keys(OPERATIONS).join(', ')}`)
  const own = readObject(operation, ['operation', 'schema', 'recipient', ...parametersOf(OPERATIONS[name]!)])
  return find(parts, chain, name, { ...common, ...own }, client, budgetMs)
}

/** Reads, resolves and measures what is asked; answers what is to be signed. */
async function find(
  parts: ComputeParts,
  { attester, reader }: ServedChain,
  name: string,
  request: RequestBody,
  client: string,
  budgetMs?: number,
): Promise<Finding> {
  const operation = OPERATIONS[name]!
  const recipient = parseRecipient(optionalText(request, 'recipient'))
  if (recipient === undefined)
    throw invalid(
      'recipient: expected an address, 0x and 40 hex digits, in one letter case or with its right checksum',
    )
  const numbers = (operation.numbers ?? []).map((parameter) => readNumber(request, parameter))

  const [schema, inputs] = await Promise.all([
    chosenSchema(parts, operation, reader, optionalText(request, 'schema')),
    Promise.all(
      operation.geometries.map(async (parameter) => {
        const { value, name: given } = readGeometryParameter(request, parameter)
        return parts.resolver.resolve(value, given, attester.chain, reader, client)
      }),
    ),
  ])

  const { outcome, refs: inputRefs } = await parts.measurer.measure(
    { operation: name, inputs, numbers },
    client,
    budgetMs,
  )
  const context = {
    inputRefs,
    timestamp: Math.floor(parts.clock() / 1000),
    operation: operation.label?.(numbers) ?? name,
  }
  return {
    statement: {
      ...{ schema: schema.uid, revocable: schema.revocable, recipient },
      data:
        typeof outcome === 'boolean'
          ? encodeBooleanResult(outcome, context)
          : encodeNumericResult(outcome, operation.units!.payload, context),
    },
    says: {
      result: typeof outcome === 'boolean' ? outcome : Number(outcome) / operation.units!.perAnswerUnit,
      ...(operation.units && { units: operation.units.answer }),
      ...{ operation: context.operation, timestamp: context.timestamp, inputRefs },
    },
    sources: inputs.map(({ source }) => source),
  }
}

async function chosenChain({ attesters }: ComputeParts, chainId: unknown): Promise<ServedChain> {
  const usable = async () => {
    const states = await Promise.all(
      [...attesters].map(async ([id, { attester }]) => ((await attester.refusal()) ? [] : [id])),
    )
    return states.flat().join(', ') || 'none at the moment'
  }
  if (typeof chainId !== 'number' || !Number.isInteger(chainId))
    throw invalid(
      `chainId: ${chainId === undefined ? 'missing; ' : ''}expected a chain ID as a whole number, one of: ${await usable()}`,
    )
  const chosen = attesters.get(chainId)
  if (!chosen) throw invalid(`chainId: chain ${chainId} is not served; usable ones: ${await usable()}`)
  const refusal = await chosen.attester.refusal()
  if (refusal && (await chosen.attester.unreachable()))
    throw new UnavailableError(`The node of ${chosen.attester.chain.slug} does not answer right now.`)
  if (refusal)
    throw invalid(
      `chainId: chain ${chainId} cannot be signed for, as ${refusal}; usable ones: ${await usable()}`,
    )
  return chosen
}

const RESULT_TYPES = {
  [NUMERIC_RESULT_FIELDS]: fieldTypes(NUMERIC_RESULT_FIELDS).join(),
  [BOOLEAN_RESULT_FIELDS]: fieldTypes(BOOLEAN_RESULT_FIELDS).join(),
}

/** The schema to attest under, whose registered types must be the payload's: or a distance could be signed that reads as something else. */
async function chosenSchema(
  parts: ComputeParts,
  operation: Operation,
  reader: ChainReader,
  given: string | undefined,
) {
  if (given !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(given))
    throw invalid('schema: expected a schema UID, 0x and 64 hex digits')
  const fields = operation.units ? NUMERIC_RESULT_FIELDS : BOOLEAN_RESULT_FIELDS
  const uid = (given ?? parts.defaultSchemas[operation.units ? 'number' : 'boolean']).toLowerCase()
  const record = await reader.schema(uid)
  if (!record)
    throw invalid(
      `schema: ${uid} is not registered on this chain${given === undefined ? ' (it is the default)' : ''}; register "${fields}" or name another`,
    )
  if (parts.schemaCheck && record.types !== RESULT_TYPES[fields])
    throw invalid(
      `schema: ${uid} is "${record.schema.slice(0, 200)}", but a result of this operation has the fields "${fields}"`,
    )
  return { uid, revocable: record.revocable }
}
