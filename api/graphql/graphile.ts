import type { GraphQLFieldConfig, GraphQLNamedType } from 'graphql'
import type { SQL } from 'graphile-build-pg'
import type * as PgSql from 'pg-sql2'
import type { Build } from 'postgraphile'

/** Types of the parts of PostGraphile that the plugins use: it types its build and its contexts as `any`. */

export type Sql = typeof PgSql
export type Resolve = (
  ...all: [
    value: unknown,
    source: SQL,
    typeName: string,
    query: unknown,
    pgType: unknown,
    modifier: unknown,
    field?: string,
  ]
) => SQL | null

interface PgBuild {
  pgSql: Sql
  /** How columns of a type, by its OID, become GraphQL values and back. */
  pg2GqlMapper: Record<string, object>
  addType: (type: GraphQLNamedType) => void
  getTypeByName: <Type extends GraphQLNamedType>(name: string) => Type
  newWithHooks: (type: unknown, spec: object, scope: object) => void
  pgAddStartEndCursor: (connection: object) => object
  connectionFilterScalarOperators: Record<string, Record<string, unknown>>
  connectionFilterResolve: Resolve
  connectionFilterRegisterResolver: (
    typeName: string,
    field: string,
    resolve: (of: { sourceAlias: SQL; fieldValue: unknown }) => SQL,
  ) => void
}

/** Context of a hook: its scope describes the type or the field. */
interface HookContext {
  Self: { name: string }
  scope: {
    isPgConnectionFilter?: boolean
    isPgBackwardRelationField?: boolean
    isPgFieldConnection?: boolean
    isPgRowByUniqueConstraintField?: boolean
    isPgRowConnectionType?: boolean
    isPgRowSortEnum?: boolean
    isRootQuery?: boolean
    pgFieldIntrospection?: { kind: string; name: string }
    pgIntrospection?: { name: string }
  }
  addArgDataGenerator: <Arguments>(generator: (given: Arguments) => object) => void
  fieldWithHooks: FieldWithHooks
}
/** Defines a field. Its generators add SQL to queries that select it. */
export type FieldWithHooks = (
  name: string,
  spec: (field: { addDataGenerator: (generator: () => object) => void }) => object,
  scope: object,
) => GraphQLFieldConfig<unknown, unknown>

export const typedBuild = (build: Build) => build as unknown as PgBuild
export const typedContext = (context: object) => context as HookContext
