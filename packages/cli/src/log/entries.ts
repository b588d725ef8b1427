// SPDX-License-Identifier: MIT
import type { Chain, Claims, Geo } from '@geospatial-attestation/client'
import { decodeEntry, TlogError, type Entry } from '../../../../src/tlog'
import { ATTEST_FIELDS, QUORUM_FIELDS } from '../../../../src/eas/layouts'
import { KeyError } from '../exit'
import type { Session } from '../session'
import { isOperation, rowOf, UNITS } from '../../../../src/operations/table'

/** Result of checking an entry. */
export type EntryResult =
  | { result: 'equal' | 'unresolved'; entry: Entry }
  | { result: 'differs' | 'unreadable'; reason: string; entry?: Entry }

/** Chain of an entry, with a provider if it has an RPC endpoint. */
export interface Connected {
  chain: Pick<Chain, 'id'>
  provider?: object
  /** true if the service no longer names the chain */
  isRetired: boolean
  /** reason why the RPC endpoint of such a chain cannot be used */
  outage?: Error
}
type Connect = (chainId: number) => Promise<Connected | undefined>
type Service = Pick<Session, 'geo' | 'signal'>

/**
 * True if the RPC endpoint of a chain does not respond as expected. False for a call that a contract rejects:
 * the service names the contracts, and must not be able to feign an outage.
 */
export async function isOutage(error: unknown): Promise<boolean> {
  const { ConnectionError } = await import('@geospatial-attestation/client')
  const { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } = await import('viem')
  if (error instanceof ConnectionError || error instanceof KeyError) return true
  const isRejected = (each: unknown) =>
    each instanceof ContractFunctionRevertedError || each instanceof ContractFunctionZeroDataError
  return error instanceof BaseError && !error.walk(isRejected)
}

/**
 * Checks an entry: its form, that its attester signed its content for its chain, and the result that the
 * kernel computes from its inputs. Throws a ConnectionError if an RPC endpoint does not respond.
 */
export async function checkEntry(
  bytes: Uint8Array,
  service: Service,
  connect: Connect,
): Promise<EntryResult> {
  const { decodeClaims } = await import('@geospatial-attestation/client')
  let entry: Entry
  try {
    entry = decodeEntry(bytes)
  } catch (error) {
    if (error instanceof TlogError) return { result: 'unreadable', reason: error.message }
    throw error
  }
  const unreadable = (reason: string): EntryResult => ({ result: 'unreadable', reason, entry })
  const signer = await signerOf(entry)
  if (signer !== entry.attester) return unreadable(`its signature is by ${signer}, not by ${entry.attester}`)
  const other = await otherChainOf(entry, await namedChains(service))
  if (other !== undefined) return unreadable(`it was signed for ${other}, not for chain ${entry.chainId}`)
  const claims = decodeClaims(entry.data as `0x${string}`)
  if (!claims) return unreadable('its data is not the payload of an answer')
  if (!isOfOperation(claims)) return unreadable(`its data is not an answer of ${claims.operation}`)
  const { whole, units, ...claim } = claims
  const exact = whole === undefined ? {} : { result: whole, units: UNITS[units!].payload }
  return { ...(await recomputed({ ...claim, ...exact }, entry.chainId, service, connect)), entry }
}

/**
 * Recomputes an answer, given by its claim or by the UID of its attestation, from its inputs on the chain. It
 * is `unresolved` if its attestation or an input is not on the chain. Throws a ConnectionError if the RPC
 * endpoint does not respond.
 */
