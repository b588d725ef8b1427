import type { Context, Landed } from './context'
import { decodeClaims, getAttestation, getNonce, getProxiedAttester, type OnchainAttestation } from './eas'
import { LandingError } from './errors'
import { same } from './says'
import { attestedUids, readAfter } from './send'
import type { ChainReader, Receipt } from './signer'
import type { Submission } from './submission'
import type { Answer, Chain } from './types'
import { pause } from './waiting'

/** The attestations of answers: those of a transaction, and those that landed before. */

/** The attestations that a transaction made, in the order of its answers. */
export async function landedIn(
  reader: ChainReader,
  submission: Submission,
  receipt: Receipt,
  signal: AbortSignal | undefined,
): Promise<Landed[]> {
  const { answers, chain, recorded } = submission
  const { transactionHash, blockNumber } = receipt
  // A wallet that is a contract may send the answers of others in the same transaction.
  const made = await Promise.all(
    attestedUids(receipt, chain, recorded).map((uid) =>
      readAfter(receipt, () => getAttestation(reader, chain.eas, uid), signal),
    ),
  )
  return answers.map((answer) => {
    const i = made.findIndex((attestation) => holds(attestation, answer, recorded))
    if (i < 0)
      throw new LandingError(
        `The transaction ${transactionHash} succeeded, but the attestation of the answer is not in it.`,
        undefined,
        transactionHash,
      )
    return landedAs(made.splice(i, 1)[0]!, chain, transactionHash, blockNumber)
  })
}

/** How often, and how far apart, the service is asked before "not landed" is believed: its node may lag. */
const ASKED = 3
const ASKED_MS = 1_000

/**
 * The attestations of those answers that landed earlier. Throws a LandingError when that is not certain:
 * an answer that was signed anew while the first one is on its way would land twice.
 */
export async function landedBefore(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  signal: AbortSignal | undefined,
): Promise<Landed[]> {
  const { answers, chain, direct, attester } = submission
  const next = direct ? await getNonce(reader, chain.eas, attester) : undefined
  // Each took a nonce since the first one's, also where it was signed anew before its turn.
  const most = next === undefined ? Infinity : next - answers[0]!.delegatedAttestation.nonce!
  const found: Landed[] = []
  for (const answer of answers) {
    if (found.length >= most) break
    const landed = await landedEarlier(context, reader, submission, answer, next, signal)
    if (landed) found.push(landed)
  }
  return found
}

/**
 * The attestation of a direct answer whose turn has come now, and which landed before it. An answer of a
 * batch that is landed by itself is signed anew at a lower nonce; EAS takes its first signature, too, once
 * that nonce is the next one. Where the service cannot tell, the answer is not held back: of one that was
 * asked by itself the contract takes no second. Throws a LandingError where the service is behind the node.
 */
export async function landedOutOfTurn(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  signal: AbortSignal | undefined,
): Promise<Landed | undefined> {
  const { answers, chain, direct, attester } = submission
  const [answer, ...others] = answers
  // The nonces of a whole batch have not been used, or it is refused.
  if (!direct || others.length > 0) return undefined
  const next = await getNonce(reader, chain.eas, attester).catch(() => undefined)
  // At another nonce the contract refuses it; where there is no such contract, the trial says so.
  if (next === undefined || next !== answer!.delegatedAttestation.nonce) return undefined
  for (let asked = 1; ; asked++) {
    const said = await askLanded(context, reader, submission, answer!, signal).catch(() => undefined)
    signal?.throwIfAborted()
    if (said?.found) return said.found
    if (said?.status !== 'not landed' || said.nonce! >= next) return undefined
    if (asked >= ASKED) throw uncertain()
    await pause(ASKED_MS, signal)
  }
}

const uncertain = () =>
  new LandingError(
    'It is not certain whether the answer has landed before: the service cannot tell now. Land the same answer again later. Nothing was sent.',
  )

async function landedEarlier(
  context: Context,
  reader: ChainReader,
  submission: Submission,
  answer: Answer,
  /** the contract's nonce, of a direct one */
  next: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Landed | undefined> {
  for (let asked = 1; ; asked++) {
    const { found, status, nonce } = await askLanded(context, reader, submission, answer, signal)
    if (found) return found
    // The service's node has seen this nonce, so its search reaches the block of every answer before it.
    const seen = next === undefined ? asked >= ASKED : nonce !== undefined && nonce >= next
    if (status === 'not landed' && seen) return undefined
    if (asked >= ASKED) throw uncertain()
    await pause(ASKED_MS, signal)
  }
}

/** What the service says of an answer; what it finds is compared with the chain. */
async function askLanded(
  { verify }: Context,
  reader: ChainReader,
  { chain, direct, attester, recorded }: Submission,
  answer: Answer,
  signal: AbortSignal | undefined,
): Promise<{ found?: Landed; status?: string; nonce?: number }> {
  // Other fields may be the caller's own, which the service does not know.
  const { attestation, delegatedAttestation } = answer
  const signed = { chainId: chain.id, attestation, delegatedAttestation } as Answer
  const { landed, nonce } = await verify(signed, { signal })
  if (landed?.status === 'landed') {
    const { uid, transactionHash, blockNumber } = landed
    const made = await getAttestation(reader, chain.eas, uid!)
    const isOurs =
      made !== undefined &&
      holds(made, answer, recorded) &&
      (direct || same(await getProxiedAttester(reader, recorded, uid!), attester))
    if (isOurs)
      return {
        found: { ...landedAs(made, chain, transactionHash!, blockNumber!), already: true },
      }
  }
  return { status: landed?.status, nonce: nonce?.current }
}

/** Whether an attestation is that of the answer: everything that was signed, and whom EAS records. */
function holds(attestation: OnchainAttestation, { attestation: signed }: Answer, recorded: string): boolean {
  return (
    same(attestation.attester, recorded) &&
    same(attestation.schema, signed.schema) &&
    same(attestation.recipient, signed.recipient) &&
    same(attestation.refUID, signed.refUID) &&
    same(attestation.data, signed.data) &&
    attestation.revocable === signed.revocable &&
    attestation.expirationTime === BigInt(signed.expirationTime)
  )
}

function landedAs(
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
