import type { GraphQLEnumType, GraphQLFieldConfig, GraphQLScalarType } from 'graphql'
import type { QueryBuilder, SQL } from 'graphile-build-pg'
import type { Plugin } from 'postgraphile'
import { type FieldWithHooks, typedBuild, typedContext } from './graphile'
import { PAGE_LIMITS, QueryError, pageRows } from './limits'
import { instantOf, ROW_ID } from './sql-filters'

/**
 * Pages of the published views. They replace PostGraphile's own pages, which read any number of rows: its
 * cursors compare with OR, which no index supports, and it reads all rows to find the total and whether
 * another page follows.
 */

/** Column that orders each view. The ID after it makes the order total. An index contains both. */
const TIME_COLUMN: Readonly<Record<string, string>> = {
  location_record: 'timestamp',
  attestation_event: 'block_timestamp',
  answer: 'timestamp',
}
const NEWEST_FIRST = 'NEWEST_FIRST'
/** Maximum of a count, which takes a quarter of a second. */
const COUNT_LIMIT = 100_000

type PageArguments = {
  first?: number | null
  last?: number | null
  offset?: number | null
  after?: string | null
  before?: string | null
  orderBy?: { alias: string } | null
}
type Connection = { data?: unknown[]; totals?: { count: number } }

const pageDefault = ({ isPgBackwardRelationField }: { isPgBackwardRelationField?: boolean }) =>
  isPgBackwardRelationField ? PAGE_LIMITS.ofRelation : PAGE_LIMITS.default

/** Cursors and page information, which replace graphile-build's StandardTypesPlugin. */
export const PageInfoPlugin: Plugin = (builder) => {
  builder.hook(
    'build',
    (build) => {
      const Cursor = new build.graphql.GraphQLScalarType({
        name: 'Cursor',
        description: 'A position in a connection: pass `endCursor` of a page as `after` of the next one.',
        serialize: String,
        parseValue: String,
      })
      typedBuild(build).addType(Cursor)
      return build
    },
    ['StandardTypes'],
  )
  builder.hook(
    'init',
    (nothing, build) => {
      const { GraphQLNonNull, GraphQLBoolean, GraphQLObjectType } = build.graphql
      const fields = ({ fieldWithHooks }: { fieldWithHooks: FieldWithHooks }) => {
        const has = (name: string, description: string) => ({
          [name]: fieldWithHooks(
            name,
            ({ addDataGenerator }) => {
              // Without it, PostGraphile selects no rows for a query that uses none of their fields.
              addDataGenerator(() => ({ usesCursor: [true] }))
              return { description, type: new GraphQLNonNull(GraphQLBoolean) }
            },
            {},
          ),
        })
        return {
          ...has(
            'hasNextPage',
            'True if rows follow this page; when paging backwards, true if `before` was given.',
          ),
          ...has(
            'hasPreviousPage',
            'When paging backwards, true if rows precede this page; otherwise true if `after` or ' +
              '`offset` was given.',
          ),
        }
      }
      typedBuild(build).newWithHooks(
        GraphQLObjectType,
        { name: 'PageInfo', description: 'Position of a page in its list.', fields },
        { isPageInfo: true },
      )
      return nothing
    },
    ['StandardTypes', 'PageInfo'],
  )
}

