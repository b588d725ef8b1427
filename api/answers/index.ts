/**
 * GET /api/v0/answers: the answers of this service that are attestations.
 *
 * attesters.ts tells the indexers whose attestations they are. A request enters in routes.ts; openapi.ts says
 * what it may ask and reads it, sql.ts asks the database, pages.ts writes pages for browsers. The rest is as
 * for records (room records).
 */

export { noteAttesters } from './attesters'
export { ANSWERS_COMPONENTS } from './openapi'
export { answersRoutes } from './routes'
