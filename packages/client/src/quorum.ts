// SPDX-License-Identifier: MIT
import { hashTypedData, recoverAddress } from 'viem'
import type { AskOptions, Context, GeoOptions, Landed, LandOptions } from './context'
import { plain, withPoints } from './body'
import { decodeClaims, encodeCall, field, getAttestation, tuple, ZERO_ADDRESS, ZERO_HASH } from './eas'
import { AlteredAnswerError, ApiError, GeoError, invalidInput, messageOf, refuseUnknown } from './errors'
import { requireJson, sender, type Send } from './http'
import { isCanonicalSignature } from '../../../src/eas/compact'
import { rowOf, type OperationName } from '../../../src/operations/table'
import { methodsOf } from './questions'
import { landedAs } from './landed'
import { same } from './says'
import { attestedUids, inTurn, readAfter, refusal, sameChain, transact } from './send'
import { walletOf, type ChainReader, type Hex, type Signer } from './signer'
import type { Arguments } from './openapi'
import type { Dissent, Input, Question, QuorumAnswer, QuorumContent, QuorumSignature } from './types'
import { pause, untilAborted } from './waiting'

/**
 * Coordinator of a quorum (docs/reference/quorum.md): asks all operators the same question with the same
 * terms, verifies each signature, and returns an answer once k operators signed the same bytes. Operators
 * never talk to each other, and the coordinator is not trusted: the contract verifies the signatures.
 */

export interface QuorumOptions {
  /** URLs of the operators' services */
  operators: readonly string[]
  /**
   * number of equal signatures that an answer needs, and of operators that must name the same contract and
   * epoch. A higher threshold of the epoch applies
   */
  k: number
  /** address of the GeoQuorum contract; default: the one that k operators name */
  contract?: string
  /** chain of the questions: its id or slug; default: the client's chain */
  chain?: number | string
  /** seconds until the answer must land; default 600 */
  deadlineSeconds?: number
  /** milliseconds after which operators that have not signed count as unreachable; default 30,000 */
  timeout?: number
}

/** Fewer than k operators of a quorum signed the same answer. */
export class QuorumError extends GeoError {
  override name = 'QuorumError'

  constructor(
    message: string,
    /** one entry for each operator without a signature, with its reason */
    readonly dissent: readonly Dissent[],
  ) {
    super(message)
  }

  override get retryable(): boolean {
    return this.dissent.some(({ reason }) => PASSING_REFUSALS.includes(reason))
  }
}
const PASSING_REFUSALS: readonly Dissent['reason'][] = ['not-indexed-yet', 'busy', 'failed', 'unreachable']

/** Questions to a quorum, and landing of its answers. */
export interface Quorum extends QuorumQuestions {
  /** Asks a question whose operation is chosen at run time. Throws a QuorumError. */
  ask(question: Question, options?: QuorumAskOptions): Promise<QuorumAnswer>
  /** Submits an answer to the contract, and waits until it is in a block. */
  land(
    answer: QuorumAnswer,
    signer: Signer,
    options?: Pick<LandOptions, 'signal' | 'onStep'>,
  ): Promise<Landed>
}
/** Options of a question to a quorum. */
export type QuorumAskOptions = Omit<AskOptions, 'submission'>
/** One method for each operation. */
type QuorumQuestions = {
  [Name in keyof Arguments<Input>]: (
    ...given: [...Arguments<Input>[Name], options?: QuorumAskOptions]
  ) => Promise<QuorumAnswer>
}

interface Epoch {
  epoch: number
  validFrom: number
  validUntil: number
  threshold: number
  operators: readonly string[]
}
interface Listed {
  chainId: number
  quorum: string
  epochs: Epoch[]
}

const DEADLINE_SECONDS = 600
const TIMEOUT_MS = 30_000
/** Interval in milliseconds after which an operator that may sign later is asked again. */
const AGAIN_MS = 1_000
/** Unix seconds of the year 36,812: a random expiration after it keeps equal answers apart. */
const NEVER_SECONDS = 2 ** 40

