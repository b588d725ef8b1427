// SPDX-License-Identifier: MIT
import type { Context } from './context'
import { ATTESTED } from './eas'
import { same } from './says'
import {
  AttestationNotFoundError,
  ChainMismatchError,
  ConnectionError,
  GeoError,
  LandingError,
  LostTransactionError,
  SignerError,
  UncertainError,
  messageOf,
} from './errors'
import { RevertedError, type Call, type ChainReader, type Hex, type Receipt } from './reader'
import { readerOf, walletOf, type Provider, type Signer, type Wallet } from './signer'
import type { Chain } from './types'
import { pause, untilAborted } from './waiting'

/** Simulates transactions, sends them one after the other, and waits for their receipts. */

/** Interval between two requests for a receipt, in milliseconds. */
const POLL_MS = 500

/** Beginning of the error message for a signer that is on another chain. */
type What = 'The answer is' | 'The place is' | 'The revocation is' | 'The transaction is'

/** Connects to the chain of a signer. Throws a ChainMismatchError if it is another one than `which`. */
export async function connected(
  context: Pick<Context, 'chain'>,
  which: number | string | undefined,
  signer: Signer,
  what: What,
  signal: AbortSignal | undefined,
): Promise<{ wallet: Wallet; reader: ChainReader; chain: Chain }> {
  const wallet = walletOf(signer)
  const chain = await context.chain(which, { signal })
  return { wallet, reader: await untilAborted(readerOfSigner(wallet, chain, what), signal), chain }
}

/** Returns the reader of a signer. Throws a ChainMismatchError if it is on another chain. */
export async function readerOfSigner(wallet: Wallet, chain: Chain, what: What): Promise<ChainReader> {
  const reader = wallet.reader()
  await sameChain(reader, chain, what)
  return connecting(reader, chain.slug)
}

async function sameChain(reader: ChainReader, chain: Chain, what: What): Promise<void> {
  const id = await chainIdOf(reader, 'The RPC endpoint of the signer')
  const other = what === 'The answer is' ? `request an answer for chain ${id}` : `name chain ${id} instead`
  if (id !== chain.id)
    throw new ChainMismatchError(
      `${what} for ${chain.slug} (chain ${chain.id}), but the signer is on chain ${id}. Switch it ` +
        `to ${chain.slug}, or ${other}. Nothing was sent.`,
    )
}

/**
 * Like `readerOfSigner`, for an RPC endpoint that is only read. Throws a SignerError if it is undefined, with
 * an example `call` that names one.
 */
export async function readerOfChain(
  provider: Provider | undefined,
  chain: Chain,
  call = '',
  hint = '',
): Promise<ChainReader> {
  if (provider === undefined)
    throw new SignerError(
      `The attestations of ${chain.slug} are read from the chain. Set its RPC endpoint, as in ${call} or ` +
        `createGeo({ providers: { ${chain.id}: 'https://...' } }).${hint}`,
    )
  const reader = readerOf(provider)
  const id = await chainIdOf(reader, 'The node')
  if (id !== chain.id)
    throw new ChainMismatchError(
      `The RPC endpoint is on chain ${id} instead of ${chain.slug} (chain ${chain.id}). Set an RPC ` +
        `endpoint of ${chain.slug}, or name chain ${id} instead.`,
    )
  return connecting(reader, chain.slug)
}

/** Wraps a reader, so that every failure except a revert is a ConnectionError that names the chain. */
function connecting(reader: ChainReader, slug: string): ChainReader {
  const failing = (error: unknown) => {
    throw error instanceof RevertedError ? error : unreachable(slug, error)
  }
  const methods = Object.entries(reader) as [string, (...given: unknown[]) => Promise<unknown>][]
  return Object.fromEntries(
    methods.map(([name, read]) => [name, (...given: unknown[]) => read(...given).catch(failing)]),
  ) as unknown as ChainReader
}

function chainIdOf(reader: ChainReader, who: string): Promise<number> {
  return reader.chainId().catch((error: unknown) => {
    throw new ConnectionError(
      `${who} does not respond (${messageOf(error)}). Check its URL, and that it is running.`,
      { cause: error },
    )
  })
}

