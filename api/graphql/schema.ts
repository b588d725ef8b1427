import type { GraphQLSchema } from 'graphql'
import type { Pool } from 'pg'
import type { Plugin } from 'postgraphile'
import { checksumAddress } from '../../src/eas'
import { typedBuild, typedContext } from './graphile'
import { groupsPlugin, type GroupQueries } from './groups'
import { PAGE_LIMITS, pageRows, type RowsOf } from './limits'
import { PUBLISHED_SCHEMA } from './sql'
import { FiltersPlugin, storedValue } from './sql-filters'
import { OrderPlugin, PageArgumentsPlugin, PageInfoPlugin, PagesPlugin, TotalCountPlugin } from './sql-pages'

/** Columns of addresses: stored in lower case, returned with their checksum. */
const ADDRESSES = new Set(['prover', 'subject', 'attester', 'recipient'])

type Inflection = Record<string, (this: Inflection, ...all: unknown[]) => string>

/** Names the list `locationRecords` instead of `allLocationRecords`, and removes the root's field `query`. */
const NamesPlugin: Plugin = (builder) => {
  builder.hook('inflection', (inflection) =>
    Object.assign(inflection, {
      allRows(this: Inflection, table: unknown) {
        return this.camelCase!(this.pluralize!(this._singularizedTableName!(table)))
      },
    }),
  )
  builder.hook('GraphQLObjectType:fields', (fields, _build, context) => {
    if (!typedContext(context).scope.isRootQuery) return fields
    const { query: _query, ...others } = fields
    return others
  })
}

/** Returns times as the Records API, and addresses with their checksum. Accepts keys in any letter case. */
const ValuesPlugin: Plugin = (builder) => {
  builder.hook('build', (build) => {
    const { pg2GqlMapper, pgSql } = typedBuild(build)
    pg2GqlMapper[TIMESTAMPTZ] = {
      map: (text: string) => new Date(text).toISOString(),
      unmap: (text: string) => pgSql.value(text),
    }
    return build
  })
  builder.hook(
    'GraphQLObjectType:fields:field',
    (field, _build, context) => {
      const { isPgRowByUniqueConstraintField, pgFieldIntrospection: of } = typedContext(context).scope
      const { resolve } = field
      if (!resolve) return field
      if (of?.kind === 'attribute' && ADDRESSES.has(of.name)) {
        const checksummed: typeof resolve = (...all) => {
          const address = resolve(...all) as string | null
          return address === null ? null : checksumAddress(address)
        }
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
/** OID of `timestamp with time zone`, the same in every Postgres. */
const TIMESTAMPTZ = 1184

/** Builds the GraphQL schema of the published views from the database's catalog, which may take a second. */
export async function buildPublishedSchema(pool: Pool, groups: GroupQueries = {}): Promise<GraphQLSchema> {
  // These packages are loaded only here, because loading them takes as long as loading the rest of the API.
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
      PageArgumentsPlugin,
      PagesPlugin,
      OrderPlugin,
      TotalCountPlugin,
      connectionFilter,
      FiltersPlugin,
      groupsPlugin(groups),
    ],
    skipPlugins: [
      // Adds global object IDs, and a field `query` of type Query.
      build.NodePlugin,
      // The plugins above replace this one.
      build.StandardTypesPlugin,
      buildPg.PgConnectionArgFirstLastBeforeAfter,
      buildPg.PgOrderAllColumnsPlugin,
      buildPg.PgOrderByPrimaryKeyPlugin,
      buildPg.PgConnectionArgOrderByDefaultValue,
      buildPg.PgConnectionTotalCount,
      buildPg.PgConnectionArgCondition,
      // Adds mutations and subscriptions, but the schema is read-only.
      build.MutationPlugin,
      build.SubscriptionPlugin,
      buildPg.PgMutationCreatePlugin,
      buildPg.PgMutationUpdateDeletePlugin,
      buildPg.PgMutationProceduresPlugin,
      // Adds database functions as queries.
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
      // FiltersPlugin rejects null and empty filters with a clear message.
      connectionFilterAllowNullInput: true,
      connectionFilterAllowEmptyObjectInput: true,
    },
  })
}

export const publishedRows: RowsOf = (field, args, parent) => {
  // Groups may read all records, so they count as the largest page.
  if (field.name.endsWith('Groups')) return PAGE_LIMITS.rows
  if (!field.args.some(({ name }) => name === 'first')) return undefined
  return pageRows(args, parent.name === 'Query' ? PAGE_LIMITS.default : PAGE_LIMITS.ofRelation)
}
