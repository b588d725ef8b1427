/**
 * /tiles: the records as vector tiles, for maps.
 *
 * A request enters in routes.ts. tiles.ts caches tiles, and drops those that a change affects. It makes tiles
 * from the rows that the statements of sql.ts find: shapes.ts draws shapes, and encode.ts writes the tile.
 * grid.ts has the mathematics of tiles, documents.ts describes them.
 */

export { BOUNDS, LAYERS, TILE_TYPE, tilesAddress } from './documents'
export { MAX_ZOOM } from './grid'
export { TILES_COMPONENTS } from './openapi'
export { tilesRoutes } from './routes'
