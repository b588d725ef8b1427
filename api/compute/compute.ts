import { setImmediate } from 'node:timers/promises'
import type { Claims } from '../../src/answer'
import type { Submission } from '../../src/config'
import { cut } from '../../src/cut'
import {
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  encodeBooleanResult,
  encodeNumericResult,
  fieldTypes,
  parseChecksumAddress,
} from '../../src/eas'
import { GeometryError, readGeometry } from '../../src/geodesy'
import { rowOf, UNITS, writeLabel, type OperationName, type OperationRow } from '../../src/operations'
import { ComputeError, UnavailableError, invalidInput } from '../http/problems'
import type { Work } from '../http/work'
import { sign, signBatch, type Landing, type UnsignedResult } from './answers'
import {
  NO_RECIPIENT,
  proxyRefused,
  type RequestedChain,
  type ServedChain,
  type ValidityCheck,
} from './attester'
import { type ChainReader, type VerifyingContract } from '../contracts'
import { isSalted, resolveSalted } from './salted'
import { ReadGeometry, referenceOf, type MeasureInput, type Measurement, type Measurer } from './measure'
import { validityOf, type ResolvedInput } from './offchain'
import { isOffchainForm, type Resolver } from './resolve'
import type {
  BatchRequest,
  BatchResult,
  ComputeResult,
  OperationRequest,
  Reference,
  ReferenceRequest,
} from './schemas'

export interface ComputeParts {
  resolver: Resolver
  measurer: Measurer
  /** Signer and contract reader of each configured chain, by chain id. */
  attesters: ReadonlyMap<number, ServedChain>
  defaultSchemas: { number: string; boolean: string }
  /** Contract that answers are signed for if the request does not name one and the chain has a proxy. */
  defaultSubmission: Submission
  deadlineSeconds: number
  /** Maximum age in seconds of a result that is signed again. */
  resignMaxAgeSeconds: number
  publicBaseUrl: string
  /** milliseconds */
  clock: () => number
}

/** Time limit in milliseconds for measuring all operations of a batch. */
export const BATCH_BUDGET_MS = 20_000
/**
 * Milliseconds since the start of a validity check after which it is repeated: before a signature is made,
 * before the log publishes it, and before it leaves the process.
 */
const VALID_FOR_MS = 1_000
/**
 * Milliseconds since the end of a check in which it is not repeated, however long it took: the log could
 * otherwise never write an answer whose checks take more than a second.
 */
const JUST_CHECKED_MS = 500

/** Computes one operation, and signs it at the contract's nonce. */
export async function compute(
  parts: ComputeParts,
  name: OperationName,
  request: OperationRequest & { chainId: number },
  work: Work,
): Promise<ComputeResult> {
  const chain = await servedChain(parts, request.chainId, work)
  const contract = await contractFor(parts, chain, request.submission)
  const unsigned = await computeUnsigned(parts, chain, name, request)
  const answer = await sign(await landingOf(parts, chain, contract, request.include), unsigned)
  // Sends the answers of one iteration of the event loop together: 3,000 to 3,300 requests/s instead of
  // 2,700.
  await setImmediate()
  return answer
}

/** Computes up to 20 operations, signed at consecutive nonces so that all can land in one transaction. */
export async function computeBatch(
  parts: ComputeParts,
  { operations, chainId, submission, include, ...common }: BatchRequest,
  work: Work,
): Promise<BatchResult> {
  const chain = await servedChain(parts, chainId, work)
  const contract = await contractFor(parts, chain, submission)
  const results: UnsignedResult[] = []
  const started = performance.now()
  // Operations run one after the other, so that a batch uses no more processors at once than any other
  // request.
  for (const [i, { operation, ...own }] of operations.entries()) {
    const left = started + BATCH_BUDGET_MS - performance.now()
    if (left <= 0)
      throw new ComputeError(
        'computation-error',
        `Measuring the first ${i} operations took more than ${BATCH_BUDGET_MS / 1000} seconds. ` +
          'Nothing was signed. Send fewer operations or smaller geometries.',
      )
    results.push(
      await inPlace(`operations[${i}]`, () =>
        computeUnsigned(parts, chain, operation, { ...common, ...own }, { budgetMs: left }),
      ),
    )
    // Other requests run in between: operations on raw geometries take up to 30 ms each, and await nothing.
    await setImmediate()
  }
  return signBatch(await landingOf(parts, chain, contract, include), results)
}

/** Returns the contract to sign for. Throws a ComputeError if the chain's proxy is missing or refuses. */
export async function contractFor(
  { attesters, defaultSubmission }: ComputeParts,
  { attester }: ServedChain,
  asked: Submission | undefined,
): Promise<VerifyingContract> {
  const { chain, direct, proxy } = attester
  if ((asked ?? (proxy ? defaultSubmission : 'direct')) === 'direct') return direct
  if (!proxy) {
    const others = [...attesters].flatMap(([id, other]) => (other.attester.proxy ? [id] : []))
    throw invalidInput(
      `submission: ${chain.slug} has no proxy. Use direct. Chains with a proxy: ${others.join(', ') || 'none'}.`,
    )
  }
  const refusal = await proxy.refusal()
  if (refusal && (await proxy.unreachable()))
    throw new UnavailableError(`The RPC endpoint of ${chain.slug} does not respond.`)
  if (refusal) throw proxyRefused(chain, refusal)
  return proxy
}

