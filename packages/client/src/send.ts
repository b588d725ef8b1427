import { ATTESTED } from './eas'
import { same } from './says'
import {
  ChainMismatchError,
  ConnectionError,
  LandingError,
  LostTransactionError,
  SignerError,
  messageOf,
} from './errors'
import { RevertedError, type Call, type ChainReader, type Hex, type Receipt, type Wallet } from './signer'
import type { Chain } from './types'
import { pause } from './waiting'

/** How transactions are tried, sent one after the other, and waited for. */

/** How long a block may take, between looks. */
const POLL_MS = 500

/** Throws a ChainMismatchError when a signer is on another chain. `what` begins it, as "The answer is". */
export async function sameChain(
  reader: ChainReader,
  chain: Chain,
  what: 'The answer is' | 'The place is' | 'The revocation is' | 'The transaction is' = 'The answer is',
): Promise<void> {
  const id = await chainIdOf(reader, 'The node of the signer')
  const other = what === 'The answer is' ? `ask for an answer for chain ${id}` : `name chain ${id} instead`
  if (id !== chain.id)
    throw new ChainMismatchError(
      `${what} for ${chain.slug} (chain ${chain.id}), and the signer is on chain ${id}: switch it to ${chain.slug}, or ${other}. Nothing was sent.`,
    )
}

/** The same for a node that is only read. */
export async function sameChainRead(reader: ChainReader, chain: Chain): Promise<void> {
  const id = await chainIdOf(reader, 'The node')
  if (id !== chain.id)
    throw new ChainMismatchError(
      `${chain.slug} (chain ${chain.id}) is to be read, and the node is of chain ${id}: give a node of ${chain.slug}, or name chain ${id} instead.`,
    )
}

function chainIdOf(reader: ChainReader, who: string): Promise<number> {
  return reader.chainId().catch((error: unknown) => {
    throw new ConnectionError(
      `${who} does not answer (${messageOf(error)}): is its URL right, and is it running?`,
      { cause: error },
    )
  })
}

/** By signer: its last transaction. */
const queues = new WeakMap<object, Promise<unknown>>()

/**
 * Runs the work of a signer one after the other, so that its transactions have nonces of their own. The next
 * one begins when `release` is called, or the work ends.
 */
export async function inTurn<T>(signer: object, work: (release: () => void) => Promise<T>): Promise<T> {
  const before = queues.get(signer)
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  queues.set(signer, Promise.all([before, released]))
  await before
  return work(release).finally(release)
}

/** A call that the contract refused; with a transaction when it was refused in a block. */
export interface Refused {
  refused: RevertedError
  transactionHash?: string
}

/**
 * Tries a call, sends it, and waits until it is in a block. Throws a SignerError when the wallet does not
 * send it, a LostTransactionError when it never comes into a block, and a LandingError when it fails although
 * the contract takes it.
 */
export async function transact(
  wallet: Wallet,
  chain: Chain,
  call: Call,
  { signal, onSent = () => {} }: { signal?: AbortSignal; onSent?: (transactionHash: string) => void },
): Promise<{ receipt: Receipt } | Refused> {
  const reader = wallet.reader()
  const from = await wallet.address()
  const refusal = async () => {
    try {
      await reader.call(call, from)
      return undefined
    } catch (error) {
      if (error instanceof RevertedError) return error
      throw new ConnectionError(`The node of ${chain.slug} does not answer: ${messageOf(error)}.`, {
        cause: error,
      })
    }
  }
  const refused = await refusal()
  if (refused) return { refused }
  signal?.throwIfAborted()
  // A wallet may have been switched since it was compared.
  await sameChain(reader, chain, 'The transaction is')
  let transactionHash
  try {
    transactionHash = await wallet.send(call, chain.id)
  } catch (error) {
    // Between the trial and the wallet's own estimate something else may have come first.
    const late = await refusal()
    if (late) return { refused: late }
    throw new SignerError(
      isPoor(error)
        ? `The wallet did not send the transaction: insufficient funds. Give ${from} some of the coin of ${chain.slug}, for gas.`
        : isUnsent(error)
          ? `The wallet did not send the transaction: ${messageOf(error)}.`
          : `The wallet does not say whether it sent the transaction: ${messageOf(error)}. Look for it in the account ${from} on ${chain.slug} before you try again.`,
      { cause: error },
    )
  }
  onSent(transactionHash)
  const receipt = await receiptOf(reader, transactionHash, chain, signal)
  if (receipt.succeeded) return { receipt }
  const late = await refusal()
  if (late) return { refused: late, transactionHash }
  throw new LandingError(
    `The transaction ${transactionHash} failed, although the contract takes it: it may have run out of gas. Try again.`,
    undefined,
    transactionHash,
  )
}

const isPoor = (error: unknown) => /insufficient funds|exceeds the balance/i.test(messageOf(error))
/**
 * Refusals of a wallet before anything leaves it; after any other error the transaction may be on its way.
 */
