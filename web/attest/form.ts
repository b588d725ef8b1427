import { GeoError, InvalidInputError, type Place, type PlaceDetails } from '@geospatial-attestation/client'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useMarked } from '../focus'
import { parametersOf, shareTexts } from '../location'
import { reasonOf, say } from '../messages'
import { parseInput } from '../panel/input'
import { isShareable } from '../panel/shareable'
import { instantOf } from './local-time'
import type { Medium } from './media-fields'

/** Contents of the form's fields. The chain is only in the address. */
export interface Fields {
  place: string
  memo: string
  /** time by the user's clock, in the format of an input of type datetime-local */
  time: string
  media: readonly Medium[]
  recipient: string
}
export interface Problem {
  field: keyof Fields
  sentence: string
}
/** Problem of a form field. It is shown at the field, and nothing is sent. */
export class FormError extends GeoError {
  constructor(readonly problem: Problem) {
    super(say.attest.problems.nothingSent)
  }
}

/** Fields of the form, initially filled from the address, and the problem of one of them. */
export function useForm() {
  const parameters = parametersOf('attest')
  const [fields, setFields] = useState<Fields>({
    place: parameters.get('place') ?? '',
    memo: parameters.get('memo') ?? '',
    ...{ time: '', media: [], recipient: '' },
  })
  /** Values from the address when the page was opened, which the author of the link wrote. */
  const [linked] = useState(fields)
  const isLinked = (['place', 'memo'] as const).some(
    (name) => linked[name] !== '' && fields[name] === linked[name],
  )
  const [problem, setProblem] = useState<Problem>()
  useMarked(problem)
  const set = (changes: Partial<Fields>) => setFields((before) => ({ ...before, ...changes }))
  const { place, memo } = fields
  useLayoutEffect(
    () => void shareTexts('attest', { place: isShareable(place) ? place : '', memo }),
    [place, memo],
  )
  /** Number of files that are being read. */
  const [reading, setReading] = useState(0)
  const setMedia = (change: (media: readonly Medium[]) => readonly Medium[]) =>
    setFields((before) => ({ ...before, media: change(before.media) }))
  const reads = <T>(file: Promise<T>): Promise<T> => {
    setReading((files) => files + 1)
    return file.finally(() => setReading((files) => files - 1))
  }
  const timeInput = useRef<HTMLInputElement>(null)
  /** Fields to attest. An incomplete time has an empty value and fires no event, so its input is asked. */
  const entered = (): Fields =>
    timeInput.current?.validity.badInput ? { ...fields, time: 'incomplete' } : fields
  const problemAt = (field: keyof Fields) => (problem?.field === field ? problem.sentence : undefined)
  return {
    ...{ fields, entered, timeInput, set, setMedia, reads, isReading: reading > 0 },
    ...{ isLinked, problem, problemAt, setProblem },
  }
}

/** Place in the form. Throws a FormError. */
export function placeOf({ place, memo, time, media, recipient }: Fields): Place {
  const wrong = (field: keyof Fields, sentence: string) => new FormError({ field, sentence })
  const parsed = parseInput(place)
  if (parsed.kind === 'nothing') throw wrong('place', say.attest.problems.noPlace)
  if (parsed.kind === 'wrong') throw wrong('place', parsed.problem)
  if (parsed.kind === 'uid') throw wrong('place', say.attest.problems.uid)
  if (parsed.isPrivate) throw wrong('place', say.attest.problems.private)
  const at = time === '' ? undefined : instantOf(time)
  if (time !== '' && !(Date.parse(time) >= 0)) throw wrong('time', say.attest.problems.time)
  if (time !== '' && !at) throw wrong('time', say.attest.problems.clocks)
  const lacks = media.findIndex(({ type, data }) => !type.trim() || !data.trim())
  if (lacks >= 0) throw wrong('media', say.attest.problems.medium(lacks + 1))
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

/** Problem of the form, or one that the client reports with a field; undefined for other errors. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof FormError) return error.problem
  if (!(error instanceof InvalidInputError)) return undefined
  const [, name] = /^place\.(\w+)/.exec(error.detail) ?? []
  const field = (['memo', 'time', 'media', 'recipient'] as const).find((each) => each === name) ?? 'place'
  // The path of a position in the geometry stays: "the edge that starts here" is meaningless without it.
  const sentence = error.detail
    .replace(/^place(?!\.location\.)[.\w[\]]*: /, '')
    .replaceAll('place.location.', '')
  return { field, sentence: reasonOf(error, sentence) }
}
