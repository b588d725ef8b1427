import { createHmac, hkdfSync } from 'node:crypto'
import { HALF_ORDER, expandSignature, isCanonicalSignature } from './compact'
import { CURVE, ETHERS_CURVE, type Curve } from './curve'
import type { AttestTypedData } from './delegated'
import { hex } from './words'
import { keccak256 } from './keccak'

/** Signs delegated attestations, in this process, a token, or another service. */
export interface Signer {
  /** lower-case */
  readonly address: string
  /**
   * Returns 65 bytes r + s + v in hex, with the lower s and v 27 or 28. Throws if it is known not to recover
   * to the address.
   * @param typed typed data of the digest, for signers that compute the digest themselves
   * @param client client whose share of the signer's queue is used; default: the service itself
   */
  sign(digest: string, typed: () => AttestTypedData, client?: string): Promise<string>
  /** Last known reason for which the signer cannot sign; undefined if it can. Does not wait. */
  notReady(): string | undefined
}

/** Message authentication code of a text, 16 bytes in base64url. No contract accepts it as a signature. */
export type Seal = (text: string) => string

/** Returns a function that computes seals. The secret, 32 bytes in hex, is required to compute them. */
export function sealOf(secret: string): Seal {
  const source = Buffer.from(hex(secret, 32), 'hex')
  const key = Buffer.from(hkdfSync('sha256', source, '', 'geospatial attestation service: seal', 32))
  return (text) => createHmac('sha256', key).update(text).digest().subarray(0, 16).toString('base64url')
}

/** Number of signatures of which one is recovered. The first one is always recovered. */
const CHECK_EVERY = 64
/** Number of digests that are signed when a signer is created, to compare two libraries. */
const TRIALS = 16

/**
 * Signer with a private key, 32 bytes in hex, in this process. Its signatures are deterministic (RFC 6979).
 * Throws for an invalid key, and if the library does not sign as ethers does. One signature in 64 is
 * recovered. If it does not recover to the address, the signer stops, because memory or the library is broken
 * (docs/architecture/decisions/0016-checked-by-sampling.md).
 */
export async function keySigner(
  privateKey: string,
  curve: Curve = CURVE,
): Promise<Signer & { sign(digest: string): Promise<string> }> {
  const key = Buffer.from(hex(privateKey, 32), 'hex')
  const address = await addressOf(curve.publicKey(key))
  await compareWithEthers(curve, key)
  let signed = 0
  let broken = false
  return {
    address,
    sign: async (digest) => {
      const signature = signBy(curve, Buffer.from(hex(digest, 32), 'hex'), key)
      if (signed++ % CHECK_EVERY === 0 && (await recoverSigner(digest, signature, curve)) !== address)
        broken = true
      if (broken) throw new Error(BROKEN)
      return signature
    },
    notReady: () => (broken ? BROKEN : undefined),
  }
}

const BROKEN = 'a signature did not recover to the attester, so the signer has stopped'

function signBy(curve: Curve, digest: Uint8Array, key: Uint8Array): string {
  const { signature, recovery } = curve.sign(digest, key)
  return `0x${Buffer.from(signature).toString('hex')}${recovery === 0 ? '1b' : '1c'}`
}

/** Throws unless a library signs digests with this key as ethers does. Both are deterministic. */
async function compareWithEthers(curve: Curve, key: Uint8Array): Promise<void> {
  for (let i = 0; i < TRIALS; i++) {
    const digest = Buffer.from(await keccak256(Uint8Array.of(i)), 'hex')
    if (signBy(curve, digest, key) !== signBy(ETHERS_CURVE, digest, key))
      throw new Error(`${curve.name} must not be used, because its signatures differ from those of ethers`)
  }
}

/** Order of the curve. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Lower-case address whose key signed a digest; undefined for a signature without a key or not canonical. */
export async function recoverSigner(
  digest: string,
  signature: string,
  curve: Curve = CURVE,
): Promise<string | undefined> {
  if (!isCanonicalSignature(signature)) return undefined
  const bytes = Buffer.from(signature.slice(2), 'hex')
  try {
    return await addressOf(
      curve.recover(Buffer.from(hex(digest, 32), 'hex'), bytes.subarray(0, 64), bytes[64]! - 27),
    )
  } catch {
    return undefined
  }
}

/**
 * Canonical form of a signature from an external signer: r and s, 64 bytes, with either s, or with the parity
 * of y in the first bit of s (EIP-2098). Undefined if the signature is not by this address for this digest.
 */
export async function canonicalSignature(
  digest: string,
  rs: Uint8Array,
  address: string,
  curve: Curve = CURVE,
): Promise<string | undefined> {
  if (rs.length !== 64) return undefined
  const given = Buffer.from(rs).toString('hex')
  const s = given.slice(64)
  const low = s <= HALF_ORDER ? s : (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0')
  for (const signature of [
    `0x${given.slice(0, 64)}${low}1b`,
    `0x${given.slice(0, 64)}${low}1c`,
    expandSignature(`0x${given}`),
  ])
    if ((await recoverSigner(digest, signature, curve)) === address) return signature
  return undefined
}

/** Address, lower-case, of a public key (x and y, 64 bytes) (Yellow Paper, appendix F). */
export async function addressOf(publicKey: Uint8Array): Promise<string> {
  return `0x${(await keccak256(publicKey)).slice(24)}`
}
