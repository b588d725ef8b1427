// SPDX-License-Identifier: MIT
/**
 * Expands a compact signature (EIP-2098: 64 bytes, the second half is s with the parity of y in its first
 * bit) to 65 bytes r + s + v in hex. Returns any other text unchanged.
 */
export function expandSignature(signature: string): string {
  if (!/^0x[0-9a-f]{128}$/i.test(signature)) return signature
  const first = parseInt(signature[66]!, 16)
  return `${signature.slice(0, 66)}${(first & 7).toString(16)}${signature.slice(67)}${first & 8 ? '1c' : '1b'}`
}

/** Half of the order of the curve. Only the signature with s up to this value is canonical (EIP-2). */
export const HALF_ORDER = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0'

/** True if a signature is 65 bytes in hex with the lower s, and v is 27 or 28. */
export function isCanonicalSignature(signature: string): boolean {
  return /^0x[0-9a-f]{128}1[bc]$/i.test(signature) && signature.slice(66, 130).toLowerCase() <= HALF_ORDER
}
