import { getAddress } from 'ethers'
import type { GraphQLSchema } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Plugin } from 'postgraphile'
import { PAGE_LIMITS, pageRows, type RowsOf } from './graphql-limits'
import { PUBLISHED_SCHEMA } from './store-published'
import { FiltersPlugin, storedValue } from './store-published-filters'
import { OrderPlugin, PageInfoPlugin, PagesPlugin, TotalCountPlugin } from './store-published-pages'

/** Columns whose values are addresses: lower-case inside, with their checksum on the way out. */
const ADDRESSES = new Set(['prover', 'subject', 'attester', 'recipient'])
/** Addresses come again: their checksum costs a hash of 20 microseconds. */
const checksums = new LRUCache<string, string>({ max: 10_000 })

interface Scope {
  isRootQuery?: boolean
  isPgRowByUniqueConstraintField?: boolean
  pgFieldIntrospection?: { kind: string; name: string }
}
type Inflection = Record<string, (this: Inflection, ...all: unknown[]) => string>

/** `locationRecords` for what PostGraphile calls `allLocationRecords`; no query within the query. */
const NamesPlugin: Plugin = (builder) => {
  builder.hook('inflection', (inflection) =>
    Object.assign(inflection, {
      allRows(this: Inflection, table: unknown) {
        return this.camelCase!(this.pluralize!(this._singularizedTableName!(table)))
      },
    }),
  )
  builder.hook('GraphQLObjectType:fields', (fields, _build, context) => {
    if (!(context.scope as Scope).isRootQuery) return fields
    const { query: _query, ...others } = fields
    return others
  })
}

/** Times as the Records API writes them, addresses with their checksum, keys in any letter case. */
const ValuesPlugin: Plugin = (builder) => {
  builder.hook('build', (build) => {
    const { pg2GqlMapper, pgSql } = build as unknown as {
      pg2GqlMapper: Record<string, object>
      pgSql: { value: (value: unknown) => unknown }
    }
    pg2GqlMapper[TIMESTAMPTZ] = {
      map: (text: string) => new Date(text).toISOString(),
      unmap: (text: string) => pgSql.value(text),
    }
    return build
  })
  builder.hook(
    'GraphQLObjectType:fields:field',
    (field, _build, context) => {
      const { isPgRowByUniqueConstraintField, pgFieldIntrospection: of } = context.scope as Scope
      const { resolve } = field
      if (!resolve) return field
      if (of?.kind === 'attribute' && ADDRESSES.has(of.name)) {
        const checksummed: typeof resolve = (...all) => checksum(resolve(...all) as string | null)
        return { ...field, resolve: checksummed as typeof field.resolve }
      }
      if (isPgRowByUniqueConstraintField) {
        const stored: typeof resolve = (source, args, ...more): unknown =>
          resolve(
            source,
            Object.fromEntries(
              Object.entries(args).map(([name, value]) => [name, storedValue(name, value, name)]),
            ),
            ...more,
          )
        return { ...field, resolve: stored as typeof field.resolve }
      }
      return field
    },
    ['PublishedValues'],
  )
}
/** The number that every Postgres knows the type `timestamp with time zone` by. */
const TIMESTAMPTZ = 1184

function checksum(address: string | null): string | null {
  if (address === null) return null
  let known = checksums.get(address)
  if (known === undefined) checksums.set(address, (known = getAddress(address)))
  return known
}

/** The GraphQL schema of the published views. Asks the database about them, which may take a second. */
export async function buildPublishedSchema(pool: Pool): Promise<GraphQLSchema> {
  // Loaded when they are needed: they take as long as the rest of the API together.
  const [{ createPostGraphileSchema }, build, buildPg, { default: connectionFilter }] = await Promise.all([
    import('postgraphile'),
    import('graphile-build'),
    import('graphile-build-pg'),
    import('postgraphile-plugin-connection-filter'),
  ])
  return createPostGraphileSchema(pool, [PUBLISHED_SCHEMA], {
    appendPlugins: [
      NamesPlugin,
      ValuesPlugin,
      PageInfoPlugin,
      PagesPlugin,
      OrderPlugin,
      TotalCountPlugin,
      connectionFilter,
      FiltersPlugin,
    ],
    skipPlugins: [
      // No object is found by a global id, and no query within a query.
      build.NodePlugin,
      // Replaced by ours.
      build.StandardTypesPlugin,
      buildPg.PgConnectionArgFirstLastBeforeAfter,
      buildPg.PgOrderAllColumnsPlugin,
      buildPg.PgOrderByPrimaryKeyPlugin,
      buildPg.PgConnectionArgOrderByDefaultValue,
      buildPg.PgConnectionTotalCount,
      buildPg.PgConnectionArgCondition,
      // Reading only.
      build.MutationPlugin,
      build.SubscriptionPlugin,
      buildPg.PgMutationCreatePlugin,
      buildPg.PgMutationUpdateDeletePlugin,
      buildPg.PgMutationProceduresPlugin,
      // No function of the database.
      buildPg.PgQueryProceduresPlugin,
      buildPg.PgComputedColumnsPlugin,
    ],
    disableDefaultMutations: true,
    dynamicJson: true,
    setofFunctionsContainNulls: false,
    legacyRelations: 'omit',
    simpleCollections: 'omit',
    graphileBuildOptions: {
      connectionFilterComputedColumns: false,
      connectionFilterSetofFunctions: false,
      connectionFilterArrays: false,
      connectionFilterRelations: false,
      connectionFilterLogicalOperators: false,
      // FiltersPlugin says what is wrong with nothing.
      connectionFilterAllowNullInput: true,
      connectionFilterAllowEmptyObjectInput: true,
    },
  })
}

/** How many rows a field of this schema gives: a page of a connection as many as it was asked for, a relation to one record one. */
export const publishedRows: RowsOf = (field, args, parent) => {
  if (!field.args.some(({ name }) => name === 'first')) return undefined
  return pageRows(args, parent.name === 'Query' ? PAGE_LIMITS.default : PAGE_LIMITS.ofRelation)
}
