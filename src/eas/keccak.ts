import { createKeccak } from 'hash-wasm'

/** Keccak-256 in WebAssembly, twenty times as fast as that of ethers. */
export const hasher = createKeccak(256)

/** keccak256 of bytes, of a string in UTF-8, or of several of these concatenated; in hex without 0x. */
export async function keccak256(...parts: readonly (Uint8Array | string)[]): Promise<string> {
  const keccak = (await hasher).init()
  for (const part of parts) keccak.update(part)
  return keccak.digest('hex')
}
