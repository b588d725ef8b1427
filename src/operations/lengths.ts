// SPDX-License-Identifier: MIT
import { readMeters, toCentimeters } from '../geodesy/centimeters'
import { isOperation, OPERATION_ROWS, rowOf, type OperationName } from './table'

/** Lengths of questions: in JSON, where a double cannot hold each decimal number, and in their labels. */

const LENGTH_NAMES = OPERATION_ROWS.flatMap(([, { parameters = [] }]) => parameters.map(({ name }) => name))
/** Pattern of these members, whose letters may be escaped. No string matches: quotes are escaped there. */
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

/** Replaces lengths in the text of questions whose double rounds to another centimetre than their text. */
export function withRoundableLengths(json: string): string {
  return json.replace(LENGTHS, (whole, key: string, number: string) => {
    const meters = readMeters(number)
    return meters === Number(number) ? whole : `${key}${meters}`
  })
}

/** Returns an operation's label in answers, such as `distance` or `within:50000` (centimetres). */
export function writeLabel(name: OperationName, numbers: readonly number[]): string {
  const { parameters = [] } = rowOf(name)
  return [name, ...parameters.map((_, i) => toCentimeters(numbers[i]!))].join(':')
}

/** Returns the operation and its numbers from a label; undefined for any other text. */
export function readLabel(text: string): { name: OperationName; numbers: number[] } | undefined {
  const [name = '', ...parts] = text.split(':')
  if (!isOperation(name) || !parts.every((part) => /^\d+$/.test(part))) return undefined
  const numbers = parts.map((centimeters) => Number(centimeters) / 100)
  if (numbers.length !== (rowOf(name).parameters ?? []).length) return undefined
  return writeLabel(name, numbers) === text ? { name, numbers } : undefined
}
