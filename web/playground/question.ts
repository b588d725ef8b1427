import type { Answer, AskOptions, Input, OperationName } from '@geospatial-attestation/client'
import { geoOnce } from '../service'

/** An operation as people ask for it; `names` are those of its geometries in the API, in order. */
interface OperationWords {
  title: string
  /** what it answers, in one line */
  about: string
  names: readonly string[]
  labels: readonly string[]
}

export const OPERATIONS: Readonly<Record<OperationName, OperationWords>> = {
  distance: {
    title: 'Distance',
    about: 'How far apart are the nearest places of two geometries?',
    names: ['from', 'to'],
    labels: ['From', 'To'],
  },
  within: {
    title: 'Within',
    about: 'Is a geometry at most so far from another?',
    names: ['geometry', 'target'],
    labels: ['Geometry', 'Target'],
  },
  contains: {
    title: 'Contains',
    about: 'Does a geometry lie wholly in another?',
    names: ['container', 'geometry'],
    labels: ['Container', 'Geometry'],
  },
  intersects: {
    title: 'Intersects',
    about: 'Do two geometries share any place?',
    names: ['geometry1', 'geometry2'],
    labels: ['First geometry', 'Second geometry'],
  },
  area: {
    title: 'Area',
    about: 'How large is a polygon?',
    names: ['geometry'],
    labels: ['Polygon'],
  },
  length: {
    title: 'Length',
    about: 'How long is a line?',
    names: ['geometry'],
    labels: ['Line'],
  },
}

/** A question that can be asked. */
export interface Question {
  operation: OperationName
  inputs: readonly Input[]
  /** metres; of `within` */
  radius?: number
  chainId: number
}

/** The body of the request, as the API takes it. */
export function bodyOf({ operation, inputs, radius, chainId }: Question): object {
  const named = OPERATIONS[operation].names.map((name, i) => [name, inputs[i]] as const)
  return { chainId, ...Object.fromEntries(named), ...(radius !== undefined && { radius }) }
}

/** Asks the service. Throws the errors of its client. */
export function ask(question: Question, signal: AbortSignal): Promise<Answer> {
  const options: AskOptions = { chain: question.chainId, signal }
  const [a, b] = question.inputs as [Input, Input]
  switch (question.operation) {
    case 'distance':
      return geoOnce.distance(a, b, options)
    case 'within':
      return geoOnce.within(a, b, question.radius!, options)
    case 'contains':
      return geoOnce.contains(a, b, options)
    case 'intersects':
      return geoOnce.intersects(a, b, options)
    case 'area':
      return geoOnce.area(a, options)
    case 'length':
      return geoOnce.length(a, options)
  }
}
