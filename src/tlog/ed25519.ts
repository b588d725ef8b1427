// SPDX-License-Identifier: MIT
import { concat, fromHex, type Bytes } from './bytes'
import { nodeCrypto } from './node-crypto'

/** DER prefix of the 32 bytes of a private or public key (RFC 8410, 7 and 4). */
const PKCS8 = fromHex('prefix', '302e020100300506032b657004220420', 16)
const SPKI = fromHex('prefix', '302a300506032b6570032100', 12)
const NAME = 'Ed25519'

/** Returns WebCrypto, which browsers provide only to pages over HTTPS and on localhost. */
function subtle(): typeof crypto.subtle {
  if ('subtle' in crypto) return crypto.subtle
  throw new Error(
    'Browsers verify and sign only in pages over HTTPS and on localhost. Open the page over HTTPS.',
  )
}

const privateKey = (node: typeof nodeCrypto & object, seed: Uint8Array) =>
  node.createPrivateKey({ key: concat(PKCS8, seed), format: 'der', type: 'pkcs8' })

/** Public key of a seed (RFC 8032, 5.1.5). */
export async function publicKeyOf(seed: Uint8Array): Promise<Bytes> {
  if (nodeCrypto) {
    const key = nodeCrypto.createPublicKey(privateKey(nodeCrypto, seed))
    return Uint8Array.from(key.export({ format: 'der', type: 'spki' }).subarray(SPKI.length))
  }
  const key = await subtle().importKey('pkcs8', concat(PKCS8, seed), NAME, true, ['sign'])
  const { x } = await subtle().exportKey('jwk', key)
  const base64 = x!.replace(/-/g, '+').replace(/_/g, '/')
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
}

/** Ed25519 signature of a message (RFC 8032, 5.1.6), 64 bytes. */
export async function sign(seed: Uint8Array, message: Bytes): Promise<Uint8Array> {
  if (nodeCrypto) return nodeCrypto.sign(null, message, privateKey(nodeCrypto, seed))
  const key = await subtle().importKey('pkcs8', concat(PKCS8, seed), NAME, false, ['sign'])
  return new Uint8Array(await subtle().sign(NAME, key, message))
}

/** True if the signature of the message is valid for the key (RFC 8032, 5.1.7). */
export async function verify(publicKey: Bytes, message: Bytes, signature: Bytes): Promise<boolean> {
  if (nodeCrypto) {
    // createPublicKey reads the key from DER, not from its 32 raw bytes.
    const key = nodeCrypto.createPublicKey({ key: concat(SPKI, publicKey), format: 'der', type: 'spki' })
    return nodeCrypto.verify(null, message, key, signature)
  }
  const key = await subtle().importKey('raw', publicKey, NAME, false, ['verify'])
  return subtle().verify(NAME, key, signature, message)
}
