// SPDX-License-Identifier: MIT
import type { Context, Landed } from './context'
import { decodeClaims, getAttestation, getNonce, getProxiedAttester, type OnchainAttestation } from './eas'
import { LandingError, UncertainError } from './errors'
import { same } from './says'
import { attestedUids, readAfter, sentOf, type Sending } from './send'
import type { ChainReader, Receipt } from './reader'
import type { Submission } from './submission'
import type { Answer, Chain, QuorumContent } from './types'
import { pause } from './waiting'

/** Finds the attestations of answers, in a transaction or from an earlier landing. */

export interface Search {
  context: Context
  reader: ChainReader
  submission: Submission
  signal: AbortSignal | undefined
}

/** Signed or attested fields of an attestation. */
type Content = Pick<QuorumContent, 'schema' | 'recipient' | 'refUID' | 'data' | 'revocable'> & {
  expirationTime: number | bigint
}

/**
 * Returns the attestations with these contents that `attester` made in a transaction. A smart account may
 * make other attestations in the same transaction, also before these: a bundler joins operations that were
 * sent at the same time. Throws a LandingError if one is missing: the transaction of a smart account also
 * succeeds if its call fails.
 */
export async function attestationsIn(
  receipt: Receipt,
  reader: ChainReader,
  chain: Chain,
  attester: string,
  contents: readonly Content[],
  signal: AbortSignal | undefined,
): Promise<OnchainAttestation[]> {
  const made = await Promise.all(
    attestedUids(receipt, chain, attester).map((uid) =>
      readAfter(receipt, () => getAttestation(reader, chain.eas, uid), signal),
    ),
  )
  return contents.map((content) => {
    const i = made.findIndex((each) => isContentOf(each, content))
    const [found] = i < 0 ? [] : made.splice(i, 1)
    if (found) return found
    const { transactionHash } = receipt
    throw new LandingError(
      `The transaction ${transactionHash} succeeded, but ${attester} did not attest the content in it: the ` +
        'call of a smart account may have failed, or the contract is another one. Check the transaction.',
      undefined,
      transactionHash,
    )
  })
}

/** Returns the attestations that a transaction created, in the order of its answers. */
export async function landedIn({ reader, submission, signal }: Search, receipt: Receipt): Promise<Landed[]> {
  const { answers, chain, recorded } = submission
  const { transactionHash, blockNumber } = receipt
  const contents = answers.map(({ attestation }) => attestation)
  const found = await attestationsIn(receipt, reader, chain, recorded, contents, signal)
  return found.map((attestation) => landedAs(attestation, chain, transactionHash, blockNumber))
}

/** Number of requests, and their interval, before "not landed" counts: the service's RPC endpoint may lag. */
const ASKED = 3
const ASKED_MS = 1_000

/**
 * Returns the attestations of the answers that landed earlier. Throws an UncertainError if this is unknown:
 * an answer that is re-signed while its first transaction is pending would land twice.
 */
export async function landedBefore(search: Search, sent: Sending): Promise<Landed[]> {
  const { reader, submission } = search
  const { answers, chain, direct, attester } = submission
  const next = direct ? await getNonce(reader, chain.eas, attester) : undefined
  const found: Landed[] = []
  for (const answer of answers) {
    const landed = await landedEarlier(search, answer, next, sent)
    if (landed) found.push(landed)
  }
  return found
}

/**
 * Returns the earlier attestations of direct answers that are about to be sent.
 *
 * Landing an answer of a batch by itself re-signs it with a lower nonce. EAS then also accepts its first
 * signature once that nonce is reached, so the answer could land twice. If the service does not know, the
 * answer is sent: an answer that was not part of a batch cannot land twice. Throws an UncertainError if the
 * service lags behind the RPC endpoint.
 */
export async function landedOutOfTurn(search: Search): Promise<Landed[]> {
  const { reader, submission } = search
  const { answers, chain, direct, isFirst, attester } = submission
  // A batch begins with the nonce that was the next one when it was signed for the first time. While that is
  // unused, none of its answers has landed.
  if (!direct || isFirst) return []
  const next = await getNonce(reader, chain.eas, attester).catch(() => undefined)
  // With another nonce the contract rejects the signature. If the contract does not exist, the simulated call
  // reports it.
  if (next === undefined || next !== answers[0]!.delegatedAttestation.nonce) return []
  const found = await Promise.all(answers.map((answer) => landedAtLowerNonce(search, answer, next)))
  return found.filter((each) => each !== undefined)
}

