// SPDX-License-Identifier: MIT
import { domainSeparator } from 'viem'
import {
  ENTRY_KINDS,
  INCLUSION_SECONDS,
  LogFault,
  TlogError,
  encodeEntry,
  fromHex,
  inclusionOf,
  leafHash,
  parsePolicy,
  toHex,
  type Entry,
  type EntryKind,
  type Policy,
} from '../../../src/tlog'
import { RECORDS_ERRORS, type RecordsErrorKind } from '../../../src/errors'
import { expandSignature } from '../../../src/eas/compact'
import { quorumDomain } from '../../../src/eas/layouts'
import { checkSignedOn, decodeClaims, withAllFields } from './eas'
import {
  AlteredAnswerError,
  ApiError,
  invalidInput,
  messageOf,
  refuseUnknown,
  ServiceVersionError,
} from './errors'
import { jsonOf, refusalOf } from './http'
import { limitedFetch } from './quorum/operators'
import { contentOf, signersOf } from './quorum/signatures'
import type { Hex } from './reader'
import { connect, type Connection } from './service'
import { timeOf } from '../../../src/eas/times'
import { SKEW_SECONDS } from './says'
import type { Answer, LogClaim, QuorumAnswer, QuorumOperator } from './types'

export interface LoggedOptions {
  /**
   * policy of the log; for an answer of a quorum, with the log of each operator. Default: that of
   * createGeo({ log }), or the one that the service publishes
   */
  policy?: string
  signal?: AbortSignal
}

/** State of an answer in the transparency log of the service. */
export interface Logged {
  /**
   * `pending` until the time of `by`; `missing` if the log does not prove it after that time, or at once if
   * `by` is more than three minutes ahead or is too late for the signed times, or if the answer names no
   * entry although the service has a log or a policy is set. The time is that of the service's response, but
   * at most ten minutes before or after the clock of this computer.
   */
  state: 'included' | 'pending' | 'missing'
  /** reason, for `pending` and `missing` */
  reason?: string
  by: number
  /** position in the log */
  index?: number
  /** number of entries of the checkpoint that includes it */
  size?: number
  /** witnesses of the policy that cosigned the checkpoint */
  witnesses?: string[]
}

/** State of an operator's signature in the transparency log of its own service. */
export interface OperatorLogged extends Omit<QuorumOperator, 'url' | 'log'> {
  /** URL of the service; absent if the answer does not name it */
  url?: string
  /** absent if the service has no log, or if `problem` is set */
  log?: Logged
  /** reason why the log could not be read */
  problem?: string
}

/**
 * Implements `Geo.logged`. Encodes the entry of the answer again, requests its proof, and verifies it by the
 * policy. Without a policy it trusts the one that the service publishes, and returns undefined if the service
 * has no log.
 */
export async function loggedAnswer(
  connection: Connection,
  answer: Answer & { log?: LogClaim },
  given: LoggedOptions = {},
): Promise<Logged | undefined> {
  refuseUnknown('logged', given, { policy: true, signal: true })
  if (!answer?.attestation || !answer.delegatedAttestation)
    throw invalidInput('answer: expected an answer of the service, or of a quorum with all its signatures')
  return stateOf(connection, answer, (log) => leafOfAnswer(connection, answer, log), given)
}

/** Default time in milliseconds in which the service of an operator must respond. */
const OPERATOR_MS = 30_000

/**
 * Implements `Geo.logged` for an answer of a quorum. Throws an AlteredAnswerError if a signature is not
 * valid. An operator whose service does not respond does not hide the state of the others.
 */
export async function loggedByOperators(
  { options }: Pick<Connection, 'options'>,
  answer: QuorumAnswer,
  given: LoggedOptions = {},
): Promise<OperatorLogged[]> {
  refuseUnknown('logged', given, { policy: true, signal: true })
  const policy = given.policy ?? options.log
  if (policy !== undefined) parsedPolicy(policy) // throws for an invalid policy
  const signers = await signersOf(answer)
  const { chainId, quorum, timestamp } = answer
  const { epoch, recipient, ...content } = contentOf(answer.answer)
  const { timeout = OPERATOR_MS } = options
  // The URLs are those of the answer, which anyone can write: the wallet must not sign requests to them.
  const own = { retries: 0, timeout, fetch: limitedFetch(options) }
  const reading = { ...given, ...(policy !== undefined && { policy }) }
  const states = signers.map(async ({ url, signature, log: claim, ...signer }): Promise<OperatorLogged> => {
    const entry: Omit<Entry, 'kind' | 'time'> = {
      ...{ ...content, recipient: recipient.toLowerCase(), chainId, nonce: epoch },
      ...{ layout: 'quorum', attester: signer.operator.toLowerCase(), signature },
      separator: domainSeparator({ domain: quorumDomain(chainId, quorum as `0x${string}`) }),
    }
    if (url === undefined) {
      const reason = "The answer does not name the operator's service, and a policy is set."
      return { ...signer, ...(policy !== undefined && { log: unnamed(timestamp, reason) }) }
    }
    try {
      const log = await stateOf(
        connect({ ...own, url }),
        { log: claim, timestamp },
        (named) => leafOf(['quorum'], entry, timestamp, named),
        reading,
      )
      return { ...signer, url, ...(log && { log }) }
    } catch (error) {
      given.signal?.throwIfAborted()
      return { ...signer, url, problem: messageOf(error) }
    }
  })
  return Promise.all(states)
}

