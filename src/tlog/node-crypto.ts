// SPDX-License-Identifier: MIT
/** The functions of node:crypto that this room calls. */
export interface NodeCrypto {
  /** The function does not exist before Node 20.12. */
  hash?: (algorithm: string, data: Uint8Array, encoding: 'buffer') => Uint8Array
  createPrivateKey: (key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }) => object
  createPublicKey: (key: object) => { export: (options: { format: 'der'; type: 'spki' }) => Uint8Array }
  sign: (algorithm: null, data: Uint8Array, key: object) => Uint8Array
  verify: (algorithm: null, data: Uint8Array, key: object, signature: Uint8Array) => boolean
}

/** node:crypto in Node, Bun and Deno, hidden from bundlers: much faster than JavaScript and WebCrypto. */
export const nodeCrypto = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
).process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined
