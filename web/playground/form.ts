import type { Chain } from '@geospatial-attestation/client'
import { useLayoutEffect, useState } from 'preact/hooks'
import { readMeters } from '../../src/geodesy/centimeters'
import { isOperation, OPERATION_ROWS, rowOf, type OperationName } from '../../src/operations/table'
import { parametersOf, setParameters, shareTexts } from '../location'
import { say } from '../messages'
import { FIELDS } from '../panel/given'
import { parseInput, type Parsed } from '../panel/input'
import { isShareable } from '../panel/shareable'
import type { Question } from './question'
import type { Problem } from './words'

/** Default value of a number that the page's address does not contain. */
const USUAL_NUMBER = '1000'

/** Address parameters that remove the numbers of all operations. */
const withoutNumbers = () =>
  Object.fromEntries(
    OPERATION_ROWS.flatMap(([, row]) => (row.parameters ?? []).map(({ name }) => [name, undefined])),
  )

/** Contents of the form. The page's address contains them too, except private places and long geometries. */
export function useForm() {
  const parameters = parametersOf('playground')
  const named = parameters.get('op') ?? ''
  const operation: OperationName = isOperation(named) ? named : 'distance'
  const { inputs, parameters: numbers = [] } = rowOf(operation)
  const [texts, setTexts] = useState(FIELDS.map((name) => parameters.get(name) ?? ''))
  const [written, setWritten] = useState<Readonly<Record<string, string>>>({})
  const [isShared, setShared] = useState(true)
  const numberText = (name: string) => written[name] ?? parameters.get(name) ?? USUAL_NUMBER

  // An effect shares the texts: a setter of an earlier render, as for a late position, knows old ones.
  useLayoutEffect(() => {
    const open = FIELDS.map((name, i) => [name, isShareable(texts[i]!) ? texts[i]! : ''])
    setShared(shareTexts('playground', Object.fromEntries(open) as Record<string, string>))
  }, [texts])
  const parsed = inputs.map((_, i) => parseInput(texts[i]!))
  return {
    ...{ operation, inputs, numbers, texts, parsed, numberText },
    /** false if the geometries are too long for the page's address */
    isShared,
    setText: (index: number, text: string) =>
      setTexts((texts) => texts.map((before, i) => (i === index ? text : before))),
    setNumber: (name: string, text: string) => setWritten((before) => ({ ...before, [name]: text })),
    /** writes the other fields of an asked question into the address */
    shareAll: (chain: Chain) => {
      const values = numbers.map(({ name }) => [name, numberText(name)] as const)
      setParameters('playground', {
        ...{ ...withoutNumbers(), ...Object.fromEntries(values) },
        ...{ op: operation, chain: chain.slug },
      })
    },
  }
}

/**
 * Number in a text; NaN if there is none. Keyboards of phones have the decimal sign of their language, which
 * may be a comma. A comma before three digits may also separate thousands.
 */
function numberIn(text: string): number {
  const trimmed = text.trim().replace(/^(\d+),(?!\d{3}$)(\d+)$/, '$1.$2')
  return trimmed === '' ? NaN : readMeters(trimmed)
}

/**
 * Question of the form, or the problem of the first field that has one.
 * @param isUndisclosed true if the user has not agreed to send a private place to the operators
 */
export function questionOf(
  { operation, parsed, numbers, numberText }: ReturnType<typeof useForm>,
  chain: Chain | undefined,
  isUndisclosed: boolean,
): { question: Question; chain: Chain } | { problem: Problem } {
  const wrong = parsed.findIndex(({ kind }) => kind === 'wrong' || kind === 'nothing')
  if (wrong >= 0) return { problem: { field: wrong, sentence: sentenceOf(parsed[wrong]!) } }
  const values = numbers.map(({ name }) => numberIn(numberText(name)))
  const missing = numbers[values.findIndex((value) => !(value >= 0))]
  if (missing) {
    const { label, unit } = say.numbers[missing.name]!
    const sentence = say.playground.expectedNumber(label.toLowerCase(), unit)
    return { problem: { field: missing.name, sentence } }
  }
  if (!chain) return { problem: { field: 'chain', sentence: say.playground.noChains } }
  if (isUndisclosed) return { problem: { field: 'general', sentence: say.playground.quorum.undisclosed } }
  const question = {
    ...{ operation, chainId: chain.id },
    inputs: parsed.flatMap((each) => ('input' in each ? [each.input] : [])),
    numbers: values,
  }
  return { question, chain }
}

const sentenceOf = (reading: Parsed) => (reading.kind === 'wrong' ? reading.problem : say.playground.noPlace)
