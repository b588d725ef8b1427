import { createHmac, hkdfSync } from 'node:crypto'
import { CURVE, ETHERS_CURVE, type Curve } from './curve'
import { hex } from './words'
import { keccak256 } from './keccak'

/** Signs digests. The key stays inside the signer, in this process or in another service. */
export interface Signer {
  /** lower-case */
  readonly address: string
  /**
   * 65 bytes r + s + v in hex: low s, v 27 or 28, deterministic (RFC 6979). Throws rather than answer what it
   * knows not to recover to the address.
   */
  sign(digest: string): Promise<string>
  /**
   * A message authentication code of a text that only this signer can make, always the same: 16 bytes in
   * base64url. It is no signature, so no contract accepts it.
   */
  seal(text: string): string
}

/** Every so many signatures one is recovered, the first one included. */
const CHECK_EVERY = 64
/** Digests that are signed when a signer is made, to compare two libraries. */
const TRIALS = 16

/**
 * A signer whose private key, 32 bytes in hex, is in this process. Throws for an invalid key, and where the
 * library does not sign as ethers does. One signature in 64 is recovered: after one that does not recover to
 * the address it signs nothing more, as memory or the library is broken
 * (docs/architecture/decisions/0016-checked-by-sampling.md).
 */
export async function keySigner(privateKey: string, curve: Curve = CURVE): Promise<Signer> {
  const key = Buffer.from(hex(privateKey, 32), 'hex')
  const sealKey = Buffer.from(hkdfSync('sha256', key, '', 'geospatial attestation service: seal', 32))
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
      if (broken) throw new Error('a signature did not recover to the attester: nothing more is signed')
      return signature
    },
    seal: (text) => createHmac('sha256', sealKey).update(text).digest().subarray(0, 16).toString('base64url'),
  }
}

function signBy(curve: Curve, digest: Uint8Array, key: Uint8Array): string {
  const { signature, recovery } = curve.sign(digest, key)
  return `0x${Buffer.from(signature).toString('hex')}${recovery === 0 ? '1b' : '1c'}`
}

/** Throws unless a library signs digests with this key as ethers does: both are deterministic. */
async function compareWithEthers(curve: Curve, key: Uint8Array): Promise<void> {
  for (let i = 0; i < TRIALS; i++) {
    const digest = Buffer.from(await keccak256(Uint8Array.of(i)), 'hex')
    if (signBy(curve, digest, key) !== signBy(ETHERS_CURVE, digest, key))
      throw new Error(`${curve.name} does not sign as ethers does: it must not be used`)
  }
}

/**
 * Half of the order of the curve. Of the two forms of a signature only the one with s up to this is canonical
 * (EIP-2).
 */
const HALF_ORDER = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

/** Whether a signature is 65 bytes in hex with the lower s, and v is 27 or 28. */
export function isCanonicalSignature(signature: string): boolean {
  return /^0x[0-9a-f]{128}1[bc]$/i.test(signature) && signature.slice(66, 130).toLowerCase() <= HALF_ORDER
}

/**
 * The address, lower-case, whose key signed this digest; undefined when the signature is not canonical or
 * recovers no key.
 */
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

/** The last 20 bytes of the hash of the public key (Yellow Paper, appendix F). */
async function addressOf(publicKey: Uint8Array): Promise<string> {
  return `0x${(await keccak256(publicKey)).slice(24)}`
}
