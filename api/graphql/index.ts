/**
 * /graphql: raw GraphQL over views of the indexed attestations, read-only.
 *
 * A query enters at gateway.ts (HTTP); limits.ts checks it before it runs; published.ts executes it on the
 * schema that PostGraphile builds of the published views (schema.ts, with the filters of sql-filters.ts and
 * the pages of sql-pages.ts); sql.ts holds the connections, the role and the time limits. squid.ts, a door of
 * its own, queries the squid's entities in place of the views: it needs an optional package.
 */

export { type GraphqlBackend, graphqlRoutes } from './gateway'
export { GRAPHQL_COMPONENTS } from './openapi'
export { PUBLISHED_EXAMPLES, PublishedGraphql } from './published'
export { PublishedViews } from './sql'