export async function recomputed(
  answer: Parameters<Geo['recompute']>[0],
  chainId: number,
  { geo, signal }: Service,
  connect: Connect,
): Promise<{ result: 'equal' | 'unresolved' } | { result: 'differs'; reason: string }> {
  const { AttestationNotFoundError, InvalidInputError } = await import('@geospatial-attestation/client')
  const connected = await connect(chainId)
  if (!connected?.provider) return { result: 'unresolved' }
  try {
    const { verdict, sentence } = await geo.recompute(answer, [], {
      ...{ chain: connected.chain.id, provider: connected.provider as never, signal },
    })
    // The references of raw, private and offchain inputs name no attestation on the chain.
    if (verdict === 'wrong inputs') return { result: 'unresolved' }
    return verdict === 'equal' ? { result: 'equal' } : { result: 'differs', reason: sentence }
  } catch (error) {
    if (error instanceof AttestationNotFoundError || error instanceof InvalidInputError)
      return { result: 'unresolved' }
    if (connected.isRetired && (await isOutage(error))) return { result: 'unresolved' }
    throw error
  }
}

/**
 * True if a payload has the number of inputs, the parameters and the kind of result of its operation. Also
 * true for an operation that this version does not know: the service may be newer.
 */
function isOfOperation({ operation, inputRefs, units, result }: Claims): boolean {
  const [name, ...numbers] = operation.split(':') as [string, ...string[]]
  if (!isOperation(name)) return true
  const row = rowOf(name)
  return (
    inputRefs.length === row.inputs.length &&
    numbers.length === (row.parameters ?? []).length &&
    numbers.every((centimeters) => /^(0|[1-9]\d*)$/.test(centimeters)) &&
    units === row.units &&
    (typeof result === 'boolean') === (row.units === undefined)
  )
}

/**
 * Address that signed the content of an entry, lower-case: the EIP-712 digest is computed from its fields, so
 * that an entry with other content than what was signed has another signer. Returns `nobody` for a signature
 * from which no account can be recovered, and for content that no account can have signed.
 */
export async function signerOf({ layout, separator, signature, ...entry }: Entry): Promise<string> {
  const { concatHex, hashStruct, keccak256, recoverAddress } = await import('viem')
  const types = layout === 'quorum' ? { Answer: QUORUM_FIELDS } : { Attest: ATTEST_FIELDS[layout] }
  const [[primaryType, fields]] = Object.entries(types) as [[string, typeof QUORUM_FIELDS]]
  const isSigned = (...names: string[]) => fields.some(({ name }) => names.includes(name))
  if (entry.nonce !== 0 && !isSigned('nonce', 'epoch')) return 'nobody'
  if (entry.deadline !== 0 && !isSigned('deadline')) return 'nobody'
  try {
    const data = { ...entry, value: 0, epoch: entry.nonce }
    const struct = hashStruct({ types, primaryType, data })
    const hash = keccak256(concatHex(['0x1901', separator as `0x${string}`, struct]))
    return (await recoverAddress({ hash, signature: signature as `0x${string}` })).toLowerCase()
  } catch {
    return 'nobody'
  }
}

/** Returns the chains that the service names. Throws a ConnectionError if it does not describe them. */
export async function namedChains({ geo, signal }: Service): Promise<readonly Chain[]> {
  const isChain = ({ id, slug, otherAttesters = [] }: Partial<Chain>) =>
    Number.isSafeInteger(id) && typeof slug === 'string' && Array.isArray(otherAttesters)
  try {
    const { chains } = await geo.info({ signal })
    if (chains.every((each: Chain | null) => each && isChain(each))) return chains
  } catch (error) {
    // The description is not JSON.
    if (!(error instanceof SyntaxError)) throw error
  }
  const { ConnectionError } = await import('@geospatial-attestation/client')
  throw new ConnectionError(`${geo.url} does not respond with a description of its chains.`)
}

/** Slug of another chain of the service, whose contract accepts the signature of an entry; usually none. */
async function otherChainOf({ chainId, separator }: Entry, chains: readonly Chain[]) {
  const { domainSeparator } = await import('viem')
  const isAccepted = (domain: unknown) => {
    try {
      return domainSeparator({ domain: domain as never }) === separator
    } catch {
      // No contract has a malformed domain.
      return false
    }
  }
  return chains.find(({ id, domain, proxy }) => id !== chainId && [domain, proxy?.domain].some(isAccepted))
    ?.slug
}
