import { GeoError, InvalidInputError, type Place, type PlaceDetails } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { here, setParameters } from '../location'
import { parseInput } from '../panel/input'
import { isShareable } from '../panel/shareable'
import type { Medium } from './media-fields'

/** Maximum number of characters of a parameter. Servers in between refuse much longer addresses. */
const LONGEST_PARAMETER = 6_000

/** Contents of the form's fields. The chain is only in the address. */
export interface Fields {
  place: string
  memo: string
  /** of the user's clock, as an input of type datetime-local has it */
  time: string
  media: readonly Medium[]
  recipient: string
}
type Field = keyof Fields | 'chain'
export interface Problem {
  field: Field
  sentence: string
}
/** Problem of a form field: shown at the field, and nothing is sent. */
export class FormError extends GeoError {
  constructor(readonly problem: Problem) {
    super('Nothing was sent. Correct the marked field and try again.')
  }
}

/** Fields of the form, which the address fills in, and the problem of one of them. */
export function useForm() {
  const { parameters } = here.value
  const [fields, setFields] = useState<Fields>({
    place: parameters.get('place') ?? '',
    memo: parameters.get('memo') ?? '',
    ...{ time: '', media: [], recipient: '' },
  })
  /** Values that the address filled in when the page was opened: the author of the link wrote them. */
  const [linked] = useState(fields)
  const isLinked = (['place', 'memo'] as const).some(
    (name) => linked[name] !== '' && fields[name] === linked[name],
  )
  const [problem, setProblem] = useState<Problem>()
  const set = (changes: Partial<Fields>) => {
    setFields((before) => ({ ...before, ...changes }))
    const { place, memo } = changes
    if (place !== undefined) inAddress('place', isShareable(place) ? place : '')
    if (memo !== undefined) inAddress('memo', memo)
  }
  const problemAt = (field: Field) => (problem?.field === field ? problem.sentence : undefined)
  return { fields, set, isLinked, problemAt, setProblem }
}

/** Place in the form. Throws a FormError. */
export function placeOf({ place, memo, time, media, recipient }: Fields): Place {
  const wrong = (field: Field, sentence: string) => new FormError({ field, sentence })
  const parsed = parseInput(place)
  if (parsed.kind === 'nothing') throw wrong('place', 'Enter a place: draw it on the map, or paste it.')
  if (parsed.kind === 'wrong') throw wrong('place', parsed.problem)
  if (parsed.kind === 'uid')
    throw wrong('place', 'This is the UID of an attestation. Enter a position or GeoJSON.')
  if (parsed.isPrivate)
    throw wrong('place', 'An attestation is public, so a private place (with a salt) cannot be attested.')
  const at = time === '' ? undefined : new Date(time)
  if (at && Number.isNaN(at.getTime())) throw wrong('time', 'Enter a date and a time.')
  const lacks = media.findIndex(({ type, data }) => !type.trim() || !data.trim())
  if (lacks >= 0) throw wrong('media', `File ${lacks + 1} needs a link and a type, such as image/jpeg.`)
  return {
    location: parsed.input as PlaceDetails['location'],
    ...(memo && { memo }),
    ...(at && { time: at }),
    ...(media.length && {
      media: media.map(({ type, data }) => ({ type: type.trim(), data: data.trim() })),
    }),
    ...(recipient.trim() && { recipient: recipient.trim() }),
  }
}

/** Writes a text into the address for sharing, if it fits. */
function inAddress(name: 'place' | 'memo', text: string): void {
  setParameters({ [name]: text.length <= LONGEST_PARAMETER ? text || undefined : undefined })
}

/** Problem that the client reports, with the field that it names; undefined for other errors. */
export function problemOf(error: unknown): Problem | undefined {
  if (!(error instanceof InvalidInputError)) return undefined
  const [, name] = /^place\.(\w+)/.exec(error.detail) ?? []
  const field = (['memo', 'time', 'media', 'recipient'] as const).find((each) => each === name) ?? 'place'
  // A position in the geometry stays: "the edge that starts here" means nothing without it.
  const sentence = error.detail
    .replace(/^place(?!\.location\.)[.\w[\]]*: /, '')
    .replaceAll('place.location.', '')
  return { field, sentence }
}
