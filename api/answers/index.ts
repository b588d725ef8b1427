/**
 * GET /api/v0/answers: the answers of this service that are attestations.
 *
 * attesters.ts stores for the indexers which attesters belong to this service. A request enters in routes.ts.
 * openapi.ts defines and reads its parameters, sql.ts queries the database, and pages.ts writes HTML pages.
 * The room records has the code that lists of answers and of records share.
 */

export { noteAttesters } from './attesters'
export { ANSWERS_COMPONENTS } from './openapi'
export { answerGroupsQuery, answersRoutes } from './routes'