export function noAttestation(uid: string, where: string): AttestationNotFoundError {
  const detail = `there is no attestation ${uid} on ${where}`
  return new AttestationNotFoundError({ status: 404, title: 'Attestation Not Found', detail })
}
function unreachable(slug: string, cause: unknown): ConnectionError {
  return new ConnectionError(`The RPC endpoint of ${slug} does not respond: ${messageOf(cause)}.`, { cause })
}

/** Last transaction of each signer, and last landing of each answer. They may be pending. */
const queues = new WeakMap<object, Promise<unknown>>()

/**
 * Runs the tasks of a signer one after the other, so that each transaction has its own nonce, or those of an
 * answer. The next task starts when `release` is called or the task ends.
 */
export async function inTurn<T>(
  owner: object,
  signal: AbortSignal | undefined,
  work: (release: () => void) => Promise<T>,
): Promise<T> {
  const before = queues.get(owner) ?? Promise.resolve()
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  queues.set(owner, Promise.all([before, released]))
  return untilAborted(before, signal)
    .then(() => work(release))
    .finally(release)
}

/** Transaction of a call that the contract rejected. */
export interface Sending {
  /** set if the transaction reverted in a block */
  transactionHash?: string
  /** true if the wallet failed, so that its transaction may be the reason for the rejection */
  mayBeSent?: boolean
}
export interface Refused extends Sending {
  refused: RevertedError
}

interface Transacting {
  /** sender; default: the current account of the wallet, which the user may switch meanwhile */
  from?: string
  signal?: AbortSignal
  /** Ends the turn of the signer. Called once the transaction is sent. */
  release?: () => void
  /** Called once it is sent, even if the wallet sends it after the signal was aborted. */
  onSent?: (transactionHash: string) => unknown
}

/**
 * Simulates a call, sends it, and waits until it is in a block. Throws a SignerError if the wallet does not
 * send it, an UncertainError if this is unknown, a LostTransactionError if it is never included in a block,
 * and a LandingError if it fails although its simulation succeeded.
 */
export async function transact(
  wallet: Wallet,
  chain: Chain,
  call: Call,
  { from: given, signal, release = () => {}, onSent = () => {} }: Transacting,
): Promise<{ receipt: Receipt } | Refused> {
  const reader = wallet.reader()
  const from = given ?? (await untilAborted(wallet.address(), signal))
  const refusal = async () => {
    try {
      await reader.call(call, from)
      return undefined
    } catch (error) {
      if (!(error instanceof RevertedError)) throw unreachable(chain.slug, error)
      // The user may have switched the wallet to another chain, whose contract is another one.
      await sameChain(reader, chain, 'The transaction is')
      return error
    }
  }
  const refused = await untilAborted(refusal(), signal)
  if (refused) return { refused }
  await untilAborted(sameChain(reader, chain, 'The transaction is'), signal)
  const sending = wallet.send(call, chain.id, from)
  let transactionHash
  try {
    transactionHash = await untilSent(sending, signal)
  } catch (error) {
    const hasLeft = signal?.aborted && error === signal.reason
    // The wallet may still send: the program must be able to find the transaction.
    if (hasLeft) sending.then(onSent).catch(() => {})
    // Another transaction may have changed the state between the simulation and the wallet's own estimate.
    const late = await untilAborted(refusal(), signal).catch(() => undefined)
    const mayBeSent = hasLeft || !isUnsent(error)
    if (late) return { refused: late, mayBeSent }
    if (mayBeSent)
      throw new UncertainError(
        `It is unknown if the wallet sent the transaction: ${messageOf(error)}. Check the account ` +
          `${from} on ${chain.slug} before you try again.`,
        { cause: error },
      )
    throw new SignerError(
      'The wallet did not send the transaction: ' +
        (isPoor(error)
          ? `insufficient funds. Send ${from} some of the native coin of ${chain.slug} for gas.`
          : `${messageOf(error)}.`),
      { cause: error },
    )
  }
  release()
  let failed: { error: unknown } | undefined
  void (async () => onSent(transactionHash))().catch((error: unknown) => (failed = { error }))
  const receipt = await receiptOf(reader, transactionHash, chain, signal)
  // An error of the program's callback must not hide the transaction, nor must a callback that never ends.
  if (failed && receipt.succeeded)
    throw new LandingError(
      `The transaction ${transactionHash} is in a block, but the callback for it failed: ${messageOf(failed.error)}.`,
      undefined,
      transactionHash,
      undefined,
      { cause: failed.error },
    )
  if (receipt.succeeded) return { receipt }
  const late = await untilAborted(refusal(), signal).catch((cause: unknown) => {
    if (!(cause instanceof GeoError)) throw cause
    const why = cause instanceof ConnectionError ? ` ${cause.message}` : ''
    const message = `The transaction ${transactionHash} failed, and its reason is unknown.${why}`
    throw new LandingError(message, undefined, transactionHash, undefined, { cause })
  })
  if (late) return { refused: late, transactionHash }
  throw new LandingError(
    `The transaction ${transactionHash} failed, although the contract accepts it: it may have ` +
      'run out of gas. Try again.',
    undefined,
    transactionHash,
  )
}

