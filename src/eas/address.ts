import { getAddress } from 'ethers/address'

/** JSON Schema pattern of an address in any letter case. */
export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$'
const ADDRESS = new RegExp(ADDRESS_PATTERN)

/** Returns the address in lower case, whatever its checksum; undefined unless it is 0x and 40 hex digits. */
export function parseAddress(text: unknown): string | undefined {
  return typeof text === 'string' && ADDRESS.test(text) ? text.toLowerCase() : undefined
}

/** Like `parseAddress()` with the checksum (EIP-55); undefined also if a mixed-case one is incorrect. */
export function parseChecksumAddress(text: unknown): string | undefined {
  const address = parseAddress(text)
  if (address === undefined) return undefined
  const digits = (text as string).slice(2)
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  const checksummed = checksumAddress(address)
  return mixed && checksummed !== text ? undefined : checksummed
}

/** Size of the cache. Computing a checksum takes 20 us, and a page of records has up to 200 addresses. */
const MAX_CHECKSUMS = 50_000
/** Checksummed addresses by lower-case address. The oldest entry is dropped first. */
const checksums = new Map<string, string>()

/** Returns the checksummed form (EIP-55) of a lower-case address. Throws a TypeError for any other text. */
export function checksumAddress(address: string): string {
  const known = checksums.get(address)
  if (known !== undefined) return known
  // A slice of a long text would keep the whole text in memory, so the key is a copy.
  const key = Buffer.from(address, 'latin1').toString('latin1')
  const checksummed = getAddress(key)
  if (checksums.size >= MAX_CHECKSUMS) checksums.delete(checksums.keys().next().value!)
  checksums.set(key, checksummed)
  return checksummed
}
