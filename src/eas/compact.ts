/**
 * The signature of a key as 65 bytes r + s + v in hex, if it is given in the 64 bytes of EIP-2098, whose
 * second half is s with the parity of y in the first bit; any other text as it is.
 */
export function expandSignature(signature: string): string {
  if (!/^0x[0-9a-f]{128}$/i.test(signature)) return signature
  const first = parseInt(signature[66]!, 16)
  return `${signature.slice(0, 66)}${(first & 7).toString(16)}${signature.slice(67)}${first & 8 ? '1c' : '1b'}`
}