const ANSWER = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
  { name: 'deadline', type: 'uint64' },
  { name: 'epoch', type: 'uint32' },
] as const
/** Parameters of `GeoQuorum.land`. */
const LAND = [
  tuple(
    'tuple',
    ANSWER.map(({ name, type }) => field(type, name)),
  ),
  field('uint256'),
  field('bytes'),
]

/** Implements `Geo.quorum`. */
export function quorumOf(context: Context, options: QuorumOptions): Quorum {
  refuseUnknown('quorum', options, {
    ...{ operators: true, k: true, contract: true, chain: true, deadlineSeconds: true, timeout: true },
  })
  const { operators, k } = options
  if (!(operators?.length > 0)) throw invalidInput('operators: expected a list of URLs')
  if (!(Number.isInteger(k) && k >= 1 && k <= operators.length))
    throw invalidInput(
      `k: expected a whole number from 1 to ${operators.length}, the number of operators, got ${k}`,
    )
  const all = operators.map((url) => new Operator(url, context.options))
  const ask = (question: Question, given: QuorumAskOptions = {}) =>
    askQuorum(context, all, options, question, given)
  return {
    ...methodsOf<QuorumQuestions>((operation, question, given) =>
      ask({ operation, ...question } as Question, given),
    ),
    ask,
    land: (answer, signer, given) => landQuorum(context, options, answer, signer, given),
  }
}

/** One operator's service. */
class Operator {
  readonly url: string
  private readonly send: Send

  constructor(url: string, { fetch }: GeoOptions) {
    if (!URL.canParse(url)) throw invalidInput(`operators: '${url}' is not a URL`)
    this.url = url.replace(/\/+$/, '')
    this.send = sender({ url: this.url, retries: 0, ...(fetch && { fetch }) })
  }

  async list(signal: AbortSignal): Promise<Listed[]> {
    return this.json<Listed[]>(new Request(`${this.url}/quorum/v0`), signal)
  }

  async sign(body: string, signal: AbortSignal): Promise<QuorumSignature> {
    const headers = { 'content-type': 'application/json' }
    return this.json(new Request(`${this.url}/quorum/v0/sign`, { method: 'POST', headers, body }), signal)
  }

  private async json<T>(request: Request, signal: AbortSignal): Promise<T> {
    return (await requireJson(await this.send(request, { signal }), this.url).json()) as T
  }
}

async function askQuorum(
  context: Context,
  operators: readonly Operator[],
  options: QuorumOptions,
  question: Question,
  given: QuorumAskOptions,
): Promise<QuorumAnswer> {
  refuseUnknown('quorum', given, { chain: true, schema: true, recipient: true, signal: true })
  const { chain: which = options.chain, signal, ...rest } = given
  const chainId = typeof which === 'number' ? which : (await context.chain(which, { signal })).id
  // Ends the requests that are no longer needed.
  const ending = new AbortController()
  const end = () => ending.abort(signal?.reason)
  signal?.addEventListener('abort', end)
  const timer = setTimeout(
    () => ending.abort(new Error('no response in time')),
    options.timeout ?? TIMEOUT_MS,
  )
  try {
    const { quorum, epoch } = await untilAborted(
      currentEpoch(operators, options, chainId, ending.signal),
      signal,
    )
    const now = Math.floor(Date.now() / 1000)
    const wanted = now + (options.deadlineSeconds ?? DEADLINE_SECONDS)
    const terms = {
      ...{ chainId, timestamp: now, deadline: Math.min(wanted, epoch.validUntil - 1) },
      ...{ epoch: epoch.epoch, expirationTime: NEVER_SECONDS + Math.floor(Math.random() * NEVER_SECONDS) },
    }
    const asked = { ...withPoints(question), ...rest, ...terms }
    const collected = collect(
      operators,
      Math.max(options.k, epoch.threshold),
      plain(asked),
      ending.signal,
      (signed) => verifySignature(signed, { ...asked, quorum, operators: epoch.operators } as Expected),
    )
    return { ...(await untilAborted(collected, signal)), chainId, quorum }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    ending.abort()
  }
}