/** Describes the operators whose log does not prove that it includes their signature, in sentences. */
export function logProblems(operators: readonly OperatorLogged[]): string[] {
  return operators.flatMap(({ url, index, log, problem }) => {
    const name = url ?? `operator ${index}`
    if (problem !== undefined) return [`The transparency log of ${name} could not be read: ${problem}`]
    return log?.state === 'missing'
      ? [`The transparency log of ${name} does not prove that it includes its signature: ${log.reason}`]
      : []
  })
}

const missing = (by: number, reason: string): Logged => ({ state: 'missing', by, reason })
/** State of an entry that an answer of this time does not name. */
const unnamed = (timestamp: number, reason: string) => missing(timestamp + INCLUSION_SECONDS, reason)

/** Leaf of an entry, or the reason why it is not the one that is named; with both, why it is not pending. */
type Leaf = [leaf: Uint8Array, problem?: string] | [leaf: undefined, problem: string]

/** Returns the state of an entry in the log of a service. */
async function stateOf(
  connection: Connection,
  { log, timestamp }: { log?: LogClaim | undefined; timestamp: number },
  read: (log: LogClaim) => Leaf | Promise<Leaf>,
  given: LoggedOptions,
): Promise<Logged | undefined> {
  if (!log) {
    const isPinned = (given.policy ?? connection.options.log) !== undefined
    if ((await policyOf(connection, given)) === undefined) return undefined
    return unnamed(
      timestamp,
      isPinned
        ? 'The answer names no entry, and a policy is set.'
        : `The answer names no entry, but the service at ${connection.url} has a log. If it signed the answer before it had the log, ask again.`,
    )
  }
  const { by } = log
  const [leaf, problem] = await read(log)
  if (!leaf) return missing(by, problem)
  const policy = await policyOf(connection, given)
  if (!policy) return missing(by, `The service at ${connection.url} has no log.`)
  const logs = policy.logs.filter(({ key }) => key.name === log.origin)
  if (logs.length === 0)
    return missing(by, `The answer names the log ${log.origin}, which the policy does not have.`)
  const response = await fromLog(
    connection,
    `proof/${log.leaf}`,
    ['not-found', 'not-published'],
    given.signal,
  )
  const proof = response.ok ? await response.text() : undefined
  const now = secondsOf(response)
  try {
    const found = await inclusionOf({ leaf, by, proof }, { ...policy, logs }, now)
    if (found === 'pending' && problem !== undefined) return missing(by, problem)
    // A service that promises a later time could omit the entry until then.
    if (found === 'pending' && by > now + INCLUSION_SECONDS + SKEW_SECONDS)
      return missing(
        by,
        `The log includes it by ${timeOf(by)}, but must do so ${INCLUSION_SECONDS} s after the signature, unless the clock of this computer is behind.`,
      )
    if (found === 'pending') return { state: 'pending', by, reason: `The log includes it by ${timeOf(by)}.` }
    const { index, checkpoint, cosigned } = found
    return { state: 'included', by, index, size: checkpoint.size, witnesses: [...cosigned.keys()] }
  } catch (error) {
    if (error instanceof LogFault) return missing(by, error.message)
    throw error
  }
}

/**
 * Requests a resource of the log. Returns responses that are not successful only if they are errors of the
 * service itself, of these kinds: those of a reverse proxy do not show what the log has, and may be retried.
 */
