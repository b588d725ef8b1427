// SPDX-License-Identifier: MIT
import {
  altered,
  checkSignedOn,
  decodeClaims,
  expectedAttester,
  getAttestation,
  getProxiedAttester,
  type OnchainAttestation,
  otherClaim,
  withAllFields,
} from './eas'
import { AlteredAnswerError, GeoError, messageOf, refuseUnknown } from './errors'
import type { Logged, OperatorLogged } from './log'
import { isContentOf } from './landed'
import { noAttestation, readerOfChain } from './send'
import { timeOf } from '../../../src/eas/times'
import { SKEW_SECONDS, same, sentenceOf } from './says'
import type { Hex } from './reader'
import type { Provider } from './signer'
import type { Connection } from './service'
import type { Answer, Chain, Claims, QuorumAnswer, Verification } from './types'
import { untilAborted } from './waiting'

export interface CheckOptions {
  /** chain of the attestation: its id or slug; default: the client's chain */
  chain?: number | string
  /** RPC endpoint to read from; default: that of createGeo({ providers }) */
  provider?: Provider
  /** maximum age of an answer in seconds since its computation; unlimited by default */
  maxAge?: number
  /** schema UIDs that answers may have; default: the service's schemas */
  schemas?: readonly string[]
  /**
   * the answer as the service or the quorum returned it: its transparency log, or that of each operator that
   * signed, must then include it
   */
  answer?: Answer | QuorumAnswer
  signal?: AbortSignal
}

/** Result of checking an attestation as an answer of the service. */
export interface Checked {
  /** true if all checks passed */
  valid: boolean
  /** one sentence for each failed check */
  problems: string[]
  /** claims of the answer; undefined if the attestation is not an answer */
  says?: Claims
  /** the claims as a sentence */
  sentence?: string
  /**
   * account that signed the answer: EAS's attester, which is the contract of a quorum; for the proxy, the
   * attester that the proxy names
   */
  attester: string
  attestation: OnchainAttestation
  /** state in the transparency log, for `options.answer` of a service with a log */
  log?: Logged
  /** state in the transparency log of each operator, for `options.answer` of a quorum */
  operators?: OperatorLogged[]
}

/**
 * Implements `Geo.check`. It trusts the RPC endpoint, but the service only for the addresses of its attester
 * and quorum (unless `createGeo({ attester })` names it), its proxy and its schemas.
 */
export async function checkAnswer(
  connection: Connection,
  uid: string,
  given: CheckOptions = {},
): Promise<Checked> {
  refuseUnknown('check', given, {
    ...{ chain: true, provider: true, maxAge: true, schemas: true, answer: true, signal: true },
  })
  const { options, info, chain: chainOf } = connection
  const { chain: which, provider, maxAge = Infinity, schemas, answer, signal } = given
  const chain = await chainOf(which, { signal })
  if (!(maxAge >= 0)) throw new GeoError(`maxAge: expected seconds, at least 0, got ${maxAge}.`)
  const node = provider ?? options.providers?.[chain.id]
  const call = "check(uid, { provider: 'https://...' })"
  const reader = await untilAborted(readerOfChain(node, chain, call), signal)
  if (!/^0x[0-9a-fA-F]{64}$/.test(uid))
    throw new GeoError(`'${uid}' is not a UID: expected 0x and 64 hex digits.`)
  const attestation = await untilAborted(getAttestation(reader, chain.eas, uid), signal)
  if (!attestation) throw noAttestation(uid, `${chain.slug} (chain ${chain.id})`)
  const proxied = chain.proxy !== null && same(attestation.attester, chain.proxy.address)
  const attester = proxied
    ? await untilAborted(getProxiedAttester(reader, chain.proxy!.address, uid), signal)
    : attestation.attester
  const own = expectedAttester(chain, attester)
  const isForeign = options.attester === undefined && !proxied && !same(attester, own)
  const { quorum, unknown } = isForeign ? await namedQuorum(connection, chain.id, signal) : {}
  const expected = options.attester ?? (same(quorum ?? '', attester) ? attester : own)
  const { defaultSchemas } = await info({ signal })
  const accepted = schemas ?? Object.values(defaultSchemas)
  const decoded = decodeClaims(attestation.data)
  const { log, operators, unproven } = await logsOf(connection, answer, signal)
  const now = Date.now() / 1000
  const { revocationTime, expirationTime } = attestation
  const problems = [
    !same(attester, expected) && `The attestation was signed by ${attester}, not by ${expected}.`,
    unknown !== undefined && `The quorum of the service is unknown: ${unknown}`,
    !accepted.some((schema) => same(schema, attestation.schema)) &&
      `The schema of the attestation is ${attestation.schema}, which is not accepted.`,
    revocationTime !== 0n && `The attestation was revoked at ${timeOf(revocationTime)}.`,
    expirationTime !== 0n &&
      Number(expirationTime) <= now &&
      `The attestation expired at ${timeOf(expirationTime)}.`,
    !decoded && 'The data of the attestation is not the payload of an answer.',
    decoded &&
      decoded.timestamp > now + SKEW_SECONDS &&
      `The time of the computation, ${timeOf(decoded.timestamp)}, is in the future.`,
    decoded &&
      decoded.timestamp < now - maxAge &&
      `The answer was computed at ${timeOf(decoded.timestamp)}, more than ${maxAge} s ago.`,
    ...answerProblems(answer, chain, attestation, attester, proxied),
    ...unproven,
  ].filter((problem) => typeof problem === 'string')
  const common = {
    valid: problems.length === 0,
    problems,
    attester,
    attestation,
    ...(log && { log }),
    ...(operators && { operators }),
  }
  if (!decoded) return common
  const { whole: _, ...says } = decoded
  return { ...common, says, sentence: sentenceOf(says) }
}