/** Returns the contract and the newest valid epoch that k operators name. Throws a QuorumError. */
function currentEpoch(
  operators: readonly Operator[],
  { contract, k }: QuorumOptions,
  chainId: number,
  signal: AbortSignal,
): Promise<{ quorum: string; epoch: Epoch }> {
  const dissent: Dissent[] = []
  const votes = new Map<string, { urls: Set<string>; quorum: string; epoch: Epoch }>()
  return new Promise((resolve, reject) => {
    let left = operators.length
    const vote = (url: string, listed: Listed[]) => {
      const now = Date.now() / 1000
      const found = listed.find(
        (each) => each.chainId === chainId && (!contract || same(each.quorum, contract)),
      )
      const epoch = found?.epochs.filter((each) => each.validFrom <= now && now < each.validUntil).at(-1)
      if (!found || !epoch || !Number.isInteger(epoch.threshold) || !Array.isArray(epoch.operators)) {
        const detail = `no valid epoch of ${contract ? `the quorum ${contract}` : 'a quorum'} on chain ${chainId}`
        return void dissent.push({ url, reason: 'wrong-epoch', detail })
      }
      const key = JSON.stringify([found.quorum.toLowerCase(), epoch])
      const { urls, ...named } = votes.get(key) ?? { urls: new Set(), quorum: found.quorum, epoch }
      votes.set(key, { urls: urls.add(url), ...named })
      if (urls.size >= k) resolve(named)
    }
    const end = () => {
      if (--left > 0) return
      const named = [...votes.values()].flatMap(({ urls, quorum, epoch }) =>
        [...urls].map((url): Dissent => {
          return { url, reason: 'wrong-epoch', detail: `names epoch ${epoch.epoch} of ${quorum}` }
        }),
      )
      const all = [...dissent, ...named]
      reject(
        new QuorumError(
          `Fewer than ${k} of ${operators.length} operators name the same epoch on chain ${chainId}. ${summaryOf(all)}`,
          all,
        ),
      )
    }
    for (const operator of operators)
      operator
        .list(signal)
        .then((listed) => vote(operator.url, listed))
        .catch((error: unknown) => void dissent.push(dissentOf(operator.url, error)))
        .finally(end)
  })
}

type Complete = Omit<QuorumAnswer, 'chainId' | 'quorum'>

/**
 * Asks all operators in parallel. Resolves once `k` of them signed the same digest; rejects with a
 * QuorumError after all responses otherwise.
 */
function collect(
  operators: readonly Operator[],
  k: number,
  body: object,
  signal: AbortSignal,
  verify: (signed: QuorumSignature) => Promise<Verdict>,
): Promise<Complete> {
  const request = JSON.stringify(body)
  const signed = new Map<string, { url: string; signed: QuorumSignature }[]>()
  const dissent: Dissent[] = []
  const others = (digest: string) => [
    ...dissent,
    ...[...signed]
      .filter(([other]) => other !== digest)
      .flatMap(([, group]) => group)
      .map(({ url, signed: each }): Dissent => {
        return { url, reason: 'failed', detail: 'signed another payload for the same request', signed: each }
      }),
  ]
  return new Promise((resolve, reject) => {
    let left = operators.length
    // Rejects after the last response, so that it names the operators that differ from the others.
    const ended = () => {
      if (--left > 0) return
      const [digest, most] = [...signed].reduce<[string, number]>(
        (largest, [each, group]) => (group.length > largest[1] ? [each, group.length] : largest),
        ['', 0],
      )
      const all = others(digest)
      reject(
        new QuorumError(
          `${most} of ${operators.length} operators signed the same answer, and ${k} are needed. ${summaryOf(all)}`,
          all,
        ),
      )
    }
    const one = async (operator: Operator) => {
      const { url } = operator
      try {
        const given = await patiently(operator, request, signal)
        const { problem, isSigned } = await verify(given)
        if (problem !== undefined)
          dissent.push({
            ...{ url, reason: 'invalid-signature', detail: problem },
            ...(isSigned && { signed: given }),
          })
        else {
          const group = signed.get(given.digest) ?? []
          // Two URLs of one operator count once.
          if (!group.some((each) => each.signed.index === given.index)) group.push({ url, signed: given })
          signed.set(given.digest, group)
          if (group.length >= k) resolve(completed(group.slice(0, k), others(given.digest)))
        }
      } catch (error) {
        dissent.push(dissentOf(url, error))
      }
      ended()
    }
    for (const operator of operators) void one(operator)
  })
}

