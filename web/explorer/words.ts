import type { LocationRecord } from '@geospatial-attestation/client'
import { lineOf } from '../../src/words'
import { locale } from '../messages'

const TIME = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const DAY = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
/** Maximum number of characters of an attested text on one line. The text can have up to 100 kB. */
const LINE = 160

export const timeText = (iso: string): string => `${TIME.format(new Date(iso))} UTC`
/** Unix seconds as an ISO time; undefined if they are beyond the range of JavaScript dates. */
export function isoOf(seconds: number): string | undefined {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().replace('.000Z', 'Z')
}
/** Unix seconds as text; as a number if they are beyond the range of JavaScript dates. */
export function secondsText(seconds: number): string {
  const iso = isoOf(seconds)
  return iso === undefined ? `${seconds} s` : timeText(iso)
}
export const dayText = (milliseconds: number): string => DAY.format(milliseconds)
export const shortHex = (hex: string): string =>
  hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-4)}` : hex

/** Formats an attested text on one line (`lineOf`), truncated between characters. */
export const lineText = (text: string, most = LINE): string => {
  const start = lineOf(text.slice(0, 4 * LINE))
  const characters = [...start]
  return characters.length > most ? `${characters.slice(0, most).join('')}…` : start
}

/** Isolates a text, so that its direction does not reorder the sentence that contains it. */
export const isolated = (text: string): string => `\u2068${text}\u2069`

/** Title of a record: its memo, otherwise its type and its location, of JSON only the position. */
export function titleText({ memo, location, location_type: type, ...record }: LocationRecord): string {
  const { longitude, latitude } = record
  const position = longitude === null ? '' : `${longitude}, ${latitude}`
  return lineText(memo) || lineText(`${lineText(type)} ${location.startsWith('{') ? position : location}`)
}