/** Arguments of pages. Reads one row more than requested, which shows whether another page follows. */
export const PageArgumentsPlugin: Plugin = (builder) => {
  builder.hook('GraphQLObjectType:fields:field:args', (args, build, context) => {
    const { scope, addArgDataGenerator } = typedContext(context)
    const column = scope.isPgFieldConnection ? TIME_COLUMN[scope.pgFieldIntrospection!.name] : undefined
    if (column === undefined) return args
    const { GraphQLInt } = build.graphql
    const { pgSql: sql, getTypeByName } = typedBuild(build)
    const Cursor = getTypeByName<GraphQLScalarType>('Cursor')
    const fallback = pageDefault(scope)
    addArgDataGenerator((given: PageArguments) => {
      const rows = pageRows(given, fallback)
      const order = given.orderBy?.alias ?? NEWEST_FIRST
      return {
        pgQuery: (query: QueryBuilder) => {
          if (given.last != null) query.last(rows + 1)
          else query.first(rows + 1)
          if (given.offset) query.offset(given.offset)
          for (const [cursor, isAfter] of [
            [given.after, true],
            [given.before, false],
          ] as const) {
            if (cursor == null) continue
            const [time, id] = readCursor(cursor, order, isAfter ? 'after' : 'before')
            const forwards = (order !== NEWEST_FIRST) === isAfter
            // A row comparison lets the index scan start at the cursor.
            const place = () =>
              sql.fragment`(${query.getTableAlias()}.${sql.identifier(column)}, ${query.getTableAlias()}.id) ${sql.raw(forwards ? '>' : '<')} (${sql.value(time)}::timestamptz, ${sql.value(id)}::text)`
            query.whereBound(place, isAfter)
          }
        },
      }
    })
    return {
      ...args,
      first: {
        type: GraphQLInt,
        description:
          `Number of rows from the start, at most ${PAGE_LIMITS.rows}; ${fallback} if neither first ` +
          'nor last is given.',
      },
      last: { type: GraphQLInt, description: `Number of rows from the end, at most ${PAGE_LIMITS.rows}.` },
      offset: {
        type: GraphQLInt,
        description:
          `Number of rows to skip, at most ${PAGE_LIMITS.offset}; \`after\` has no such limit, and is ` +
          'as fast at the end as at the start.',
      },
      before: { type: Cursor, description: 'Rows before this cursor.' },
      after: { type: Cursor, description: 'Rows after this cursor.' },
    }
  })
}

/** Cuts the rows of a connection to the requested page. */
export const PagesPlugin: Plugin = (builder) => {
  builder.hook('GraphQLObjectType:fields:field', (field, build, context) => {
    const { scope } = typedContext(context)
    const { resolve } = field
    if (!scope.isPgFieldConnection || !resolve) return field
    const { pgAddStartEndCursor } = typedBuild(build)
    const wrapped: GraphQLFieldConfig<unknown, unknown>['resolve'] = async (
      source,
      args: PageArguments,
      resolveContext,
      info,
    ) => {
      const connection = (await resolve(source, args, resolveContext, info)) as Connection
      const asked = pageRows(args, pageDefault(scope))
      const rows = connection.data ?? []
      const more = rows.length > asked
      const backwards = args.last != null
      const page = { ...connection, data: !more ? rows : backwards ? rows.slice(1) : rows.slice(0, asked) }
      return {
        ...pgAddStartEndCursor(page),
        hasNextPage: backwards ? args.before != null : more,
        hasPreviousPage: backwards ? more : args.after != null || (args.offset ?? 0) > 0,
      }
    }
    return { ...field, resolve: wrapped }
  })
}

/** Orders NEWEST_FIRST and OLDEST_FIRST, which indexes support. */
export const OrderPlugin: Plugin = (builder) => {
  builder.hook('GraphQLEnumType:values', (values, _build, context) => {
    const { isPgRowSortEnum, pgIntrospection } = typedContext(context).scope
    const column = isPgRowSortEnum ? TIME_COLUMN[pgIntrospection!.name] : undefined
    if (column === undefined) return values
    const order = (alias: string, ascending: boolean, description: string) => ({
      description,
      value: {
        alias,
        specs: [
          [column, ascending],
          ['id', ascending],
        ],
        unique: true,
      },
    })
    return {
      [NEWEST_FIRST]: order(NEWEST_FIRST, false, 'By time, newest first'),
      OLDEST_FIRST: order('OLDEST_FIRST', true, 'By time, oldest first'),
    }
  })
  builder.hook(
    'GraphQLObjectType:fields:field:args',
    (args, { graphql: { GraphQLNonNull } }, context) => {
      const type = typedContext(context).scope.isPgFieldConnection
        ? (args.orderBy?.type as { ofType?: { ofType?: GraphQLEnumType } } | undefined)?.ofType?.ofType
        : undefined
      if (!type) return args
      return {
        ...args,
        orderBy: {
          type: new GraphQLNonNull(type),
          description: 'Rows with the same time are ordered by id.',
          defaultValue: type.getValue(NEWEST_FIRST)!.value as unknown,
        },
      }
    },
    ['PublishedOrder'],
    [],
    ['PgConnectionArgOrderBy'],
  )
}

