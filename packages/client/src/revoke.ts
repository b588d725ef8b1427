// SPDX-License-Identifier: MIT
import { OffchainError, offchainUid, readDocument, type Document } from '../../../src/eas/portable'
import type { Attested } from './attest'
import {
  REVOKED,
  REVOKED_OFFCHAIN,
  getAttestation,
  getRevokeOffchain,
  keccakDigits,
  revokeCall,
  revokeOffchainCall,
} from './eas'
import { same } from './says'
import {
  GeoError,
  LandingError,
  LostTransactionError,
  SignerError,
  invalidInput,
  messageOf,
  refuseUnknown,
} from './errors'
import type { Context } from './context'
import { offchainInput, type OffchainSource } from './offchain'
import { connected, inTurn, noAttestation, readAfter, readLate, reasonFor, refusal, transact } from './send'
import type { Call, Receipt } from './reader'
import type { Signer, Wallet } from './signer'
import type { Chain, OffchainAttestation } from './types'
import { untilAborted } from './waiting'

export interface RevokeOptions {
  /** chain of the attestation: its id or slug; default: the client's chain */
  chain?: number | string
  signal?: AbortSignal
  /** Called when the transaction is sent. */
  onStep?: (step: { step: 'sent'; transactionHash: string }) => void
}
const OPTIONS = { chain: true, signal: true, onStep: true } as const
/** A revoked attestation. */
export interface Revoked {
  uid: string
  chainId: number
  /** Unix seconds */
  revocationTime: number
  /** true if no transaction of this call is known to have revoked it: it had been revoked before */
  already: boolean
  /** transaction of the revocation; undefined if `already` */
  transactionHash?: string
  blockNumber?: number
}

/** Implements `Geo.revoke`. */
export async function revokeOnchain(
  context: Context,
  given: string | Attested,
  signer: Signer,
  options: RevokeOptions = {},
): Promise<Revoked> {
  refuseUnknown('revoke', options, OPTIONS)
  const { uid, chainId } = typeof given === 'string' ? { uid: given } : asAttested(given)
  const { wallet, chain, reader } = await ready(
    context,
    uid,
    signer,
    options.chain ?? chainId,
    options.signal,
  )
  const { signal } = options
  const attestation = await untilAborted(getAttestation(reader, chain.eas, uid), signal)
  if (!attestation) throw noAttestation(uid, `${chain.slug} (chain ${chain.id})`)
  const common = { uid, chainId: chain.id }
  if (attestation.revocationTime !== 0n)
    return { ...common, revocationTime: Number(attestation.revocationTime), already: true }
  const from = await untilAborted(wallet.address(), signal)
  requireSame(from, attestation.attester, 'The attester')
  if (!attestation.revocable)
    throw new LandingError(`The attestation ${uid} is not revocable. Nothing was sent.`, 'Irrevocable')
  const call = { to: chain.eas, data: revokeCall(attestation.schema, uid) }
  const revokedAt = async () => Number((await getAttestation(reader, chain.eas, uid))?.revocationTime)
  return {
    ...common,
    ...(await sendRevocation({ uid, signer, wallet, chain, call, from, revokedAt }, options)),
  }
}

/** Reads a result of `attest`. Throws a GeoError for an offchain attestation, and for any other value. */
function asAttested(given: Attested): { uid: string; chainId?: number } {
  const { uid, chainId, attestation } = given ?? {}
  if (attestation && 'sig' in attestation)
    throw new GeoError(
      `The attestation ${uid} is an offchain attestation. Revoke it with revokeOffchain. Nothing was sent.`,
    )
  if (typeof uid === 'string') return { uid, chainId }
  throw new GeoError('Expected a UID or the result of attest. Nothing was sent.')
}

/** Implements `Geo.revokeOffchain`. */
export async function revokeSigned(
  context: Context,
  given: OffchainSource | { attestation: OffchainAttestation },
  signer: Signer,
  options: RevokeOptions = {},
): Promise<Revoked> {
  refuseUnknown('revokeOffchain', options, OPTIONS)
  const { chain: which } = options
  const isUid = typeof given === 'string' && /^0x/.test(given)
  const source = typeof given === 'object' && 'attestation' in given ? given.attestation : given
  const attestation = isUid ? undefined : (await offchainInput(source as OffchainSource)).attestation
  const document = attestation && documentOf(attestation)
  const uid = document ? document.uid : (given as string)
  const chainId = document && Number(document.domain.chainId)
  const { wallet, chain, reader } = await ready(context, uid, signer, which ?? chainId, options.signal)
  if (chainId !== undefined && chain.id !== chainId)
    throw new GeoError(
      `The attestation ${uid} was made for chain ${chainId}, not for ${chain.slug} (chain ${chain.id}). Nothing was sent.`,
    )
  // The user may switch the account of the wallet meanwhile.
  const from = await untilAborted(wallet.address(), options.signal)
  if (attestation) requireSame(from, attestation.signer, 'The signer')
  const revokedAt = () => getRevokeOffchain(reader, chain.eas, from, uid)
  const call = { to: chain.eas, data: revokeOffchainCall(uid) }
  const revoked = await sendRevocation({ uid, signer, wallet, chain, call, from, revokedAt }, options)
  return { uid, chainId: chain.id, ...revoked }
}

