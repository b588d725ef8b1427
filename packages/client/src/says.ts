import type { Claims } from './types'

/** What an answer says, as a sentence. */
export function sentenceOf({ result, units, operation, timestamp, inputRefs }: Claims): string {
  const [a, b] = inputRefs.map((ref) => `${ref.slice(0, 10)}...`)
  // What is signed is a whole number of centimetres, or of square centimetres.
  const digits = units === 'square_meters' ? 4 : 2
  const fixed = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const number = typeof result === 'number' ? result.toLocaleString('en', fixed) : ''
  const not = result === true ? '' : ' not'
  const radius = Number(operation.split(':')[1]) / 100
  const claims: Readonly<Record<string, string>> = {
    distance: `The distance between ${a} and ${b} is ${number} m`,
    contains: `${a} does${not} contain ${b}`.replace('does contain', 'contains'),
    within: `${a} is${not} within ${radius.toLocaleString('en')} m of ${b}`,
    intersects: `${a} does${not} intersect ${b}`.replace('does intersect', 'intersects'),
    area: `The area of ${a} is ${number} m2`,
    length: `The length of ${a} is ${number} m`,
  }
  const name = operation.split(':')[0]!
  const claim =
    (Object.hasOwn(claims, name) ? claims[name] : undefined) ??
    `${operation}: ${String(result)} ${units ?? ''}`.trimEnd()
  return `${claim}, computed at ${timeOf(timestamp)}.`
}

/** A time as sentences have it: ISO 8601 of Unix seconds; "second ..." where a Date does not reach. */
export function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString().replace('.000Z', 'Z')
}

/** Whether two texts of hex are the same, whatever the case of their letters. */
export function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