/** Compares an attestation with the answer that it should record. Returns a sentence for each difference. */
function answerProblems(
  answer: CheckOptions['answer'],
  { id, slug }: Chain,
  attestation: OnchainAttestation,
  attester: string,
  proxied: boolean,
): (string | false)[] {
  if (!answer) return []
  const ofQuorum = 'signers' in answer
  const { chainId } = answer
  const signed = withAllFields(ofQuorum ? answer.answer : answer.attestation)
  const says = decodeClaims(attestation.data)
  const other = !ofQuorum && says && otherClaim(answer, says, true)
  // Re-signing changes the expiration time only of signatures for the proxy.
  const expirationTime = proxied ? BigInt(signed.expirationTime) : attestation.expirationTime
  return [
    chainId !== undefined &&
      chainId !== id &&
      `The answer is for chain ${chainId}, not for ${slug} (chain ${id}).`,
    !isContentOf({ ...attestation, expirationTime }, signed) &&
      'The content of the attestation is not that of the answer.',
    other ? altered(other).message : false,
    ofQuorum &&
      !same(answer.quorum, attester) &&
      `The answer is for the quorum ${answer.quorum}, not for ${attester}.`,
  ]
}

/**
 * Implements `Geo.verify`. The service reports whether it signed an answer. With createGeo({ attester }), it
 * is not trusted for that: the signature is also checked here, and the claims are decoded here.
 */
export async function verifyAnswer(
  { options, chain: chainOf, verify }: Connection,
  answer: Answer,
  given: { signal?: AbortSignal } = {},
): Promise<Verification> {
  const seen = await verify(answer, given)
  if (options.attester === undefined || !seen.ours) return seen
  try {
    const chain = await chainOf(answer.chainId, given)
    const { attester } = await checkSignedOn(chain, answer, options.attester)
    const { whole: _, ...says } = decodeClaims(answer.attestation.data as Hex)!
    return { ...seen, attester, says }
  } catch (error) {
    if (!(error instanceof AlteredAnswerError)) throw error
    return { ...seen, ours: false, submittable: false, reasons: [error.message], says: null }
  }
}

/** Returns the contract of the quorum that the service names for a chain, or the reason why it is unknown. */
async function namedQuorum(
  connection: Connection,
  chainId: number,
  signal: AbortSignal | undefined,
): Promise<{ quorum?: string | undefined; unknown?: string }> {
  const { quorumOfService } = await import('./quorum/operators')
  try {
    return { quorum: (await quorumOfService(connection, chainId, signal))?.quorum }
  } catch (error) {
    signal?.throwIfAborted()
    return { unknown: messageOf(error) }
  }
}

/** Returns the state of an answer in the transparency logs, and a sentence for each fault of a log. */
async function logsOf(
  connection: Connection,
  answer: CheckOptions['answer'],
  signal: AbortSignal | undefined,
): Promise<Pick<Checked, 'log' | 'operators'> & { unproven: string[] }> {
  if (!answer) return { unproven: [] }
  const { loggedAnswer, loggedByOperators, logProblems } = await import('./log')
  const given = signal ? { signal } : {}
  if ('signers' in answer) {
    try {
      const operators = await loggedByOperators(connection, answer, given)
      return { operators, unproven: logProblems(operators) }
    } catch (error) {
      if (error instanceof AlteredAnswerError) return { unproven: [error.message] }
      throw error
    }
  }
  const log = await loggedAnswer(connection, answer, given)
  const problem = `The transparency log does not prove that it includes the answer: ${log?.reason}`
  return { ...(log && { log }), unproven: log?.state === 'missing' ? [problem] : [] }
}