/**
 * Returns the current terms of signing.
 * @param fresh reads the nonce after this call: for an earlier answer that is signed again, because it used
 *   the last known nonce
 */
export async function landingOf(
  { clock, deadlineSeconds, publicBaseUrl }: ComputeParts,
  { attester, work }: RequestedChain,
  contract: VerifyingContract,
  include: readonly string[] = [],
  fresh = false,
): Promise<Landing> {
  const nonce = await attester.nonce(contract, fresh)
  return {
    attester,
    contract,
    nonce,
    deadline: Math.floor(clock() / 1000) + deadlineSeconds,
    transaction: include.includes('transaction'),
    resignUrl: `${publicBaseUrl}/compute/v0/resign`,
    kind: fresh ? 'resigned' : 'answer',
    work,
  }
}

export async function inPlace<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ComputeError) throw error.within(`${place}: `)
    if (error instanceof GeometryError) throw invalidInput(`${place}: ${error.message}`)
    throw error
  }
}

/** Returns the reference of a raw geometry, by which contracts identify it. Throws a GeometryError. */
export async function reference(
  { measurer }: ComputeParts,
  { geometry }: ReferenceRequest,
): Promise<Reference> {
  if (geometry && typeof geometry === 'object') {
    // Refuses mixed forms, as the operations do.
    isOffchainForm(geometry, 'geometry')
    if (isSalted(geometry, 'geometry'))
      return { inputRef: (await resolveSalted(geometry, 'geometry', measurer)).ref }
  }
  if (geometry instanceof ReadGeometry) return { inputRef: geometry.input.ref }
  if (typeof geometry === 'string' || (geometry && typeof geometry === 'object' && !('type' in geometry)))
    throw invalidInput(
      'geometry: expected a GeoJSON geometry. The reference of an attestation is its UID in lower case.',
    )
  return { inputRef: await referenceOf(readGeometry(geometry, 'geometry')) }
}

/**
 * Returns the check that the attestations among the inputs of a result are valid. A check counts from its
 * start, because an input may be revoked while a slow endpoint responds. A second round repeats the checks
 * that became due during a slow one.
 * @param checkedAt value of performance.now() before the last check; -Infinity if there was none
 */
export function validityCheck(
  { resolver }: ComputeParts,
  { reader }: ServedChain,
  { claims, sources }: Pick<UnsignedResult, 'claims' | 'sources'>,
  checkedAt: number,
): ValidityCheck {
  const inputs = sources.map((source, i) => ({ source, i, until: checkedAt + VALID_FOR_MS }))
  return async () => {
    for (let round = 0; round < 2; round++) {
      const at = performance.now()
      const due = inputs.filter(({ until }) => at > until)
      if (due.length === 0) return
      await Promise.all(
        due.map(async (input) => {
          const { source, i } = input
          const [uid, path, offchain] = [claims.inputRefs[i]!, `input ${i + 1}`, validityOf(source)]
          if (offchain) await resolver.offchain.checkValid(uid, offchain, path, reader)
          else if (source === 'onchain') await resolver.checkValid(uid, path, reader)
          input.until = Math.max(at + VALID_FOR_MS, performance.now() + JUST_CHECKED_MS)
        }),
      )
    }
  }
}

/** Resolves the inputs of an operation and measures them. */
export async function computeUnsigned(
  parts: ComputeParts,
  chain: RequestedChain,
  name: OperationName,
  request: OperationRequest,
  {
    budgetMs,
    at,
    resolved = {},
    checkedAt = performance.now(),
  }: {
    /** Time limit of the measurement. */
    budgetMs?: number
    /** Unix seconds of the computation in the payload. Default: the time of the clock afterwards. */
    at?: number
    /** Inputs that are resolved already, by field. */
    resolved?: Readonly<Record<string, ResolvedInput>>
    /** Value of performance.now() before the first of these inputs was resolved. */
    checkedAt?: number
  } = {},
): Promise<UnsignedResult> {
  const { reader, work } = chain
  const operation = rowOf(name)
  const numbers = (operation.parameters ?? []).map((parameter) => request[parameter.name] as number)
  const fields = operation.inputs.map((each) =>
    [each.name, ...(each.aliases ?? [])].find((alias) => request[alias] !== undefined)!,
  )
  const [schema, inputs] = await Promise.all([
    chosenSchema(parts, operation, reader, request.schema),
    Promise.all(
      fields.map((field) =>
        withField([field], async () => {
          const known = resolved[field]
          return known ?? parts.resolver.resolve(request[field], field, reader)
        }),
      ),
    ),
  ])
  const measurement = await withField(
    fields,
    () => parts.measurer.measure({ operation: name, inputs, numbers }, work, budgetMs),
    inputs,
  )
  const now = parts.clock()
  const timestamp = at ?? Math.floor(now / 1000)
  const { data, claims } = described(name, operation, numbers, measurement, timestamp)
  const recipient = request.recipient === undefined ? NO_RECIPIENT : parseChecksumAddress(request.recipient)!
  const sources = inputs.map(({ source }) => source)
  // If the answer names a later second than the check of its inputs, one may have expired in between: it is
  // checked again before the signature.
  const checkedSecond = Math.floor((now + checkedAt - performance.now()) / 1000)
  const since = checkedSecond < timestamp ? -Infinity : checkedAt
  return {
    statement: { schema: schema.uid, revocable: schema.revocable, recipient, data },
    ...{ claims, sources },
    stillValid: validityCheck(parts, chain, { claims, sources }, since),
  }
}

