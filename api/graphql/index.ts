/**
 * /graphql: raw, read-only GraphQL over views of the indexed attestations.
 *
 * A query enters at gateway.ts (HTTP). limits.ts checks it before it runs. published.ts executes it on the
 * schema that PostGraphile builds from the published views (schema.ts, with the filters of sql-filters.ts,
 * the pages of sql-pages.ts and the statistics of groups.ts; graphile.ts types what PostGraphile leaves
 * untyped). sql.ts holds the connections, the role and the time limits. squid.ts is a separate entry point,
 * because it needs an optional package. It queries the squid's entities instead of the views.
 */

export { type GraphqlBackend, graphqlRoutes } from './gateway'
export { GRAPHQL_COMPONENTS } from './openapi'
export { PUBLISHED_EXAMPLES, PublishedGraphql } from './published'
export { PublishedViews } from './sql'