function isUnsent(error: unknown): boolean {
  if (error instanceof SignerError) return true
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return (
    [4001, 4100, 4902, 'ACTION_REJECTED', 'NONCE_EXPIRED'].includes(code as string) ||
    /rejected|denied|unknown account/i.test(messageOf(error)) ||
    (cause !== undefined && isUnsent(cause))
  )
}

/** What a refusal of EAS means for a place, a schema or a revocation. */
const MEANINGS: Readonly<Record<string, string>> = {
  InvalidSchema: 'the schema is not registered there',
  InvalidExpirationTime: "its expiration is not later than the chain's clock",
  Irrevocable: 'the schema allows none that can be revoked',
  NotFound: 'there is no attestation with the UID that it refers to',
  InvalidAttestation: "the schema's resolver does not take it",
  InvalidAttestations: "the schema's resolver does not take them",
  NotPayable: "the schema's resolver takes no payment",
  InsufficientValue: "the schema's resolver wants a payment, which this package does not send",
  InvalidRevocation: "the schema's resolver does not allow it",
  AccessDenied: 'only its attester may do it',
}
/** Whether a transaction was sent, for the end of a message. */
export function sentOf({ transactionHash }: Pick<Refused, 'transactionHash'>): string {
  return transactionHash ? `Its transaction is ${transactionHash}.` : 'Nothing was sent.'
}

/** The error for a call that a contract refused. */
export async function refusal({ refused, transactionHash }: Refused, what: string): Promise<LandingError> {
  const { name, text } = (await import('./refused')).refusedWith(refused)
  const meaning = name && MEANINGS[name]
  return new LandingError(
    `${what}: the contract refuses it with ${text}${meaning ? ` (${meaning})` : ''}. ${sentOf({ transactionHash })}`,
    name,
    transactionHash,
    refused.data,
  )
}

/** How long a node may be behind the one that told of a block. */
const BEHIND_MS = 60_000

/**
 * Reads until there is something to read: behind one address there may be several nodes, and not all of them
 * have the block of the transaction yet. Throws a ConnectionError that names the transaction.
 */
export async function readAfter<T>(
  { transactionHash }: Pick<Receipt, 'transactionHash'>,
  read: () => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  const end = performance.now() + BEHIND_MS
  for (;;) {
    let failure = 'the node does not have it yet'
    try {
      const found = await read()
      if (found !== undefined) return found
    } catch (error) {
      failure = messageOf(error)
    }
    if (performance.now() > end)
      throw new ConnectionError(
        `The transaction ${transactionHash} succeeded, but what it made cannot be read: ${failure}. Do not send it again.`,
      )
    await pause(POLL_MS, signal)
  }
}

/** How long a transaction may be unknown to a node: a private relay shows it only once it is in a block. */
const UNKNOWN_MS = 300_000

/** Waits until a transaction is in a block. Throws a LostTransactionError for one that never will be. */
async function receiptOf(
  reader: ChainReader,
  transactionHash: Hex,
  { slug }: Chain,
  signal?: AbortSignal,
): Promise<Receipt> {
  /** as the node showed it last */
  let sent: { from: string; nonce: number } | undefined
  let known = performance.now()
  let pending = known
  for (let failures = 0; ;) {
    try {
      const receipt = await reader.receipt(transactionHash)
      if (receipt) return receipt
      const found = await reader.transaction(transactionHash)
      sent = found ?? sent
      if (found) known = performance.now()
      if (found || !sent || (await reader.nonce(sent.from)) <= sent.nonce) pending = performance.now()
      failures = 0
    } catch (error) {
      // The transaction is under way: a node that is away for a moment is waited for.
      if (++failures > 20)
        throw new ConnectionError(
          `The node does not say what became of the transaction ${transactionHash}: ${messageOf(error)}.`,
          { cause: error },
        )
    }
    if (failures === 0 && performance.now() - pending > BEHIND_MS)
      throw new LostTransactionError(
        `The transaction ${transactionHash} was replaced: another one of ${sent!.from} on ${slug} took its nonce ${sent!.nonce}. Look what that one did before you try again.`,
        'replaced',
        transactionHash,
      )
    if (failures === 0 && performance.now() - known > UNKNOWN_MS)
      throw new LostTransactionError(
        `The transaction ${transactionHash} was dropped: the node of ${slug} has not known it for ${UNKNOWN_MS / 60_000} minutes. It may still come: look for it in the sender's account before you try again.`,
        'dropped',
        transactionHash,
      )
    await pause(POLL_MS, signal)
  }
}

/** The UIDs of what EAS recorded for this attester, in the order of a transaction. */
export function attestedUids({ logs }: Receipt, chain: Chain, attester: string): string[] {
  return logs
    .filter(
      ({ address, topics: [topic, , by = ''] }) =>
        same(address, chain.eas) && topic === ATTESTED && same(`0x${by.slice(26)}`, attester),
    )
    .map(({ data }) => data)
}
