import {
  decodeClaims,
  expectedAttester,
  getAttestation,
  getProxiedAttester,
  type OnchainAttestation,
} from './eas'
import {
  AttestationNotFoundError,
  ConnectionError,
  GeoError,
  SignerError,
  messageOf,
  refuseUnknown,
} from './errors'
import type { Context } from './context'
import { sameChainRead } from './send'
import { same, sentenceOf, timeOf } from './says'
import { readerOf, type Provider } from './signer'
import type { Claims } from './types'
import { untilAborted } from './waiting'

export interface CheckOptions {
  /** the chain of the attestation: its id, or its slug; default: the client's */
  chain?: number | string
  /** the node to ask; default: that of createGeo({ providers }) */
  provider?: Provider
  /** seconds since the computation after which an answer is too old; unlimited by default */
  maxAge?: number
  /** schema UIDs that answers may have; default: those of the service */
  schemas?: readonly string[]
  signal?: AbortSignal
}

/** What an attestation is worth as an answer of the service. */
export interface Checked {
  /** whether all checks passed */
  valid: boolean
  /** why not, each as a sentence */
  problems: string[]
  /** what it says; undefined when it is no answer */
  says?: Claims
  /** the same as a sentence */
  sentence?: string
  /** who signed it: EAS's attester or, through the proxy, the one that the proxy names */
  attester: string
  attestation: OnchainAttestation
}

/** How far the clock of the service may be ahead of this one. */
const SKEW_SECONDS = 120

/**
 * See `Geo.check`. It believes the node, and the service only for its addresses: its attester (unless
 * `createGeo({ attester })` names it), proxy and schemas.
 */
export async function checkAnswer(
  { options, info, chain: chainOf }: Context,
  uid: string,
  given: CheckOptions = {},
): Promise<Checked> {
  refuseUnknown('check', given, {
    ...{ chain: true, provider: true, maxAge: true, schemas: true, signal: true },
  })
  const { chain: which, provider, maxAge = Infinity, schemas, signal } = given
  const chain = await chainOf(which)
  const node = provider ?? options.providers?.[chain.id]
  if (node === undefined)
    throw new SignerError(
      `check reads ${chain.slug} itself: give its node, as in check(uid, { provider: 'https://...' }) or createGeo({ providers: { ${chain.id}: 'https://...' } }).`,
    )
  if (!(maxAge >= 0)) throw new GeoError(`maxAge: expected seconds, at least 0, got ${maxAge}.`)
  const reader = readerOf(node)
  await untilAborted(sameChainRead(reader, chain), signal)
  if (!/^0x[0-9a-fA-F]{64}$/.test(uid))
    throw new GeoError(`'${uid}' is no UID: expected 0x and 64 hex digits.`)
  const asked = async <T>(work: Promise<T>) =>
    untilAborted(work, signal).catch((error: unknown) => {
      signal?.throwIfAborted()
      throw new ConnectionError(`The node of ${chain.slug} does not answer: ${messageOf(error)}.`, {
        cause: error,
      })
    })
  const attestation = await asked(getAttestation(reader, chain.eas, uid))
  if (!attestation)
    throw new AttestationNotFoundError({
      ...{ status: 404, title: 'Attestation Not Found' },
      detail: `there is no attestation ${uid} on ${chain.slug} (chain ${chain.id})`,
    })
  const proxied = chain.proxy !== null && same(attestation.attester, chain.proxy.address)
  const attester = proxied
    ? await asked(getProxiedAttester(reader, chain.proxy!.address, uid))
    : attestation.attester
  const expected = options.attester ?? expectedAttester(chain, attester)
  const { defaultSchemas } = await info()
  const accepted = schemas ?? Object.values(defaultSchemas)
  const decoded = decodeClaims(attestation.data)
  const now = Date.now() / 1000
  const { revocationTime, expirationTime } = attestation
  const problems = [
    !same(attester, expected) && `It was signed by ${attester}, not by ${expected}.`,
    !accepted.some((schema) => same(schema, attestation.schema)) &&
      `Its schema is ${attestation.schema}, which is not accepted.`,
    revocationTime !== 0n && `It was revoked at ${timeOf(Number(revocationTime))}.`,
    expirationTime !== 0n &&
      Number(expirationTime) <= now &&
      `It expired at ${timeOf(Number(expirationTime))}.`,
    !decoded && 'Its data is no payload of an answer.',
    decoded &&
      decoded.timestamp > now + SKEW_SECONDS &&
      `It says that it was computed at ${timeOf(decoded.timestamp)}, which is in the future.`,
    decoded &&
      decoded.timestamp < now - maxAge &&
      `It was computed at ${timeOf(decoded.timestamp)}, more than ${maxAge} s ago.`,
  ].filter((problem) => typeof problem === 'string')
  const common = { valid: problems.length === 0, problems, attester, attestation }
  if (!decoded) return common
  const { whole: _, ...says } = decoded
  return { ...common, says, sentence: sentenceOf(says) }
}
