import { GraphQLError, execute, type ExecutionResult, type GraphQLSchema } from 'graphql'
import type { GraphqlBackend } from './gateway'
import { checkRange, PAGE_LIMITS, QueryError, type CheckedQuery, type RowsOf } from './limits'
import type { Work } from '../http/work'
import { SettingsError } from '../../src/config'
import { isOutage, isTimeout } from '../store'
import { STATEMENT_TIMEOUT_MS, unavailable } from './sql'

export { graphqlRoutes } from './gateway'

/**
 * The squid's own GraphQL: the schema and the resolvers that @subsquid/graphql-server builds from
 * schema.graphql. They read the entities' tables in read-only transactions. Its HTTP server is not used,
 * because it has no limits of its own and its errors reveal SQL. Requests go through gateway.ts, like those
 * of raw GraphQL.
 */

/**
 * Maximum number of fields in a response. Fields that may be large count 50 times (@byteWeight in
 * schema.graphql).
 */
const RESPONSE_NODES = 10_000

/** Private parts of the server (4.11.0, pinned; test/squid-graphql.system.test.ts tests them). */
interface Parts {
  schema(): Promise<GraphQLSchema>
  context(): Promise<() => { openreader: Openreader }>
  disposals: (() => Promise<void>)[]
}
interface Openreader {
  executeQuery(query: unknown): Promise<unknown>
  close(): Promise<void>
}

export class SquidGraphql implements GraphqlBackend {
  readonly rowsOf = squidRows

  private constructor(
    private readonly made: GraphQLSchema,
    private readonly context: () => { openreader: Openreader },
    private readonly disposals: (() => Promise<void>)[],
  ) {}

  /**
   * Builds the GraphQL server from schema.graphql in `dir`, on the database of DB_URL, which may be down.
   * Throws a SettingsError if @subsquid/graphql-server, an optional dependency, is not installed.
   */
  static async make(dir: string): Promise<SquidGraphql> {
    const { Server } = await loadServer()
    // The server's status query supports a single state schema, but each chain has its own. GET /ready
    // reports their status.
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
    { signal }: Work,
  ): Promise<ExecutionResult> {
    const context = this.context()
    const { openreader } = context
    const ask = openreader.executeQuery.bind(openreader)
    openreader.executeQuery = async (query) => {
      if (signal.aborted)
        throw new QueryError('The request takes too long in total. Request fewer fields or rows.')
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
      return { ...result, ...(result.errors && { errors: result.errors.map(mapError) }) }
    } finally {
      await openreader.close()
    }
  }

  async close(): Promise<void> {
    for (const dispose of this.disposals) await dispose()
  }
}

async function loadServer() {
  try {
    return await import('@subsquid/graphql-server/lib/server.js')
  } catch (cause) {
    if (!(cause as { code?: string }).code?.endsWith('MODULE_NOT_FOUND')) throw cause
    throw new SettingsError(
      "The squid's GraphQL server needs the optional package @subsquid/graphql-server. Install " +
        'with `npm ci` (in Docker: --build-arg OMIT=--omit=dev).',
      { cause },
    )
  }
}

/** Maps an error to one whose cause the gateway may show to the client. Internal errors stay as they are. */
function mapError(error: GraphQLError): GraphQLError {
  const { originalError: cause } = error
  const because = (shown: Error) =>
    new GraphQLError(shown.message, error.nodes, error.source, error.positions, error.path, shown)
  // A client error thrown by the server itself.
  if (cause && (cause as { extensions?: { code?: string } }).extensions?.code === 'BAD_USER_INPUT')
    return because(
      new QueryError(
        /size limit/.test(cause.message)
          ? `The response might have more than ${RESPONSE_NODES} fields (data, location, geometry, memo, ` +
              'mediaData and recipePayloads count 50 times). Set a limit, or a smaller one.'
          : cause.message,
      ),
    )
  if (!cause) return error
  if (isTimeout(cause))
    return because(
      new QueryError(
        `Reading this field takes longer than ${STATEMENT_TIMEOUT_MS / 1000} seconds. Narrow it by ` +
          'id, uid, chain, prover or a time range.',
      ),
    )
  return isOutage(cause) ? because(unavailable(cause)) : error
}

/** Rows of a list (`limit`) or of a connection (`first`). */
const squidRows: RowsOf = (field, args) => {
  const names = field.args.map(({ name }) => name)
  const rows = names.includes('limit') ? 'limit' : names.includes('first') ? 'first' : undefined
  if (rows === undefined) return undefined
  // In this schema, a connection's cursor is an offset.
  const { [rows]: asked, offset, after } = args
  checkRange(rows, asked, PAGE_LIMITS.rows)
  checkRange('offset', offset, PAGE_LIMITS.offset)
  if (after != null) checkRange('after', Number(after), PAGE_LIMITS.offset, after as string)
  return typeof asked === 'number' ? asked : PAGE_LIMITS.default
}