/** Reads an offchain attestation. Its UID must be that of its content, because the UID is revoked. */
function documentOf(attestation: OffchainAttestation): Document {
  let document
  try {
    document = readDocument(attestation, true)
  } catch (error) {
    if (error instanceof OffchainError) throw invalidInput(`${messageOf(error)}. Nothing was sent.`)
    throw error
  }
  const actual = offchainUid(document.message, keccakDigits)
  if (actual !== document.uid)
    throw invalidInput(
      `The UID in the file is ${document.uid}, but its content has the UID ${actual}. Nothing was sent.`,
    )
  return document
}

function ready(
  context: Context,
  uid: string,
  signer: Signer,
  which: number | string | undefined,
  signal: AbortSignal | undefined,
) {
  if (!/^0x[0-9a-fA-F]{64}$/.test(uid))
    throw new GeoError(`'${uid}' is not a UID: expected 0x and 64 hex digits. Nothing was sent.`)
  return connected(context, which, signer, 'The revocation is', signal)
}

function requireSame(address: string, maker: string, who: string): void {
  if (!same(address, maker))
    throw new SignerError(
      `${who} of the attestation is ${maker}, and only this account can revoke it, but the given signer is ${address}. Nothing was sent.`,
    )
}

interface Revocation {
  uid: string
  signer: Signer
  wallet: Wallet
  chain: Chain
  call: Call
  from: string
  /** Reads the time of the revocation, in Unix seconds; 0 or NaN if the chain has none. */
  revokedAt: () => Promise<number>
}

/** Sends a revocation, unless another one precedes it. */
async function sendRevocation(
  { uid, signer, wallet, chain, call, from, revokedAt }: Revocation,
  { signal, onStep }: RevokeOptions,
): Promise<Omit<Revoked, 'uid' | 'chainId'>> {
  const revokedBefore = async (error: LandingError) => {
    const before = await reasonFor(error, revokedAt(), signal)
    if (!before) throw error
    return before
  }
  // Each revocation blocks the next one until it is in a block: a second one of the same attestation would
  // revert and cost gas.
  const outcome = await inTurn(signer, signal, async () => {
    const before = await untilAborted(revokedAt(), signal)
    if (before) return { before }
    const onSent = (transactionHash: string) => onStep?.({ step: 'sent', transactionHash })
    return transact(wallet, chain, call, { from, signal, onSent }).catch(async (error: unknown) => {
      if (!(error instanceof LostTransactionError)) throw error
      // A wallet replaces a transaction by the same one with a higher fee.
      return { before: await revokedBefore(error) }
    })
  })
  if ('before' in outcome) return { revocationTime: outcome.before, already: true }
  const read = async () => (await revokedAt()) || undefined
  if ('refused' in outcome) {
    const error = await refusal(outcome, 'The attestation was not revoked')
    // The response to the transaction may be lost, or another program has revoked the attestation meanwhile.
    if (!['AlreadyRevoked', 'AlreadyRevokedOffchain'].includes(error.contractError!)) throw error
    const { transactionHash } = outcome
    const late = { ...(signal && { signal }), ...(transactionHash && { transactionHash }) }
    return {
      revocationTime: await readLate('The attestation is revoked, but its revocation', read, late),
      already: true,
    }
  }
  const { transactionHash, blockNumber, logs } = outcome.receipt
  // The transaction of a smart account also succeeds if its call of EAS fails.
  if (!logs.some((log) => isRevocation(log, { uid, chain, from }))) {
    const error = new LandingError(
      `The attestation was not revoked: the transaction ${transactionHash} succeeded, but not the call of EAS in it.`,
      undefined,
      transactionHash,
    )
    return { revocationTime: await revokedBefore(error), already: true }
  }
  const revocationTime = await readAfter(outcome.receipt, read, signal)
  return { revocationTime, already: false, transactionHash, blockNumber }
}

/** True if a log is the revocation of an attestation by an account, on-chain or off-chain. */
function isRevocation(
  { address, topics: [topic, first = '', second = ''], data }: Receipt['logs'][number],
  { uid, chain, from }: Pick<Revocation, 'uid' | 'chain' | 'from'>,
): boolean {
  const isOf = (by: string, of: string) => same(`0x${by.slice(26)}`, from) && same(of, uid)
  if (!same(address, chain.eas)) return false
  return topic === REVOKED ? isOf(second, data) : topic === REVOKED_OFFCHAIN && isOf(first, second)
}