/** Fields totalCount and totalCountIsExact: number of matching rows, counted up to COUNT_LIMIT. */
export const TotalCountPlugin: Plugin = (builder) => {
  builder.hook('GraphQLObjectType:fields', (fields, build, context) => {
    const { scope, fieldWithHooks } = typedContext(context)
    if (!scope.isPgRowConnectionType) return fields
    const { GraphQLInt, GraphQLBoolean, GraphQLNonNull } = build.graphql
    const { pgSql: sql } = typedBuild(build)
    const totals = {
      pgNamedQueryContainer: {
        name: 'totals',
        query: ({ queryBuilder: query, options }: { queryBuilder: QueryBuilder; options: object }): SQL =>
          sql.fragment`(select json_build_object('count', count(*)) from (select from ${query.getTableExpression()} as ${query.getTableAlias()} where ${query.buildWhereClause(false, false, options)} limit ${sql.literal(COUNT_LIMIT + 1)}) as counted)`,
      },
      pgNamedQuery: { name: 'totals', query: () => {} },
      // Every field and alias that needs the count adds this query. Only one is kept.
      pgQuery: (
        _query: QueryBuilder,
        { pgNamedQueryContainer: all }: { pgNamedQueryContainer: { name: string }[] },
      ) => {
        for (let i = all.length - 1; i > 0; i--)
          if (all.findIndex(({ name }) => name === all[i]!.name) < i) all.splice(i, 1)
      },
    }
    const counted = (
      name: string,
      type: GraphQLScalarType,
      description: string,
      of: (count: number) => number | boolean,
    ) =>
      fieldWithHooks(
        name,
        ({ addDataGenerator }) => {
          addDataGenerator(() => totals)
          return {
            description,
            type: new GraphQLNonNull(type),
            resolve: ({ totals: { count } }: Required<Connection>) => of(count),
          }
        },
        {},
      )
    return {
      ...fields,
      totalCount: counted(
        'totalCount',
        GraphQLInt,
        `Number of matching rows on all pages, counted up to ${COUNT_LIMIT}: see \`totalCountIsExact\`.`,
        (count) => Math.min(count, COUNT_LIMIT),
      ),
      totalCountIsExact: counted(
        'totalCountIsExact',
        GraphQLBoolean,
        `False if more than ${COUNT_LIMIT} rows match.`,
        (count) => count <= COUNT_LIMIT,
      ),
    }
  })
}

/** Reads the position in PostGraphile's cursor. Throws a QueryError for one of another order. */
function readCursor(cursor: string, order: string, argument: string): [time: string, id: string] {
  const wrong = () =>
    new QueryError(
      `${argument}: expected a cursor of this connection in the order ${order}: startCursor or ` +
        'endCursor of one of its pages, or the cursor of an edge',
    )
  if (cursor.length > 400) throw wrong()
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64').toString())
  } catch {
    throw wrong()
  }
  const [prefix, place] = Array.isArray(parts) ? (parts as unknown[]) : []
  const [time, id] = Array.isArray(place) ? (place as unknown[]) : []
  if (
    prefix !== order ||
    typeof time !== 'string' ||
    typeof id !== 'string' ||
    !CURSOR_TIME.test(time) ||
    instantOf(time) === undefined ||
    !ROW_ID.test(id)
  )
    throw wrong()
  return [time, id]
}
const CURSOR_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$/
