/**
 * GET /api/v0: the attested locations.
 *
 * A request enters in routes.ts; the room query reads it and searches, the room store asks the database,
 * formats and pages write the answer. statistics.ts has what is known of all records; openapi.ts documents
 * the routes, and has what only they may be asked.
 */

export { RECORDS_COMPONENTS } from './openapi'
export { recordsRoutes } from './routes'
