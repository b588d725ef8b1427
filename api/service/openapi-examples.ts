import recorded from './openapi-examples.json'
import { operationsOf, type Document } from './openapi-document'

/** A request that a test sent to the service, and its response. */
export interface Example {
  /** An operationId, or a tag: the example then belongs to every operation of it that returns this status. */
  of: string
  name: string
  summary: string
  request?: unknown
  status: number
  /** Content type without its parameters. */
  type: string
  response: unknown
}

/** The base address under which the examples were recorded. */
export const RECORDED_BASE_URL = 'https://geo.example'

/** Inserts the recorded examples into a document, with this deployment's base address. */
export function withExamples<D extends Pick<Document, 'paths'>>(document: D, publicBaseUrl: string): D {
  const ours = JSON.stringify(publicBaseUrl).slice(1, -1)
  const examples = JSON.parse(JSON.stringify(recorded).replaceAll(RECORDED_BASE_URL, ours)) as Example[]
  for (const operation of operationsOf(document))
    for (const { of, name, summary, request, status, type, response } of examples) {
      if (of !== operation.operationId && !operation.tags?.includes(of)) continue
      const answered = operation.responses[status]?.content?.[type]
      if (answered) (answered.examples ??= {})[name] = { summary, value: response }
      const asked = operation.requestBody?.content['application/json']
      // A request of another operation is not necessarily valid for this one.
      if (asked && request !== undefined && of === operation.operationId && status < 300)
        (asked.examples ??= {})[name] = { summary, value: request }
    }
  return document
}
