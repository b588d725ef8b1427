/**
 * GET /api/v0: the attested locations.
 *
 * A request enters in routes.ts; the room query reads it and searches, the room store asks the database,
 * formats and pages write the answer. openapi.ts documents the routes.
 */

export { RECORDS_COMPONENTS } from './openapi'
export { recordsRoutes } from './routes'
