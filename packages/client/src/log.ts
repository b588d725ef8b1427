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
  type EntryKind,
  type EntryLayout,
  type Policy,
} from '../../../src/tlog'
import { expandSignature } from '../../../src/eas/compact'
import { checkSigned, expectedAttester, type Domain } from './eas'
import { AlteredAnswerError, invalidInput, refuseUnknown, ServiceVersionError } from './errors'
import type { Connection } from './service'
import { SKEW_SECONDS, timeOf } from './says'
import type { Answer } from './types'

/** Promise of the service to include an answer in its transparency log. */
export interface LogClaim {
  /** identity of the log */
  origin: string
  /** hash of the answer's entry, in hex without 0x */
  leaf: string
  /** Unix seconds by which the log includes it */
  by: number
}

export interface LoggedOptions {
  /** policy of the log; default: that of createGeo({ log }), or the key that the service names */
  policy?: string
  signal?: AbortSignal
}

/** State of an answer in the transparency log of the service. */
export interface Logged {
  /**
   * `pending` until the time of `by`; `missing` if the log does not prove it after that time, or at once if
   * `by` is more than three minutes ahead, or if the answer names no entry and a policy is set. The time is
   * that of the service's response, if it differs by at most ten minutes from the clock of this computer.
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

/**
 * Implements `Geo.logged`. Encodes the entry of the answer again, requests its proof, and verifies it by the
 * policy. Without a policy it trusts the key that the service names, requires no witness, and returns
 * undefined for an answer that names no entry, as of a service without a log.
 */
export async function loggedAnswer(
  connection: Connection,
  answer: Answer & { log?: LogClaim },
  given: LoggedOptions = {},
): Promise<Logged | undefined> {
  refuseUnknown('logged', given, { policy: true, signal: true })
  const { log } = answer
  if (log === undefined) {
    if ((given.policy ?? connection.options.log) === undefined) return undefined
    await policyOf(connection, given) // throws for an invalid checkpoint
    const by = answer.timestamp + INCLUSION_SECONDS
    return { state: 'missing', by, reason: 'The answer names no entry, and a policy is set.' }
  }
  const { by } = log
  const [leaf, problem] = await leafOf(connection, answer, log)
  if (problem !== undefined) return { state: 'missing', by, reason: problem }
  const policy = await policyOf(connection, given)
  const logs = policy.logs.filter(({ key }) => key.name === log.origin)
  if (logs.length === 0)
    return {
      state: 'missing',
      by,
      reason: `The answer names the log ${log.origin}, which the policy does not have.`,
    }
  // 404: no such entry. 503: the entry is committed, but not in a published checkpoint yet.
  const sending = { accepted: [404, 503], ...(given.signal && { signal: given.signal }) }
  const response = await connection.send(new Request(`${connection.url}/log/v0/proof/${log.leaf}`), sending)
  const proof = response.ok ? await response.text() : undefined
  const now = secondsOf(response)
  try {
    const found = await inclusionOf({ leaf, by, proof }, { ...policy, logs }, now)
    // A service that promises a later time could omit the entry until then.
    if (found === 'pending' && by > now + INCLUSION_SECONDS + SKEW_SECONDS)
      return {
        state: 'missing',
        by,
        reason: `The log includes it by ${timeOf(by)}, but must do so ${INCLUSION_SECONDS} s after the signature, unless the clock of this computer is behind.`,
      }
    if (found === 'pending') return { state: 'pending', by, reason: `The log includes it by ${timeOf(by)}.` }
    const { index, checkpoint, cosigned } = found
    return { state: 'included', by, index, size: checkpoint.size, witnesses: [...cosigned.keys()] }
  } catch (error) {
    if (error instanceof LogFault) return { state: 'missing', by, reason: error.message }
    throw error
  }
}

/**
 * Maximum difference in seconds between the clocks of the service and of this computer for which that of the
 * service counts. A service that lies about the time can delay `missing` by it.
 */
const CLOCK_SECONDS = 600

/** Unix seconds at which the service responded, whatever the clock of this computer shows. */
function secondsOf({ headers }: Response): number {
  const now = Date.now() / 1000
  const sent = Date.parse(headers.get('date') ?? '') / 1000
  if (Number.isNaN(sent)) return now
  return Math.min(Math.max(sent, now - CLOCK_SECONDS), now + CLOCK_SECONDS)
}

/** Returns the policy of the log. Throws an InvalidInputError for an invalid policy text. */
async function policyOf(
  { options, send, url }: Connection,
  { policy: given, signal }: LoggedOptions,
): Promise<Policy> {
  let text = given ?? options.log
  if (text === undefined) {
    const response = await send(new Request(`${url}/log/v0/`), signal && { signal })
    const { key } = (await response.json()) as { key?: unknown }
    if (typeof key !== 'string')
      throw new ServiceVersionError(`The service at ${url} names no key of its log.`)
    text = `log ${key}\nquorum none\n`
  }
  try {
    return parsePolicy(text)
  } catch (error) {
    throw error instanceof TlogError ? invalidInput(error.message) : error
  }
}

/** Returns the leaf of an answer, or the reason why it differs from the leaf that the answer names. */
async function leafOf(
  { options, chain: chainOf }: Connection,
  answer: Answer,
  { leaf, by }: LogClaim,
): Promise<[leaf: Uint8Array, problem?: undefined] | [leaf: undefined, problem: string]> {
  const chain = await chainOf(answer.chainId)
  const { attestation, delegatedAttestation: delegation } = answer
  const contract: { domain?: Domain } | null = delegation.submission === 'proxy' ? chain.proxy : chain
  if (!contract?.domain) return [undefined, `The service has no contract of ${chain.slug} for this answer.`]
  const attester = options.attester ?? expectedAttester(chain, attestation.attester)
  let layout: EntryLayout
  try {
    ;({ layout } = await checkSigned(answer, contract.domain, attester))
  } catch (error) {
    if (error instanceof AlteredAnswerError) return [undefined, error.message]
    throw error
  }
  const time = by - INCLUSION_SECONDS
  if (!Number.isSafeInteger(time) || time < 0)
    return [undefined, 'The time by which the log includes it is not in Unix seconds.']
  const { schema, recipient, expirationTime, revocable, refUID, data } = attestation
  const signature = expandSignature(attestation.signature)
  const hex = { attester, schema, recipient, refUID, signature, data }
  const content = {
    ...(Object.fromEntries(
      Object.entries(hex).map(([name, value]) => [name, value.toLowerCase()]),
    ) as typeof hex),
    ...{ time, chainId: answer.chainId, layout, expirationTime, revocable, nonce: delegation.nonce ?? 0 },
    separator: domainSeparator({ domain: contract.domain as never }),
    deadline: layout === 'legacy' ? 0 : delegation.deadline,
  }
  for (const kind of Object.keys(ENTRY_KINDS) as EntryKind[]) {
    const hash = leafHash(encodeEntry({ kind, ...content }))
    if (toHex(hash) === leaf) return [fromHex('leaf', leaf)]
  }
  return [undefined, 'The leaf that the answer names is not that of its entry.']
}
