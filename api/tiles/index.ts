/**
 * /tiles: the records as vector tiles, for maps.
 *
 * A request enters in routes.ts. tiles.ts keeps tiles, and forgets those that a change concerns; it makes
 * them from what the statements of sql.ts find: shapes.ts draws, encode.ts writes. grid.ts has the
 * mathematics of tiles, documents.ts describes them.
 */

export { BOUNDS, LAYERS, TILE_TYPE, tilesAddress } from './documents'
export { MAX_ZOOM } from './grid'
export { TILES_COMPONENTS } from './openapi'
export { tilesRoutes } from './routes'
