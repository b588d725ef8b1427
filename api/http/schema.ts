import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import {
  Type,
  type SchemaOptions,
  type Static,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { ADDRESS_PATTERN, UID_PATTERN } from '../../src/eas'

/**
 * Requests and responses are described once, in TypeBox (JSON Schema 2020-12): the schema of a route
 * validates its requests (validation.ts), types its handler, and is its part of the OpenAPI document.
 * JSON.stringify writes responses, because fast-json-stringify rounds integers and drops fields that a schema
 * does not name.
 */

/** Returns the scope with handlers typed by their routes' schemas. */
export function withTypes(scope: FastifyInstance) {
  return scope.withTypeProvider<TypeBoxTypeProvider>()
}

const NAME = Symbol('name in #/components/schemas')
/** Key on a reference for the schema that it leads to. */
export const TARGET = Symbol('target of a reference')

export type Named<T extends TSchema = TSchema> = T & { [NAME]: string }

/** Names a schema: the document lists it under the name, and other schemas refer to it by `ref`. */
export function named<T extends TSchema>(name: string, schema: T): Named<T> {
  return { ...schema, [NAME]: name }
}

export function ref<T extends TSchema>(schema: Named<T>): TUnsafe<Static<T>> {
  return Type.Unsafe<Static<T>>({ $ref: `#/components/schemas/${schema[NAME]}`, [TARGET]: schema })
}

export function components(...schemas: readonly Named[]): Record<string, TSchema> {
  return Object.fromEntries(schemas.map((schema) => [schema[NAME], schema]))
}

/** Schema of 32 bytes in hex, in any letter case. */
export const uid = (description: string, options: SchemaOptions = {}) =>
  Type.String({ description, pattern: UID_PATTERN, ...options })
/** Schema of an address in any letter case. */
export const address = (description: string) => Type.String({ description, pattern: ADDRESS_PATTERN })
export const oneOfTexts = <const T extends string>(texts: readonly T[], description: string) =>
  Type.Unsafe<T>({ enum: texts, description })
export const constant = <const T>(value: T, description?: string) =>
  Type.Unsafe<T>({ const: value, ...(description !== undefined && { description }) })
export const orNull = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] })
/** Schema of an object. */
export const objectOf = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { description })
export const namedObject = <P extends TProperties>(name: string, description: string, properties: P) =>
  named(name, objectOf(description, properties))
export const oneOf = <T extends TSchema[]>(forms: [...T], options: SchemaOptions = {}) =>
  Type.Unsafe<Static<T[number]>>({ oneOf: forms, ...options })