/** Milliseconds that an aborted call waits for the wallet, which without a user is about to send. */
const SENDING_MS = 5_000

/** Resolves with the hash of the transaction. Rejects with the signal's reason SENDING_MS after an abort. */
async function untilSent(sending: Promise<Hex>, signal: AbortSignal | undefined): Promise<Hex> {
  try {
    return await untilAborted(sending, signal)
  } catch (error) {
    if (!signal?.aborted || error !== signal.reason) throw error
    const end = new AbortController()
    const late = pause(SENDING_MS, end.signal).then(() => {
      throw error
    })
    return await Promise.race([sending, late]).finally(() => end.abort())
  }
}

const isPoor = (error: unknown) => /insufficient funds|exceeds the balance/i.test(messageOf(error))
/** True for errors of a wallet that sent nothing. After any other error the transaction may be pending. */
function isUnsent(error: unknown): boolean {
  if (error instanceof SignerError || isPoor(error)) return true
  const { code, argument, cause, name } = (error ?? {}) as Record<string, unknown>
  return (
    [4001, 4100, 4902, 'ACTION_REJECTED', 'NONCE_EXPIRED'].includes(code as string) ||
    // viem and ethers compare the chain of the wallet with that of the transaction. ethers has the same code
    // for malformed responses, some of which it reads while it sends.
    name === 'ChainMismatchError' ||
    (code === 'INVALID_ARGUMENT' && argument === 'tx.chainId') ||
    /rejected|denied|unknown account|revert/i.test(messageOf(error)) ||
    (cause !== undefined && isUnsent(cause))
  )
}

/** Explanations of EAS's errors for a place, a schema or a revocation. */
const MEANINGS: Readonly<Record<string, string>> = {
  InvalidSchema: 'the schema is not registered there',
  InvalidExpirationTime: "its expiration is not later than the chain's clock",
  Irrevocable: 'the schema does not allow revocable attestations',
  NotFound: 'there is no attestation with the UID that it refers to',
  InvalidAttestation: "the schema's resolver rejects it",
  InvalidAttestations: "the schema's resolver rejects them",
  NotPayable: "the schema's resolver accepts no payment",
  InsufficientValue: "the schema's resolver requires a payment, which this package does not send",
  InvalidRevocation: "the schema's resolver does not allow it",
  AccessDenied: 'only its attester may revoke it',
}
/** Ends an error message: states whether a transaction was sent. */
export function sentOf({ transactionHash, mayBeSent }: Sending): string {
  if (transactionHash) return `Its transaction is ${transactionHash}.`
  return mayBeSent ? 'It is unknown if the wallet sent its transaction.' : 'Nothing was sent.'
}

export async function refusal(refusal: Refused, what: string): Promise<LandingError> {
  const { refused, transactionHash } = refusal
  const { name, text } = (await import('./refused')).refusedWith(refused)
  const meaning = name && MEANINGS[name]
  return new LandingError(
    `${what}: the contract rejects it with ${text}${meaning ? ` (${meaning})` : ''}. ` + sentOf(refusal),
    name,
    transactionHash,
    refused.data,
  )
}

/** Result of a search for the reason of an error. If the search fails, throws the error with this cause. */
export function reasonFor<T>(
  error: LandingError,
  search: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return untilAborted(search, signal).catch((cause: unknown) => {
    signal?.throwIfAborted()
    error.cause = cause
    throw error
  })
}

