// SPDX-License-Identifier: MIT
import { readMeters } from '../geodesy/centimeters'
import { OPERATION_ROWS } from './table'

/** Lengths of questions in JSON: a double cannot hold each decimal number. */

const LENGTH_NAMES = OPERATION_ROWS.flatMap(([, { parameters = [] }]) => parameters.map(({ name }) => name))
/**
 * Pattern of members with these names, whose letters may be escaped. It matches nothing within a string,
 * because quotes are escaped there.
 */
const LENGTHS = new RegExp(
  `("(?:${LENGTH_NAMES.map(spellingsOf).join('|')})"\\s*:\\s*)((?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)`,
  'g',
)

/** Returns the pattern of a key in JSON. */
function spellingsOf(name: string): string {
  return name.replace(/./g, (letter) => {
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0')
    return `(?:${letter}|\\\\u${code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)})`
  })
}

/**
 * Replaces each length of an operation whose double rounds to another centimetre than its text.
 * @param json text of a question, or of several
 */
export function withRoundableLengths(json: string): string {
  return json.replace(LENGTHS, (whole, key: string, number: string) => {
    const meters = readMeters(number)
    return meters === Number(number) ? whole : `${key}${meters}`
  })
}
