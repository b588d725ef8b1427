import { getAddress } from 'ethers/address'

/** An address in any letter case, as a JSON Schema pattern. */
export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$'
const ADDRESS = new RegExp(ADDRESS_PATTERN)

/** The address in lower case, its checksum not looked at; undefined unless it is 0x and 40 hex digits. */
export function parseAddress(text: unknown): string | undefined {
  return typeof text === 'string' && ADDRESS.test(text) ? text.toLowerCase() : undefined
}

/**
 * The address with its checksum; undefined unless it is 0x and 40 hex digits, in one letter case or with the
 * right checksum (EIP-55).
 */
export function parseChecksumAddress(text: unknown): string | undefined {
  const address = parseAddress(text)
  if (address === undefined) return undefined
  const digits = (text as string).slice(2)
  const mixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  const checksummed = checksumAddress(address)
  return mixed && checksummed !== text ? undefined : checksummed
}

/** Computing a checksum takes 20 us, and a page of records holds 200 addresses. */
const MAX_CHECKSUMS = 50_000
/** By lower-case address; the one added first is dropped first. */
const checksums = new Map<string, string>()

/** The checksummed form (EIP-55) of a lower-case address. Throws a TypeError for what is no address. */
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
