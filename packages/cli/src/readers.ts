import { InvalidArgumentError } from 'commander'

/**
 * Readers of options and arguments: what is given at the command line becomes a value, or is refused before
 * anything is asked. (The client is not loaded for that: --help stays quick.)
 */

export const UID = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** 0x and 64 hex digits */
export const uid = reader('0x and 64 hex digits', (text) => (UID.test(text) ? text : undefined))
/** 0x and 40 hex digits */
export const address = reader('an address, 0x and 40 hex digits', (text) =>
  ADDRESS.test(text) ? text : undefined,
)
/** The contracts of chains, by chain id. */
export const contracts = reader(
  'contracts of chains, such as 84532:0x<EAS>:0x<proxy>,42161:0x<EAS>',
  (text): Record<number, { eas: string; proxy?: string }> | undefined => {
    const chains = text.split(',').map((each) => each.split(':'))
    const isRight = chains.every(
      ([id = '', ...addresses]) =>
        /^[1-9]\d{0,14}$/.test(id) &&
        (addresses.length === 1 || addresses.length === 2) &&
        addresses.every((each) => ADDRESS.test(each)),
    )
    if (!isRight || new Set(chains.map(([id]) => id)).size < chains.length) return undefined
    const pinned = chains.map(
      ([id, eas, proxy]) => [Number(id), { eas: eas!, ...(proxy && { proxy }) }] as const,
    )
    return Object.fromEntries(pinned)
  },
)
/** A UID, or a name that the client knows. */
export const schemaName = reader('v0.1, location-protocol, or a UID (0x and 64 hex digits)', (text) =>
  (/^0x/i.test(text) ? UID.test(text) : text !== '') ? text : undefined,
)
/** Slug or id; the service says whether it has it. */
export const chain = reader('the slug or the id of a chain, such as base-sepolia or 84532', (text) =>
  /^[\w-]+$/.test(text) ? text : undefined,
)
/** A duration: 0 or more. */
export const seconds = reader('seconds, at least 0, such as 3600', (text) => atLeastZero(text))
/** The longest that a timer of Node can wait. */
const LONGEST_SECONDS = 2_147_483
/** How long to wait at most; 0 for as long as it takes. */
export const timeout = reader(`seconds, from 0 (no limit) to ${LONGEST_SECONDS}`, (text) => {
  const value = atLeastZero(text)
  return value !== undefined && value <= LONGEST_SECONDS ? value : undefined
})
/** A length: 0 or more. */
export const metres = reader('metres, such as 500', (text) => atLeastZero(text))
/** How many: 1 or more. */
export const count = reader('a whole number, at least 1', (text) => {
  const value = atLeastZero(text)
  return value !== undefined && Number.isSafeInteger(value) && value >= 1 ? value : undefined
})
/** A date, or a date with a time; UTC unless it has an offset. */
export const date = reader('ISO 8601, such as 2026-11-22 or 2026-11-22T10:00Z', (text) => {
  const [whole, clock, offset] =
    /^\d{4}-\d\d-\d\d(T\d\d:\d\d(?::\d\d)?(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i.exec(text) ?? []
  const found = new Date(clock && !offset ? `${whole}Z` : (whole ?? NaN))
  return Number.isNaN(found.getTime()) ? undefined : found
})

/** Decimal digits, perhaps with an exponent: not '', 0x10 or Infinity, which Number takes. */
function atLeastZero(text: string): number | undefined {
  const value = /^(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN
  return Number.isFinite(value) ? value : undefined
}

/** Throws an InvalidArgumentError, to which commander adds the option and what was given. */
function reader<Value>(expected: string, read: (text: string) => Value | undefined): (text: string) => Value {
  return (text) => {
    const value = read(text.trim())
    if (value === undefined) throw new InvalidArgumentError(`Expected ${expected}.`)
    return value
  }
}
