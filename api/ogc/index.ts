/**
 * /ogc: the records as an OGC API Features collection, for QGIS, GDAL and the like.
 *
 * A request enters in routes.ts, in the frame of scope.ts. parameters.ts reads it into a search of
 * records; documents.ts, tiles.ts, openapi.ts and schemas.ts describe the service, pages.ts makes HTML of
 * each answer.
 */

export { ogcRoutes } from './routes'
