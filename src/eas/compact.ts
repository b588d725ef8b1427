/**
 * Expands a compact signature (EIP-2098: 64 bytes, the second half is s with the parity of y in its first
 * bit) to 65 bytes r + s + v in hex. Returns any other text unchanged.
 */
export function expandSignature(signature: string): string {
  if (!/^0x[0-9a-f]{128}$/i.test(signature)) return signature
  const first = parseInt(signature[66]!, 16)
  return `${signature.slice(0, 66)}${(first & 7).toString(16)}${signature.slice(67)}${first & 8 ? '1c' : '1b'}`
}
