import '../src/chains-file'
import Fastify, { type FastifyBaseLogger } from 'fastify'
import { MONOTONIC } from '../src/clock'
import { exportDatabaseUrl, processSettings } from '../src/config'
import { openLog } from '../src/log'
import { primaryUrl } from '../src/postgres'
import { openToAllOrigins } from './http/cors'
import { guardedOptions, guardRequests } from './http/guard'
import { SquidGraphql, graphqlRoutes } from './graphql/squid'
import { RequestCounter } from './http/limits'
import { RecordsError, recordsErrorHandler } from './http/problems'
import { listenUntilStopped, runProcess } from './process'

/** Milliseconds for a request to arrive, and for a response: longer than in graphql/gateway.ts. */
const TIMEOUTS = { request: 10_000, answer: 15_000 }

/** `npm run graphql`: serves the squid's own GraphQL (docs/operations/squid.md) at GQL_PORT. */
async function main(): Promise<void> {
  const settings = processSettings('database')
  const logger: FastifyBaseLogger = openLog(settings.logLevel)
  exportDatabaseUrl(await primaryUrl(settings.databaseUrl))
  const backend = await SquidGraphql.make(process.cwd())
  const app = Fastify({
    ...guardedOptions(settings, TIMEOUTS),
    loggerInstance: logger,
    bodyLimit: 65_536,
    routerOptions: { ignoreTrailingSlash: true },
  })
  app.setErrorHandler(recordsErrorHandler(settings.publicBaseUrl))
  app.setNotFoundHandler(() => {
    throw new RecordsError('not-found', "The squid's GraphQL is at /graphql")
  })
  // The schemas of the routes only document the API, so that they neither validate nor serialize.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  guardRequests(app, TIMEOUTS.answer)
  await openToAllOrigins(app)
  await app.register(
    (scope) =>
      graphqlRoutes(scope, {
        backend,
        examples: EXAMPLES,
        counter: new RequestCounter(MONOTONIC.now),
        rateLimitPerHour: settings.recordsRateLimitPerHour,
      }),
    { prefix: '/graphql' },
  )

  const names = { host: 'GQL_PORT', port: 'GQL_PORT' }
  await listenUntilStopped(app, settings.squidGraphql, names, () => backend.close())
}

const EXAMPLES = `# The squid's entities. \`limit\` sets the number of rows of a list.

query Newest {
  locationRecords(limit: 10, orderBy: [timestamp_DESC, id_DESC]) { chain uid timestamp prover locationType memo revoked geometry }
}

query Revocations {
  attestationEvents(limit: 10, where: { kind_eq: REVOKED }, orderBy: blockTimestamp_DESC) { chain uid blockNumber blockTimestamp transactionHash }
}
`

runProcess(main)