/** Runs a step, and adds the field to errors of a cached geometry, which name only the attestation. */
async function withField<T>(
  fields: readonly string[],
  work: () => Promise<T>,
  inputs: readonly MeasureInput[] = [],
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof GeometryError) || fields.some((field) => error.path.startsWith(field))) throw error
    const at = inputs.findIndex(({ reading }) => error.path.startsWith(reading.path))
    throw new GeometryError(`${fields[Math.max(0, at)]!}: ${error.path}`, error.problem)
  }
}

/** Encodes a measurement as the payload for contracts and as the claims of the answer. */
function described(
  name: OperationName,
  { units }: OperationRow,
  numbers: readonly number[],
  { outcome, refs: inputRefs }: Measurement,
  timestamp: number,
): { data: string; claims: Claims } {
  const operation = writeLabel(name, numbers)
  const context = { inputRefs, timestamp, operation }
  if (typeof outcome === 'boolean')
    return {
      data: encodeBooleanResult(outcome, context),
      claims: { result: outcome, operation, timestamp, inputRefs },
    }
  const { payload, perAnswerUnit } = UNITS[units!]
  const result = Number(outcome) / perAnswerUnit
  return {
    data: encodeNumericResult(outcome, payload, context),
    claims: { result, units: units!, operation, timestamp, inputRefs },
  }
}

/** Returns a chain with a reader for this work. Throws a ComputeError if it cannot be signed for. */
export async function servedChain(parts: ComputeParts, chainId: number, work: Work): Promise<RequestedChain> {
  const chosen = parts.attesters.get(chainId)
  if (!chosen) throw invalidInput(`chainId: chain ${chainId} is not supported. ${await usableChains(parts)}`)
  const refusal = await chosen.attester.direct.refusal()
  if (refusal && (await chosen.attester.direct.unreachable()))
    throw new UnavailableError(`The RPC endpoint of ${chosen.attester.chain.slug} does not respond.`)
  if (refusal)
    throw new ComputeError(
      'invalid-input',
      `chainId: chain ${chainId} cannot be signed for: ${refusal}. ${await usableChains(parts)}`,
      undefined,
      'failed',
    )
  return { ...chosen, reader: chosen.reader.of(work), work }
}

/** Sentence with the ids of the chains that can be signed for. */
export async function usableChains({ attesters }: Pick<ComputeParts, 'attesters'>): Promise<string> {
  const ids = await Promise.all(
    [...attesters].map(async ([id, { attester }]) => ((await attester.direct.refusal()) ? [] : [id])),
  )
  return `Chains that can be signed for: ${ids.flat().join(', ') || 'none at the moment'}.`
}

const RESULT_TYPES = {
  [NUMERIC_RESULT_FIELDS]: fieldTypes(NUMERIC_RESULT_FIELDS).join(),
  [BOOLEAN_RESULT_FIELDS]: fieldTypes(BOOLEAN_RESULT_FIELDS).join(),
}

/** Returns the schema to attest under. With other types, a contract would decode another result. */
export async function chosenSchema(
  { defaultSchemas }: ComputeParts,
  { units }: OperationRow,
  reader: ChainReader,
  given: string | undefined,
) {
  const fields = units ? NUMERIC_RESULT_FIELDS : BOOLEAN_RESULT_FIELDS
  const uid = (given ?? defaultSchemas[units ? 'number' : 'boolean']).toLowerCase()
  const record = await reader.schema(uid)
  if (!record)
    throw invalidInput(
      `schema: ${uid} is not registered on this ` +
        `chain${given === undefined ? ' (it is the default)' : ''}. Register "${fields}", or name ` +
        'another schema.',
    )
  if (record.types !== RESULT_TYPES[fields])
    throw invalidInput(
      `schema: ${uid} has the fields "${cut(record.schema, 200)}", but the results of this operation need ` +
        `the fields "${fields}"`,
    )
  return { uid, revocable: record.revocable }
}
