import { SigningKey, hexlify } from 'ethers'

/** secp256k1, as much of it as signing and recovering needs. Signatures are r and s, 64 bytes, low s; public keys x and y, 64 bytes. */
export interface Curve {
  readonly name: string
  /** Deterministic (RFC 6979). Throws for what is no private key. */
  sign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recovery: number }
  /** Throws when nothing recovers. */
  recover(digest: Uint8Array, signature: Uint8Array, recovery: number): Uint8Array
  publicKey(privateKey: Uint8Array): Uint8Array
}

/** ethers' own, in JavaScript: 7 times as slow as the native one to sign, 29 times to recover (bench/compute). */
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

/** What we use of secp256k1 5.0.2, the binding of libsecp256k1 (bitcoin-core). */
interface Libsecp256k1 {
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { signature: Uint8Array; recid: number }
  ecdsaRecover(signature: Uint8Array, recovery: number, digest: Uint8Array, compressed: boolean): Uint8Array
  publicKeyCreate(privateKey: Uint8Array, compressed: boolean): Uint8Array
}

/** libsecp256k1; undefined where its binding cannot be loaded (prebuilt for Linux x64, macOS arm64, Windows x64). */
export const NATIVE_CURVE = loadNative()

/** The fastest there is: all give the same bytes (eas.test.ts). */
export const CURVE = NATIVE_CURVE ?? ETHERS_CURVE

function loadNative(): Curve | undefined {
  let native: Libsecp256k1
  try {
    // Not the package itself, which would put a JavaScript library of its own in the binding's place without a word.
    native = require('secp256k1/bindings') as Libsecp256k1 // eslint-disable-line @typescript-eslint/no-require-imports -- it may be missing
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