/** Asks an operator again while it may sign later. */
async function patiently(operator: Operator, body: string, signal: AbortSignal): Promise<QuorumSignature> {
  for (;;)
    try {
      return await operator.sign(body, signal)
    } catch (error) {
      const { reason } = dissentOf(operator.url, error)
      if (signal.aborted || (reason !== 'not-indexed-yet' && reason !== 'busy')) throw error
      const after = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0
      await pause(Math.max(AGAIN_MS, after), signal).catch(() => {
        throw error
      })
    }
}

function completed(group: readonly { signed: QuorumSignature }[], dissent: Dissent[]): Complete {
  const ascending = group.map((each) => each.signed).sort((a, b) => a.index - b.index)
  const { answer, digest } = ascending[0]!
  // The claims are those of the signed payload.
  const { whole: _, ...claims } = decodeClaims(answer.data as Hex)!
  return {
    ...claims,
    ...{ answer, digest, dissent },
    signers: `0x${ascending.reduce((bits, { index }) => bits | (1n << BigInt(index)), 0n).toString(16)}`,
    signatures: `0x${ascending.map(({ signature }) => signature.slice(2)).join('')}`,
  }
}

/** Terms that a signature must have. */
interface Expected extends Pick<QuorumContent, 'deadline' | 'expirationTime' | 'epoch'> {
  chainId: number
  timestamp: number
  operation: OperationName
  schema?: string
  recipient?: string
  quorum: string
  operators: readonly string[]
  [input: string]: unknown
}
/** Result of verifying a signature. */
interface Verdict {
  /** why it does not count; absent if it is the operator's for what was asked */
  problem?: string
  /** true if the operator signed the payload, whatever it is */
  isSigned: boolean
}

async function verifySignature(signed: QuorumSignature, expected: Expected): Promise<Verdict> {
  const { index } = signed
  const operator = Number.isInteger(index) ? expected.operators[index] : undefined
  if (operator === undefined || same(operator, ZERO_ADDRESS))
    return { problem: `index ${String(index)} is not one of the operators`, isSigned: false }
  const problem = await signatureProblem(signed, expected, operator).catch(
    (error: unknown) => `the response cannot be read: ${messageOf(error)}`,
  )
  if (problem !== undefined) return { problem, isSigned: false }
  return isAsked(signed.answer, expected)
    ? { isSigned: true }
    : { problem: 'the signed payload is not what was asked', isSigned: true }
}

