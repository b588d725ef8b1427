import { SigningKey } from 'ethers/crypto'
import { hexlify } from 'ethers/utils'

/** Operations of secp256k1. Signatures are r and the lower s, public keys x and y: 64 bytes each. */
export interface Curve {
  readonly name: string
  /** Signs deterministically (RFC 6979). Throws if the private key is invalid. */
  sign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recovery: number }
  /** Recovers the public key. Throws if there is none. */
  recover(digest: Uint8Array, signature: Uint8Array, recovery: number): Uint8Array
  publicKey(privateKey: Uint8Array): Uint8Array
}

/** Implementation of ethers: signs 7 times as slowly as the native one, recovers 29 times (bench/compute). */
export const ETHERS_CURVE: Curve = {
  name: 'ethers',
  sign: (digest, privateKey) => {
    const { r, s, yParity } = new SigningKey(privateKey).sign(digest)
    return { signature: Buffer.from(r.slice(2) + s.slice(2), 'hex'), recovery: yParity }
  },
  recover: (digest, signature, recovery) => {
    const [r, s] = [hexlify(signature.subarray(0, 32)), hexlify(signature.subarray(32))]
    return Buffer.from(SigningKey.recoverPublicKey(digest, { r, s, v: 27 + recovery }).slice(4), 'hex')
  },
  publicKey: (privateKey) => Buffer.from(SigningKey.computePublicKey(privateKey, false).slice(4), 'hex'),
}

/** The functions used here of secp256k1 5.0.2, the binding of libsecp256k1 (bitcoin-core). */
interface Libsecp256k1 {
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recid: number }
  ecdsaRecover(signature: Uint8Array, recovery: number, digest: Uint8Array, compressed: boolean): Uint8Array
  publicKeyCreate(privateKey: Uint8Array, compressed: boolean): Uint8Array
}

/** libsecp256k1 (prebuilt for Linux x64, macOS arm64, Windows x64); undefined if it cannot be loaded. */
export const NATIVE_CURVE = loadNative()

/** Fastest implementation available. All return the same bytes (eas.test.ts). */
export const CURVE = NATIVE_CURVE ?? ETHERS_CURVE

function loadNative(): Curve | undefined {
  let native: Libsecp256k1
  try {
    // The package's main module would silently fall back to a JavaScript library.
    native = require('secp256k1/bindings') as Libsecp256k1 // oxlint-disable-line typescript/no-require-imports -- it may be missing
  } catch {
    return undefined
  }
  return {
    name: 'libsecp256k1',
    sign: (digest, privateKey) => {
      const { signature, recid } = native.ecdsaSign(digest, privateKey)
      return { signature, recovery: recid }
    },
    recover: (digest, signature, recovery) =>
      native.ecdsaRecover(signature, recovery, digest, false).subarray(1),
    publicKey: (privateKey) => native.publicKeyCreate(privateKey, false).subarray(1),
  }
}
