import type { LocationRecord } from '@geospatial-attestation/client'
import { locale } from '../messages'

/** Texts of the explorer. */

const TIME = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const DAY = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
/** Maximum number of characters of an attested text on one line. The text can have up to 100 kB. */
const LINE = 160

export const timeText = (iso: string): string => `${TIME.format(new Date(iso))} UTC`
export const dayText = (milliseconds: number): string => DAY.format(milliseconds)
export const shortHex = (hex: string): string =>
  hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-4)}` : hex

/** Formats an attested text on one line, truncated between characters. */
export const lineText = (text: string): string => {
  const start = text
    .slice(0, 4 * LINE)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...start]
  return characters.length > LINE ? `${characters.slice(0, LINE).join('')}…` : start
}

/** Title of a record: its memo, otherwise its location. */
export const titleText = ({ memo, location, location_type: type }: LocationRecord): string =>
  lineText(memo) || `${lineText(type)} ${lineText(location)}`