/** Returns why the contract would refuse a signature of this operator; undefined if it accepts it. */
async function signatureProblem(
  { answer, digest, signature }: QuorumSignature,
  { chainId, quorum }: Expected,
  operator: string,
): Promise<string | undefined> {
  if (!isCanonicalSignature(signature)) return 'the signature is not 65 bytes with the lower s and v 27 or 28'
  const domain = { name: 'GeoQuorum', version: '1', chainId, verifyingContract: quorum as Hex }
  const message = {
    ...answer,
    ...{ expirationTime: BigInt(answer.expirationTime), deadline: BigInt(answer.deadline) },
  }
  const hash = hashTypedData({
    ...{ domain, types: { Answer: ANSWER }, primaryType: 'Answer' },
    message: message as never,
  })
  if (hash !== digest) return 'the digest is not that of the payload'
  const by = await recoverAddress({ hash, signature: signature as Hex })
  return same(by, operator) ? undefined : `signed by ${by}, not by the operator ${operator}`
}

/** True if a payload answers the question on the terms that were asked. */
function isAsked(answer: QuorumContent, expected: Expected): boolean {
  const claims = decodeClaims(answer.data as Hex)
  return (
    claims !== undefined &&
    answer.epoch === expected.epoch &&
    answer.deadline === expected.deadline &&
    answer.expirationTime === expected.expirationTime &&
    same(answer.refUID, ZERO_HASH) &&
    same(answer.recipient, expected.recipient ?? ZERO_ADDRESS) &&
    (expected.schema === undefined || same(answer.schema, expected.schema)) &&
    claims.timestamp === expected.timestamp &&
    claims.operation.split(':')[0] === expected.operation &&
    rowOf(expected.operation).inputs.every(({ name }, i) => {
      const input = expected[name]
      return typeof input !== 'string' || same(claims.inputRefs[i] ?? '', input)
    })
  )
}

function dissentOf(url: string, error: unknown): Dissent {
  if (!(error instanceof ApiError)) return { url, reason: 'unreachable', detail: messageOf(error) }
  const reason = error.refusal ?? (error.retryable ? 'busy' : error.status < 500 ? 'invalid-input' : 'failed')
  return { url, reason, detail: error.detail }
}

function summaryOf(dissent: readonly Dissent[]): string {
  return dissent
    .map(({ url, reason, detail }) => `${url}: ${reason} (${detail.replace(/\.$/, '')}).`)
    .join(' ')
}

async function landQuorum(
  context: Context,
  { contract }: QuorumOptions,
  { chainId, quorum, answer, signers, signatures }: QuorumAnswer,
  signer: Signer,
  given: Pick<LandOptions, 'signal' | 'onStep'> = {},
): Promise<Landed> {
  refuseUnknown('land', given, { signal: true, onStep: true })
  const { signal, onStep = () => {} } = given
  if (contract !== undefined && !same(contract, quorum))
    throw new AlteredAnswerError(
      `The answer is for the quorum ${quorum}, not for ${contract}. Nothing was sent.`,
    )
  const wallet = walletOf(signer)
  const chain = await context.chain(chainId)
  await sameChain(wallet.reader(), chain)
  const content = {
    ...answer,
    ...{ expirationTime: BigInt(answer.expirationTime), deadline: BigInt(answer.deadline) },
  }
  const data = encodeCall('land', LAND, [content, BigInt(signers), signatures])
  const outcome = await inTurn(signer, (release) =>
    transact(
      wallet,
      chain,
      { to: quorum, data },
      {
        ...(signal && { signal }),
        onSent: (transactionHash) => {
          release()
          void onStep({ step: 'sent', transactionHash })
        },
      },
    ),
  )
  if ('refused' in outcome) throw await refusal(outcome, 'The answer did not land')
  const { receipt } = outcome
  const reader: ChainReader = wallet.reader()
  for (const uid of attestedUids(receipt, chain, quorum)) {
    const attestation = await readAfter(receipt, () => getAttestation(reader, chain.eas, uid), signal)
    if (attestation.data !== answer.data.toLowerCase()) continue
    return landedAs(attestation, chain, receipt.transactionHash, receipt.blockNumber)
  }
  throw new AlteredAnswerError(
    `The transaction ${receipt.transactionHash} has no attestation of the answer by ${quorum}: it may not be a GeoQuorum.`,
  )
}
