import { Server } from '@subsquid/graphql-server/lib/server'
import { GraphQLError, execute, type ExecutionResult, type GraphQLSchema } from 'graphql'
import type { GraphqlFace } from './graphql'
import { PAGE_LIMITS, QueryFault, type CheckedQuery, type RowsOf } from './graphql-limits'
import { UnavailableError } from './problems'
import { isOutage, type DatabaseError } from './store'

/**
 * The squid's own GraphQL: the schema and the resolvers that @subsquid/graphql-server makes of schema.graphql, reading the
 * entities' tables in read-only transactions. Its HTTP, which has no limits of its own and tells its SQL, is left out: the face
 * that asks of this is the same as raw GraphQL's.
 */

/** Fields that an answer may have at most, those that may be large counted 50 times (@byteWeight in schema.graphql). */
const RESPONSE_NODES = 10_000
const STATEMENT_TIMEOUT_MS = 3_000

/** Of the server's private parts (4.11.0, pinned; test/squid-graphql.test.ts holds them). */
interface Parts {
  schema(): Promise<GraphQLSchema>
  context(): Promise<() => { openreader: Openreader }>
  disposals: (() => Promise<void>)[]
}
interface Openreader {
  executeQuery(query: unknown): Promise<unknown>
  close(): Promise<void>
}

export class SquidGraphql implements GraphqlFace {
  readonly rowsOf = squidRows

  private constructor(
    private readonly made: GraphQLSchema,
    private readonly context: () => { openreader: Openreader },
    private readonly disposals: (() => Promise<void>)[],
  ) {}

  /** @param dir where schema.graphql lies. The database is the one that DB_URL names; it may be away. */
  static async make(dir: string): Promise<SquidGraphql> {
    // Its question for the squid's status knows one state schema; ours has one a chain, and GET /ready tells it.
    const server = new Server({
      dir,
      maxResponseNodes: RESPONSE_NODES,
      sqlStatementTimeout: STATEMENT_TIMEOUT_MS,
      squidStatus: false,
      subscriptions: false,
    }) as unknown as Parts
    return new SquidGraphql(await server.schema(), await server.context(), server.disposals)
  }

  schema(): GraphQLSchema {
    return this.made
  }

  async run(
    { document, operation }: CheckedQuery,
    variableValues: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<ExecutionResult> {
    const context = this.context()
    const { openreader } = context
    const ask = openreader.executeQuery.bind(openreader)
    openreader.executeQuery = async (query) => {
      if (signal.aborted) throw new QueryFault('The request took too long as a whole: ask for less at once.')
      return ask(query)
    }
    try {
      const result = await execute({
        schema: this.made,
        document,
        operationName: operation.name?.value ?? null,
        variableValues,
        contextValue: context,
        rootValue: {},
      })
      return { ...result, ...(result.errors && { errors: result.errors.map(explained) }) }
    } finally {
      await openreader.close()
    }
  }

  async close(): Promise<void> {
    for (const dispose of this.disposals) await dispose()
  }
}

/** An error whose cause is one that the face tells, where it may be told. */
function explained(error: GraphQLError): GraphQLError {
  const { originalError: cause } = error
  const because = (told: Error) =>
    new GraphQLError(told.message, error.nodes, error.source, error.positions, error.path, told)
  // What it says of a request, not of itself.
  if (cause && (cause as { extensions?: { code?: string } }).extensions?.code === 'BAD_USER_INPUT')
    return because(
      new QueryFault(
        /size limit/.test(cause.message)
          ? `The answer might have more than ${RESPONSE_NODES} fields (data, location, geometry, memo, mediaData and recipePayloads count 50 times): give a limit, or a smaller one.`
          : cause.message,
      ),
    )
  if (!cause) return error
  if ((cause as DatabaseError).code === '57014')
    return because(
      new QueryFault(
        `Looking this up takes longer than ${STATEMENT_TIMEOUT_MS / 1000} seconds: narrow it, by id, uid, chain, prover or a range of time.`,
      ),
    )
  return isOutage(cause)
    ? because(new UnavailableError('The database does not answer right now.', { cause }))
    : error
}

/** Rows of a list by its limit, of a connection by its first: within the same bounds as raw GraphQL's. */
const squidRows: RowsOf = (field, args) => {
  const names = field.args.map(({ name }) => name)
  const rows = names.includes('limit') ? 'limit' : names.includes('first') ? 'first' : undefined
  if (rows === undefined) return undefined
  // A connection's cursor is an offset.
  for (const [name, value, maximum] of [
    [rows, args[rows], PAGE_LIMITS.rows],
    ['offset', args.offset, PAGE_LIMITS.offset],
    ['after', args.after == null ? undefined : Number(args.after), PAGE_LIMITS.offset],
  ] as const)
    if (typeof value === 'number' && !(value >= 0 && value <= maximum))
      throw new QueryFault(`${name}: ${String(args[name])} is not possible; from 0 to ${maximum}.`)
  const asked = args[rows]
  return typeof asked === 'number' ? asked : PAGE_LIMITS.default
}