async function fromLog(
  { send, url }: Connection,
  path: string,
  kinds: readonly RecordsErrorKind[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  const rows: readonly { status: number; message: string }[] = kinds.map((kind) => RECORDS_ERRORS[kind])
  const accepted = async (response: Response) => {
    const failure = await refusalOf(response.clone(), url)
    const isOwn = failure.constructor !== ApiError
    return isOwn && rows.some((row) => row.status === failure.status && row.message === failure.title)
  }
  return send(new Request(`${url}/log/v0/${path}`), { accepted, ...(signal && { signal }) })
}

/**
 * Maximum difference in seconds between the time of the service that counts and the clock of this computer. A
 * service that lies about the time can delay `missing` by it.
 */
const CLOCK_SECONDS = 600

/** Unix seconds at which the service responded, whatever the clock of this computer shows. */
function secondsOf({ headers }: Response): number {
  const now = Date.now() / 1000
  const sent = Date.parse(headers.get('date') ?? '') / 1000
  if (Number.isNaN(sent)) return now
  return Math.min(Math.max(sent, now - CLOCK_SECONDS), now + CLOCK_SECONDS)
}

/**
 * Returns the policy of the log; undefined if none is set and the service has no log. Throws an
 * InvalidInputError for an invalid policy text.
 */
async function policyOf(
  connection: Connection,
  { policy: given, signal }: LoggedOptions,
): Promise<Policy | undefined> {
  let text = given ?? connection.options.log
  if (text === undefined) {
    const response = await fromLog(connection, '', ['not-found'], signal)
    if (!response.ok) return undefined
    const { url } = connection
    const policy = (await jsonOf<{ policy?: unknown } | null>(response, url))?.policy
    if (typeof policy !== 'string')
      throw new ServiceVersionError(`The service at ${url} names no policy of its log.`)
    text = policy
  }
  return parsedPolicy(text)
}

function parsedPolicy(text: string): Policy {
  try {
    return parsePolicy(text)
  } catch (error) {
    throw error instanceof TlogError ? invalidInput(error.message) : error
  }
}

/** Returns the leaf of an answer, or the reason why it differs from the leaf that the answer names. */
async function leafOfAnswer(
  { options, chain: chainOf }: Connection,
  answer: Answer,
  log: LogClaim,
): Promise<Leaf> {
  const chain = await chainOf(answer.chainId)
  const { attestation, delegatedAttestation: delegation } = answer
  let checked: Awaited<ReturnType<typeof checkSignedOn>>
  try {
    checked = await checkSignedOn(chain, answer, options.attester)
  } catch (error) {
    if (error instanceof AlteredAnswerError) return [undefined, error.message]
    throw error
  }
  const { attester, domain, layout } = checked
  const { schema, recipient, expirationTime, revocable, refUID, data } = withAllFields(attestation)
  const signature = expandSignature(attestation.signature)
  const hex = { attester, schema, recipient, refUID, signature, data }
  const content = {
    ...(Object.fromEntries(
      Object.entries(hex).map(([name, value]) => [name, value.toLowerCase()]),
    ) as typeof hex),
    ...{ chainId: answer.chainId, layout, expirationTime, revocable, nonce: delegation.nonce ?? 0 },
    separator: domainSeparator({ domain: domain as never }),
    deadline: layout === 'legacy' ? 0 : delegation.deadline,
  }
  const kinds = (Object.keys(ENTRY_KINDS) as EntryKind[]).filter((kind) => kind !== 'quorum')
  return leafOf(kinds, content, decodeClaims(data as Hex)!.timestamp, log)
}

/**
 * Maximum number of seconds from the time of an answer's computation to that of its entry: the operators of a
 * quorum accept a time 60 s behind their clocks, and may take minutes for the computation and the signature.
 */
const SIGNING_SECONDS = 180

/**
 * Returns the leaf of an entry of one of these kinds, or the reason why it is not the one that is named.
 * Neither `leaf` nor `by` is signed: without a limit, an entry could be pending for as long as they are
 * altered.
 */
function leafOf(
  kinds: readonly EntryKind[],
  content: Omit<Entry, 'kind' | 'time'>,
  timestamp: number,
  { leaf, by }: LogClaim,
): Leaf {
  const time = by - INCLUSION_SECONDS
  if (!Number.isSafeInteger(time) || time < 0)
    return [undefined, 'The time by which the log includes it is not in Unix seconds.']
  const kind = kinds.find((kind) => toHex(leafHash(encodeEntry({ ...content, kind, time }))) === leaf)
  if (!kind) return [undefined, 'The leaf that the answer names is not that of its entry.']
  // The signatures of the oldest layout have no deadline.
  const last = kind === 'resigned' ? content.deadline || Infinity : timestamp + SIGNING_SECONDS
  const entry = fromHex('leaf', leaf)
  if (time <= last) return [entry]
  return [entry, `It must have been signed by ${timeOf(last)}, but names an entry of ${timeOf(time)}.`]
}