/** Maximum lag, in milliseconds, of an RPC node behind the one that reported a block. */
export const BEHIND_MS = 60_000

/** Reads a value that a transaction created, as `readLate` does. */
export function readAfter<T>(
  { transactionHash }: Pick<Receipt, 'transactionHash'>,
  read: () => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  const what = `The transaction ${transactionHash} succeeded, but its result`
  return readLate(what, read, { signal, transactionHash })
}

/**
 * Reads until a value is found: an RPC endpoint may have several nodes, and some may lack the newest block.
 * Throws a ConnectionError that begins with `what`.
 */
export async function readLate<T>(
  what: string,
  read: () => Promise<T | undefined>,
  {
    signal,
    transactionHash,
    interval = POLL_MS,
  }: { signal?: AbortSignal; transactionHash?: string; interval?: number },
): Promise<T> {
  const end = performance.now() + BEHIND_MS
  for (;;) {
    let failure = 'the node does not have it yet'
    try {
      const found = await untilAborted(read(), signal)
      if (found !== undefined) return found
    } catch (error) {
      failure = messageOf(error)
    }
    if (performance.now() > end)
      throw new ConnectionError(
        `${what} could not be read: ${failure}.${transactionHash ? ' Do not send it again.' : ''}`,
        { transactionHash },
      )
    await pause(interval, signal)
  }
}

/**
 * Maximum time in milliseconds for which a transaction may be unknown to an RPC endpoint: a private relay
 * shows it only once it is in a block.
 */
const UNKNOWN_MS = 300_000

/** Waits until a transaction is in a block. Throws a LostTransactionError if it was replaced or dropped. */
async function receiptOf(
  reader: ChainReader,
  transactionHash: Hex,
  { id, slug }: Chain,
  signal?: AbortSignal,
): Promise<Receipt> {
  /** the transaction as the RPC endpoint last returned it */
  let sent: { from: string; nonce: number } | undefined
  let known = performance.now()
  let pending = known
  const look = async () => {
    const receipt = await reader.receipt(transactionHash)
    if (receipt) return receipt
    const found = await reader.transaction(transactionHash)
    sent = found ?? sent
    // A wallet that was switched to another chain reports the transactions and nonces of that one.
    const isKnown = found !== undefined || (await reader.chainId()) !== id
    if (isKnown) known = performance.now()
    if (isKnown || !sent || (await reader.nonce(sent.from)) <= sent.nonce) pending = performance.now()
    return undefined
  }
  for (let failures = 0; ;) {
    try {
      const receipt = await untilAborted(look(), signal)
      if (receipt) return receipt
      failures = 0
    } catch (error) {
      // The transaction is pending, so a temporary failure of the RPC endpoint is tolerated.
      if (++failures > 20)
        throw new ConnectionError(
          `Could not read the state of the transaction ${transactionHash} from the RPC endpoint: ` +
            `${messageOf(error)}. It may still be included: do not send it again.`,
          { cause: error, transactionHash },
        )
    }
    if (failures === 0 && performance.now() - pending > BEHIND_MS)
      throw new LostTransactionError(
        `The transaction ${transactionHash} was replaced: another one of ${sent!.from} on ${slug} ` +
          `used its nonce ${sent!.nonce}. Check that one before you try again.`,
        'replaced',
        transactionHash,
      )
    if (failures === 0 && performance.now() - known > UNKNOWN_MS)
      throw new LostTransactionError(
        `The transaction ${transactionHash} was dropped: the RPC endpoint of ${slug} has not found ` +
          `it for ${UNKNOWN_MS / 60_000} minutes. It may still be included: check the sender's account ` +
          'before you try again.',
        'dropped',
        transactionHash,
      )
    await pause(POLL_MS, signal)
  }
}

/** Returns the UIDs that EAS recorded for this attester, in the order of the transaction's logs. */
export function attestedUids({ logs }: Receipt, chain: Chain, attester: string): string[] {
  return logs
    .filter(
      ({ address, topics: [topic, , by = ''] }) =>
        same(address, chain.eas) && topic === ATTESTED && same(`0x${by.slice(26)}`, attester),
    )
    .map(({ data }) => data)
}
