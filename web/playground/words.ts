import { ApiError, ConnectionError, type Answer, type OperationName } from '@geospatial-attestation/client'
import { OPERATIONS, type Question } from './question'

const number = (value: number, digits: number) =>
  value.toLocaleString('en', { maximumFractionDigits: digits })

/** Metres in units that people read: to the centimetre, and in kilometres too where it is far. */
function metres(value: number): string {
  const exact = `${number(value, 2)} m`
  return value >= 10_000 ? `${number(value / 1000, value >= 1e6 ? 0 : 1)} km (${exact})` : exact
}

function squareMetres(value: number): string {
  const exact = `${number(value, 4)} m²`
  return value >= 1e6 ? `${number(value / 1e6, value >= 1e9 ? 0 : 2)} km² (${exact})` : exact
}

/** The answer as a sentence. */
export function sentenceOf({ operation, radius }: Question, { result }: Answer): string {
  const yes = result === true
  switch (operation) {
    case 'distance':
      return result === 0
        ? 'They touch: the distance is 0.00 m.'
        : `The nearest places of the two are ${metres(Number(result))} apart.`
    case 'within':
      return `${yes ? 'Yes' : 'No'}: the geometry is ${yes ? 'at most' : 'more than'} ${metres(radius!)} from the target.`
    case 'contains':
      return yes
        ? 'Yes: the geometry lies wholly in the container.'
        : 'No: part of the geometry lies outside the container, or on its edge only.'
    case 'intersects':
      return yes ? 'Yes: the two share at least one place.' : 'No: the two share no place.'
    case 'area':
      return `The area is ${squareMetres(Number(result))}.`
    case 'length':
      return `The length is ${metres(Number(result))}.`
  }
}

/** Where an error belongs, and what it says. */
export interface Problem {
  /** `0` and `1`: the geometries; `general`: the question as a whole */
  field: 0 | 1 | 'radius' | 'chain' | 'general'
  sentence: string
}

/** An error of asking, in words, at the field that it names. */
export function problemOf(error: unknown, operation: OperationName): Problem {
  const sentence = wordsOf(error)
  if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
    const [, name] = /^(\w+)/.exec(error.detail) ?? []
    const index = OPERATIONS[operation].names.indexOf(name ?? '')
    if (index === 0 || index === 1) return { field: index, sentence }
    if (name === 'radius') return { field: 'radius', sentence }
    if (name === 'chainId') return { field: 'chain', sentence }
  }
  return { field: 'general', sentence }
}

function wordsOf(error: unknown): string {
  if (error instanceof ConnectionError) return `${error.message} Nothing was asked; try again.`
  if (!(error instanceof ApiError)) return (error as Error)?.message ?? String(error)
  if (error.status === 429)
    return `Too many questions were asked from your address. ${again(error.retryAfter)}`
  if (error.status >= 500)
    return `The service cannot answer now: ${error.detail || error.title}. Nothing was signed. ${again(error.retryAfter)}`
  return error.detail || error.title
}

const again = (seconds: number | undefined) =>
  seconds === undefined
    ? 'Try again.'
    : `Try again in ${seconds >= 120 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`}.`
