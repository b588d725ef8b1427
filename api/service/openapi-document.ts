import type { FastifyInstance } from 'fastify'
import type { Schema } from './schema-text'

export interface Document {
  info: { title: string; summary: string; description?: string }
  servers: readonly { url: string; description: string }[]
  tags: readonly { name: string; description?: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
export interface Operation {
  operationId: string
  summary: string
  description?: string
  tags: readonly string[]
  /** Set if the operation requires the admin key. */
  security?: readonly object[]
  parameters?: readonly Parameter[]
  requestBody?: { description?: string; content: Content }
  responses: Record<string, { description?: string; content?: Content }>
}
export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Schema
  example?: unknown
}
/** Forms of a body by media type. */
export type Content = Record<
  string,
  { schema?: Schema; examples?: Record<string, { summary?: string; value: unknown }> }
>

/** Returns the document of the routes, once all are registered. */
export function documentOf(app: FastifyInstance): Document {
  return app.swagger() as unknown as Document
}

/** Returns all operations of the document. */
export function operationsOf({
  paths,
}: Pick<Document, 'paths'>): (Operation & { path: string; method: string })[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, path, method })),
  )
}
