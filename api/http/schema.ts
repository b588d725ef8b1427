import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Type, type SchemaOptions, type Static, type TSchema, type TUnsafe } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { ADDRESS_PATTERN, UID_PATTERN } from '../../src/eas'

/**
 * Requests and answers are described once, in TypeBox (JSON Schema 2020-12): the schema of a route validates
 * its requests (validation.ts), types its handler, and is its part of the OpenAPI document. Answers are
 * written by JSON.stringify: fast-json-stringify rounds integers and drops what a schema does not name.
 */

/** The same scope, in which handlers have the types of their routes' schemas. */
export function withTypes(scope: FastifyInstance) {
  return scope.withTypeProvider<TypeBoxTypeProvider>()
}

// --- Named schemas ---

const NAME = Symbol('name in #/components/schemas')
/** On a reference: the schema that it leads to. */
export const TARGET = Symbol('target of a reference')

export type Named<T extends TSchema = TSchema> = T & { [NAME]: string }

/** A schema that the document lists under a name, and that others refer to by `ref`. */
export function named<T extends TSchema>(name: string, schema: T): Named<T> {
  return { ...schema, [NAME]: name }
}

export function ref<T extends TSchema>(schema: Named<T>): TUnsafe<Static<T>> {
  return Type.Unsafe<Static<T>>({ $ref: `#/components/schemas/${schema[NAME]}`, [TARGET]: schema })
}

/** Schemas by their names. */
export function components(...schemas: readonly Named[]): Record<string, TSchema> {
  return Object.fromEntries(schemas.map((schema) => [schema[NAME], schema]))
}

// --- Common pieces ---

/** 32 bytes in hex, in any letter case. */
export const uid = (description: string, options: SchemaOptions = {}) =>
  Type.String({ description, pattern: UID_PATTERN, ...options })
/** An address in any letter case. */
export const address = (description: string, options: SchemaOptions = {}) =>
  Type.String({ description, pattern: ADDRESS_PATTERN, ...options })
/** One of these texts. */
export const oneOfTexts = <const T extends string>(texts: readonly T[], description: string) =>
  Type.Unsafe<T>({ enum: texts, description })
/** Exactly this value. */
export const constant = <const T>(value: T, description?: string) =>
  Type.Unsafe<T>({ const: value, ...(description !== undefined && { description }) })
export const orNull = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] })
/** One of several forms. */
export const oneOf = <T extends TSchema[]>(forms: [...T], options: SchemaOptions = {}) =>
  Type.Unsafe<Static<T[number]>>({ oneOf: forms, ...options })
