import type { LocationRecord } from '@geospatial-attestation/client'

/** How the explorer says things. */

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
/** Characters of an attested text that a line shows; one may be 100 kB long. */
const LINE = 160

export const timeText = (iso: string): string => `${TIME.format(new Date(iso))} UTC`
export const dayText = (milliseconds: number): string => DAY.format(milliseconds)
export const shortHex = (hex: string): string =>
  hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-4)}` : hex

/** An attested text on one line; cut between characters. */
const lineText = (text: string): string => {
  const start = text
    .slice(0, 4 * LINE)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...start]
  return characters.length > LINE ? `${characters.slice(0, LINE).join('')}…` : start
}

export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** What a record is called: its memo, else its location. */
export const titleText = ({ memo, location, location_type: type }: LocationRecord): string =>
  lineText(memo) || `${lineText(type)} ${lineText(location)}`
