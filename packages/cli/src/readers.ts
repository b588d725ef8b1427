// SPDX-License-Identifier: MIT
import { InvalidArgumentError } from 'commander'
import { readMeters } from '../../../src/geodesy/centimeters'

/**
 * Parsers of options and arguments. They convert a value of the command line, or reject it before any request
 * is sent. They do not load the client, so that --help stays fast.
 */

export const UID = /^0x[0-9a-fA-F]{64}$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/

export const uid = reader('0x and 64 hex digits', (text) => (UID.test(text) ? text : undefined))
export const address = reader('an address, 0x and 40 hex digits', (text) =>
  ADDRESS.test(text) ? text : undefined,
)
export const contracts = reader(
  'contracts of chains, such as 84532:0x<EAS>:0x<proxy>,42161:0x<EAS>',
  byChain(2, ([eas, proxy]): { eas: string; proxy?: string } => ({ eas: eas!, ...(proxy && { proxy }) })),
)
export const quorums = reader(
  'GeoQuorum contracts of chains, such as 84532:0x<contract>,42161:0x<contract>',
  byChain(1, ([contract]) => contract!),
)
export const schemaName = reader('v0.1, location-protocol, or a UID (0x and 64 hex digits)', (text) =>
  (/^0x/i.test(text) ? UID.test(text) : text !== '') ? text : undefined,
)
/** Parses the slug or id of a chain. The service reports an unknown chain. */
export const chain = reader('the slug or the id of a chain, such as base-sepolia or 84532', (text) =>
  /^[\w-]+$/.test(text) ? text : undefined,
)
export const seconds = reader('seconds, at least 0, such as 3600', (text) => atLeastZero(text))
/** Maximum number of seconds that a timer of Node can wait. */
const LONGEST_SECONDS = 2_147_483
const timed = (text: string) => {
  const value = atLeastZero(text)
  return value !== undefined && value <= LONGEST_SECONDS ? value : undefined
}
export const timeout = reader(`seconds, from 0 (no limit) to ${LONGEST_SECONDS}`, timed)
/** Parses a pause in seconds. Node would shorten a longer one to a millisecond. */
export const pause = reader(`seconds, from 0 to ${LONGEST_SECONDS}`, timed)
export const metres = reader('metres, such as 500', (text) => atLeastZero(text, readMeters))
export const count = reader('a whole number, at least 1', (text) => {
  const value = atLeastZero(text)
  return value !== undefined && Number.isSafeInteger(value) && value >= 1 ? value : undefined
})
/** Parses a date, or a date and time; UTC if it has no offset. */
export const date = reader('ISO 8601, such as 2026-11-22 or 2026-11-22T10:00Z', (text) => {
  const [whole, day, clock, offset] =
    /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d)?(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i.exec(text) ?? []
  const found = new Date(clock && !offset ? `${whole}Z` : (whole ?? NaN))
  if (Number.isNaN(found.getTime())) return undefined
  // Date reads 30 February as 2 March.
  return new Date(day!).toISOString().startsWith(day!) ? found : undefined
})

/** Parses decimal digits with an optional exponent, but not '', 0x10 and Infinity, which Number accepts. */
function atLeastZero(text: string, read: (text: string) => number = Number): number | undefined {
  const value = /^(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? read(text) : NaN
  return Number.isFinite(value) ? value : undefined
}

/** Parses a list of chain ids, each with one to `most` addresses, to values by chain id. */
function byChain<Value>(most: number, valueOf: (addresses: string[]) => Value) {
  return (text: string): Record<number, Value> | undefined => {
    const chains = text.split(',').map((each) => each.split(':'))
    const isRight = chains.every(
      ([id = '', ...addresses]) =>
        /^[1-9]\d{0,14}$/.test(id) &&
        (addresses.length === 1 || addresses.length === most) &&
        addresses.every((each) => ADDRESS.test(each)),
    )
    if (!isRight || new Set(chains.map(([id]) => id)).size < chains.length) return undefined
    return Object.fromEntries(chains.map(([id, ...addresses]) => [Number(id), valueOf(addresses)]))
  }
}

/** Creates a parser. commander adds the option and the given value to its InvalidArgumentError. */
function reader<Value>(expected: string, read: (text: string) => Value | undefined): (text: string) => Value {
  return (text) => {
    const value = read(text.trim())
    if (value === undefined) throw new InvalidArgumentError(`Expected ${expected}.`)
    return value
  }
}
