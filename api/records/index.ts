/**
 * GET /api/v0: the attested locations. A request enters in routes.ts. The room query reads it and searches,
 * the room store queries the database, and formats and pages write the response.
 */

export { RECORDS_COMPONENTS } from './openapi'
export { recordsRoutes } from './routes'
export { recordGroupsQuery } from './statistics'
