import { expandSignature } from './compact'
import { hasher } from './keccak'
import { failed, OffchainError, readDocument, type Document } from './offchain-document'
import { DOMAIN_NAME, offchainDigest, offchainUid } from './offchain-hash'
import { recoverSigner } from './signature'
import { timeOf } from './times'
import { uint } from './words'

/**
 * An EAS offchain attestation with a valid UID, and a valid signature unless there is a `claim`. Hex is
 * lower-case, times are Unix seconds.
 */
export interface OffchainAttestation {
  uid: string
  /** address recovered from the signature; with a `claim`, the address that the document names */
  signer: string
  /** set if the signer's key did not make the signature: only its contract may accept it */
  claim?: OffchainClaim
  schema: string
  time: bigint
  /** 0 means never */
  expirationTime: bigint
  data: string
}

/** A signature that only a contract can verify (ERC-1271). */
export interface OffchainClaim {
  /** EIP-712 digest that was signed */
  digest: string
  /** r, s and v as 65 bytes, or the bytes of the document */
  signature: string
  /** reason for which it is not valid if the signer has no contract */
  problem: string
}

/** Values that an offchain attestation is checked against. */
export interface OffchainExpectation {
  chainId: number
  /** address of the EAS contract on that chain, lower-case */
  contract: string
  /** requested UID, lower-case; absent if the request contains the document only */
  uid?: string
  /** Unix seconds */
  now: bigint
  /** True if a signature that the signer's key did not make is returned as a `claim` instead of rejected. */
  accounts?: boolean
}

/**
 * Versions of EAS contracts that signers write into the domain. No contract checks offchain signatures, so
 * all are accepted: name, chain and contract of the domain bind the signature.
 */
const DOMAIN_VERSIONS: readonly unknown[] = [
  '0.26',
  '1.0.0',
  '1.0.1',
  '1.0.2',
  '1.1.0',
  '1.2.0',
  '1.3.0',
  '1.4.0',
]
/** Seconds that the signer's clock may be ahead of this one. */
const MAX_SKEW_SECONDS = 60n

/** Last byte of a signature, by v: 0 and 1 mean the same as 27 and 28. */
const V_BYTES: Readonly<Record<number, string>> = { 0: '1b', 1: '1c', 27: '1b', 28: '1c' }
/**
 * Verifies a parsed EAS offchain attestation: the file `{sig, signer}` of EAS's explorer and library, or the
 * library's own object with an added `signer`. The order: version, types, form, domain, UID, signature,
 * times. Revocation and schema are not checked. Throws an OffchainError that names the failed check.
 */
export async function verifyOffchain(
  document: unknown,
  expected: OffchainExpectation,
): Promise<OffchainAttestation> {
  const keccak = await hasher
  const hash = (digits: string) => keccak.init().update(Buffer.from(digits, 'hex')).digest('hex')
  const attestation = readDocument(document, expected.accounts === true)
  const { domain, message, signature } = attestation
  checkDomain(domain, expected)

  // The UID hashes the schema as text. Upper-case digits would result in a second UID for the same signature,
  // which a revocation of the first UID would not cover.
  const uid = offchainUid(message, hash)
  if (uid !== attestation.uid) throw failed(`its uid does not match its content, whose UID is ${uid}`)
  if (expected.uid !== undefined && uid !== expected.uid)
    throw failed(`its UID is ${uid}, not the requested one`)

  const digest = offchainDigest(attestation, hash)
  const { signer } = attestation
  const claim = await claimOf(signer, digest, signature)
  if (claim && !expected.accounts) throw failed(claim.problem)

  const { time, expirationTime, schema, data } = message
  checkExpiry(expirationTime, expected.now)
  if (time > expected.now + MAX_SKEW_SECONDS)
    throw failed(`its time, ${timeOf(time)}, is in the future: the current time is ${timeOf(expected.now)}`)
  return { uid, signer, ...(claim && { claim }), schema, time, expirationTime, data }
}

/** Throws an OffchainError if an attestation has expired. Times are Unix seconds, and 0 means never. */
export function checkExpiry(expirationTime: bigint, now: bigint): void {
  if (expirationTime !== 0n && expirationTime <= now)
    throw new OffchainError('verification-failed', `it expired at ${timeOf(expirationTime)}`, true)
}

function checkDomain(domain: Document['domain'], { chainId, contract }: OffchainExpectation): void {
  if (domain.name !== DOMAIN_NAME) throw failed(`its domain's name is not "${DOMAIN_NAME}"`)
  if (domain.chainId !== BigInt(chainId))
    throw failed(`it was made for chain ${domain.chainId}, not for chain ${chainId}`)
  if (domain.contract !== contract)
    throw failed(
      `its domain names the contract ${domain.contract} instead of ${contract}, the EAS contract of chain ${chainId}`,
    )
  if (!DOMAIN_VERSIONS.includes(domain.version))
    throw failed(`its domain's version is not a version of EAS: ${DOMAIN_VERSIONS.join(', ')}`)
}

/**
 * Claim that the signer's contract must confirm; undefined if the signer's key made the signature. Of the two
 * signatures s and n - s, only the one with the lower s is valid for a key (EIP-2).
 */
async function claimOf(
  signer: string,
  digest: string,
  signature: Document['signature'],
): Promise<OffchainClaim | undefined> {
  const bytes = typeof signature === 'string' ? signature : packed(signature)
  const recovered = bytes && (await recoverSigner(digest, expandSignature(bytes)))
  if (recovered === signer) return undefined
  const problem = recovered
    ? `its signature recovers to ${recovered}, not to its signer`
    : "its signature is not valid: expected v 27 or 28, s in the lower half of the curve's order, and r of a point on the curve"
  if (bytes === undefined) throw failed(problem)
  return { digest, signature: bytes, problem }
}

/** A signature as 65 bytes; undefined if v does not fit a byte. */
function packed({ r, s, v }: { r: string; s: string; v: number }): string | undefined {
  return v < 256 ? r + s.slice(2) + (V_BYTES[v] ?? uint(v, 1)) : undefined
}
