import type { FieldState } from '../panel/geometry-field'
import type { Parsed } from '../panel/input'
import { say } from '../messages'
import { isolated, lineText, shortHex } from '../explorer/words'

/** Maximum number of characters of a memo in the sentence of an answer. */
const LONGEST_NAME = 60

/** Names of the places of a question: the memo of a record, a position, or the kind of geometry. */
export function namesOf(parsed: readonly Parsed[], fields: readonly FieldState[]): string[] {
  const names = parsed.map((each, i) => nameOf(each, fields[i]!, 0))
  return names.length === 2 && names[0] === names[1]
    ? parsed.map((each, i) => nameOf(each, fields[i]!, i + 1))
    : names
}

/** @param which 0 for a geometry that is the only one with its name, otherwise its number */
function nameOf(parsed: Parsed, { record }: FieldState, which: number): string {
  const { ask } = say
  if (parsed.kind === 'uid') {
    const memo = record && lineText(record.memo, LONGEST_NAME)
    return memo ? isolated(memo) : ask.record(shortHex(parsed.uid))
  }
  if (parsed.kind !== 'geometry') return ''
  if (parsed.isPrivate) return ask.privatePlace
  const { geometry } = parsed
  return geometry.type === 'Point'
    ? ask.position(geometry.coordinates.slice(0, 2).join(', '))
    : ask.shapes[geometry.type][which]!
}
