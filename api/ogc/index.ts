/**
 * /ogc: the records as an OGC API Features collection, for QGIS, GDAL and other GIS software.
 *
 * A request enters in routes.ts, through the registration helpers of scope.ts. parameters.ts reads it into a
 * search of records. documents.ts, tiles.ts, openapi.ts and schemas.ts describe the service. pages.ts renders
 * each response as HTML.
 */

export { ogcRoutes } from './routes'
