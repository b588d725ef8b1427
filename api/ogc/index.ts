/**
 * /ogc: the records as an OGC API Features collection, for QGIS, GDAL and the like.
 *
 * A request enters in routes.ts. parameters.ts reads it into a search of records; documents.ts and openapi.ts
 * describe the service, pages.ts makes HTML of each answer.
 */

export { ogcRoutes } from './routes'
