import { execute, type ExecutionResult, type GraphQLSchema } from 'graphql'
import type { GraphqlBackend } from './gateway'
import type { CheckedQuery } from './limits'
import type { GroupContext, GroupQueries } from './groups'
import { buildPublishedSchema, publishedRows } from './schema'
import { UnavailableError } from '../http/problems'
import type { Work } from '../http/work'
import type { PublishedViews, StatementRunner } from './sql'

/** Queries that GraphiQL opens with. */
export const PUBLISHED_EXAMPLES = `# Run one of these by its name. Every field is described at the right, under Docs.

# The newest places, and how many there are in all.
query Newest {
  locationRecords(first: 10) {
    totalCount
    nodes { chain uid timestamp prover locationType memo revoked geometry }
    pageInfo { hasNextPage endCursor }
  }
}

# Active records in a box: [minLng, minLat, maxLng, maxLat].
query InBox($bbox: [Float!] = [-10, 35, 30, 60]) {
  locationRecords(first: 10, filter: { bbox: $bbox, revoked: { equalTo: false } }) {
    totalCount
    nodes { chain uid longitude latitude geometry memo }
  }
}

# Answers of this service that landed, and what they are about.
query Answers {
  answers(first: 10, filter: { operation: { equalTo: "distance" } }) {
    nodes { chain uid timestamp attester recipient operation result units inputRefs revoked }
  }
}

# What was revoked lately, and the record it leaves.
query Revocations {
  attestationEvents(first: 5, filter: { kind: { equalTo: "REVOKED" } }) {
    nodes {
      chain blockNumber blockTimestamp transactionHash
      locationRecord { uid memo revoked revocationTime events { nodes { kind blockTimestamp } } }
    }
  }
}
`

/** First and longest wait before another attempt to build the schema. The wait doubles each time. */
const RETRY_MS = 500
const LONGEST_RETRY_MS = 30_000

/**
 * Raw GraphQL over the published views. It builds its schema from the database's catalog in the background:
 * the API starts without it, and retries while the database is down, not migrated, or does not grant the
 * role.
 */
export class PublishedGraphql implements GraphqlBackend {
  readonly rowsOf = publishedRows
  private built: GraphQLSchema | undefined
  private retry: NodeJS.Timeout | undefined
  private starting: Promise<void> | undefined
  private closed = false
  private lastReason = ''

  constructor(
    private readonly views: PublishedViews,
    private readonly log: {
      info: (fields: object, text: string) => void
      warn: (fields: object, text: string) => void
    },
    private readonly groups: GroupQueries = {},
  ) {}

  /** Starts to build the schema. Resolves after the first attempt, whether or not it succeeded. */
  start(wait = RETRY_MS): Promise<void> {
    this.starting = this.build().catch((error: Error) => {
      if (this.closed) return
      // Each reason is logged once, not at each attempt.
      if (error.message !== this.lastReason)
        this.log.warn({ reason: error.message }, 'raw GraphQL is not ready')
      this.lastReason = error.message
      this.retry = setTimeout(() => void this.start(Math.min(wait * 2, LONGEST_RETRY_MS)), wait)
    })
    return this.starting
  }

  private async build(): Promise<void> {
    const { role, warning } = await this.views.open()
    if (warning !== undefined)
      this.log.warn({ warning }, 'raw GraphQL uses a login that may do more than read')
    this.built = await this.views.describe((pool) => buildPublishedSchema(pool, this.groups))
    this.log.info({ role: role ?? 'the login of the connection' }, 'raw GraphQL is ready')
  }

  schema(): GraphQLSchema {
    if (!this.built) throw new UnavailableError('Raw GraphQL is not ready.')
    return this.built
  }

  run(
    { document, operation }: CheckedQuery,
    variableValues: Record<string, unknown>,
    work: Work,
  ): Promise<ExecutionResult> {
    const context = { work, reading: [] }
    return this.reading(context, async (pgClient) =>
      execute({
        schema: this.schema(),
        document,
        operationName: operation.name?.value ?? null,
        variableValues,
        contextValue: { ...context, pgClient },
      }),
    )
  }

  /**
   * Opens the runner's transaction for its first statement, once the groups of the same query are read: they
   * use other connections, which the embedded database serves only between transactions.
   */
  private async reading<T>(
    { work: { signal }, reading }: GroupContext,
    run: (runner: StatementRunner) => Promise<T>,
  ): Promise<T> {
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    let transaction: Promise<void> | undefined
    const open = async (): Promise<StatementRunner> => {
      // All fields of the root, and with them the groups, start in the same turn.
      await Promise.resolve()
      await Promise.allSettled(reading)
      return new Promise((resolve, reject) => {
        transaction = this.views
          .read(signal, (runner) => {
            resolve(runner)
            return ended
          })
          .catch(reject)
      })
    }
    let opened: Promise<StatementRunner> | undefined
    try {
      return await run({
        query: async (text, values) => (await (opened ??= open())).query(text, values),
      })
    } finally {
      end()
      await transaction
    }
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.retry)
    await this.starting
    await this.views.close()
  }
}