/** Returns the attestation of an answer that was re-signed with a lower nonce, and landed. */
async function landedAtLowerNonce(
  search: Search,
  answer: Answer,
  /** the contract's nonce */
  next: number,
): Promise<Landed | undefined> {
  const { signal } = search
  for (let asked = 1; ; asked++) {
    const seen = await askLanded(search, answer).catch(() => undefined)
    signal?.throwIfAborted()
    if (seen?.found) return seen.found
    // The wallet's RPC endpoint may lag: it does not have the attestation that the service has found.
    const isMissing = seen?.status === 'landed'
    if (!isMissing && (seen?.status !== 'not landed' || seen.nonce! >= next)) return undefined
    if (asked >= ASKED) throw uncertain()
    await pause(ASKED_MS, signal)
  }
}

const uncertain = (sent: Sending = {}) =>
  new UncertainError(
    'The service cannot determine at the moment if the answer has landed before. Land the same ' +
      `answer again later. ${sentOf(sent)}`,
  )

async function landedEarlier(
  search: Search,
  answer: Answer,
  /** the contract's nonce; undefined for the proxy */
  next: number | undefined,
  sent: Sending,
): Promise<Landed | undefined> {
  for (let asked = 1; ; asked++) {
    const { found, status, nonce } = await askLanded(search, answer)
    if (found) return found
    // The service's RPC endpoint has returned this nonce, so its search covers the blocks of all earlier
    // answers with this key.
    const isOfOneKey = next !== undefined && !search.submission.chain.otherAttesters?.length
    const seen = isOfOneKey ? nonce !== undefined && nonce >= next : asked >= ASKED
    if (status === 'not landed' && seen) return undefined
    if (asked >= ASKED) throw uncertain(sent)
    await pause(ASKED_MS, search.signal)
  }
}

/** Asks the service about an answer, and checks the attestation that it finds against the chain. */
async function askLanded(
  { context: { verify, options }, reader, submission, signal }: Search,
  answer: Answer,
): Promise<{ found?: Landed; status?: string; nonce?: number }> {
  const { chain, direct, attester, recorded } = submission
  // Users may have added fields that the service does not know.
  const { attestation, delegatedAttestation } = answer
  const signed = { chainId: chain.id, attestation, delegatedAttestation } as Answer
  const { landed, nonce } = await verify(signed, { signal })
  if (landed?.status === 'landed') {
    const { uid, transactionHash, blockNumber } = landed
    const made = await getAttestation(reader, chain.eas, uid!)
    // While keys are replaced, an instance with another key may have re-signed the answer.
    const others = options.attester ? [] : [chain.attester, ...(chain.otherAttesters ?? [])]
    const isOne = (account: string) => [attester, ...others].some((each) => same(each, account))
    const isOurs =
      made !== undefined &&
      isContentOf(made, answer.attestation) &&
      (direct
        ? isOne(made.attester)
        : same(made.attester, recorded) && isOne(await getProxiedAttester(reader, recorded, uid!)))
    if (isOurs)
      return {
        found: { ...landedAs(made, chain, transactionHash!, blockNumber!), already: true },
      }
  }
  return { status: landed?.status, nonce: nonce?.current }
}

/** True if an attestation has every field of a content. */
export function isContentOf(attestation: OnchainAttestation, signed: Content): boolean {
  return (
    same(attestation.schema, signed.schema) &&
    same(attestation.recipient, signed.recipient) &&
    same(attestation.refUID, signed.refUID) &&
    same(attestation.data, signed.data) &&
    attestation.revocable === signed.revocable &&
    attestation.expirationTime === BigInt(signed.expirationTime)
  )
}

export function landedAs(
  attestation: OnchainAttestation,
  chain: Chain,
  transactionHash: string,
  blockNumber: number,
): Landed {
  const { whole: _, ...says } = decodeClaims(attestation.data)!
  return {
    ...{ uid: attestation.uid, chainId: chain.id, transactionHash, blockNumber, already: false },
    ...{ says, attestation },
  }
}
