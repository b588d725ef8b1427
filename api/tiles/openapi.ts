import { Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { answer, RATE_HEADERS, ref, text, type Schema, RECORDS_ERRORS } from '../http/openapi-components'
import { objectOf } from '../http/schema'
import { TILE_TYPE } from './documents'
import { MAX_ZOOM, readZoom } from './grid'
import { MOST_DRAWN } from './sql'
import { queryOf, parameter, wholeParameter, pathOf } from '../http/parameters'
import { CQL2_FILTER, FILTERS } from '../query'

/** Parameters and OpenAPI documentation of tiles. */

const TILE_PATH = pathOf({
  z: parameter(
    {
      type: 'integer',
      description: `Zoom: the world has 2^z tiles on a side.`,
      minimum: 0,
      maximum: MAX_ZOOM,
    },
    readZoom,
  ),
  x: wholeParameter(0, 'Column, counted from 180 degrees west.'),
  y: wholeParameter(0, 'Row, counted from the north.'),
})
/** Filters of the list of records, and CQL2. */
const TILE_QUERY = queryOf({ ...FILTERS, ...CQL2_FILTER })

export const TILES_COMPONENTS: Readonly<Record<string, Schema>> = {
  TileJson: objectOf('A description of tiles (TileJSON 3.0).', {
    tilejson: Type.Unsafe<'3.0.0'>({ const: '3.0.0', description: 'The version of TileJSON.' }),
    name: Type.String({ description: 'Name of the tileset.' }),
    description: Type.String({ description: 'Description of the tileset.' }),
    scheme: Type.Unsafe<'xyz'>({ const: 'xyz', description: 'Rows are counted from the north.' }),
    tiles: Type.Array(Type.String(), {
      description: 'URL of the tiles with `{z}`, `{x}` and `{y}`, and the filters of this request.',
    }),
    minzoom: Type.Integer({ description: 'Minimum zoom.' }),
    maxzoom: Type.Integer({ description: 'Maximum zoom.' }),
    bounds: Type.Array(Type.Number(), {
      description: 'West, south, east and north, in degrees.',
      minItems: 4,
      maxItems: 4,
    }),
    vector_layers: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Name of the layer.' }),
        description: Type.String({ description: 'Description of the layer.' }),
        minzoom: Type.Integer({ description: 'Minimum zoom.' }),
        maxzoom: Type.Integer({ description: 'Maximum zoom.' }),
        fields: Type.Record(Type.String(), Type.String(), {
          description: 'Fields of its features: type and description, by name.',
        }),
      }),
      { description: 'The layers.' },
    ),
  }),
}

const NOT_MODIFIED = {
  type: 'null',
  description: 'The tile has not changed since the response with this ETag.',
  headers: RATE_HEADERS,
}

export const tilesSchemas = {
  tileJson: {
    operationId: 'getTileJson',
    tags: ['Records'],
    summary: 'TileJSON of the vector tiles',
    description:
      'TileJSON 3.0, for MapLibre, QGIS and others. The filters of the request become those of its tiles.',
    querystring: TILE_QUERY,
    response: {
      200: answer(ref('TileJson'), 'The description.', { headers: RATE_HEADERS }),
      400: RECORDS_ERRORS[400],
      429: RECORDS_ERRORS[429],
      500: RECORDS_ERRORS[500],
    },
  },
  tile: {
    operationId: 'getTile',
    tags: ['Records'],
    summary: 'A vector tile of records',
    description: [
      `Mapbox Vector Tile 2.1, in the tile matrix set WebMercatorQuad, zooms 0 to ${MAX_ZOOM}. A ` +
        `tile with at most ${MOST_DRAWN} records has each of them in the layer \`records\`. A tile ` +
        'with more has those whose position is in it: as points in `records`, or if these are too many, ' +
        'their counts in the layer `clusters`. A tile without records is empty.',
      'The filters are those of the list of records. The ETag identifies the content: with ' +
        'If-None-Match, the response is 304 until at most a quarter of a second after a record of ' +
        'this tile changes.',
    ].join('\n\n'),
    params: TILE_PATH,
    querystring: TILE_QUERY,
    response: {
      200: answer({ type: 'string', description: 'Protocol buffers (binary).' }, 'The tile.', {
        type: TILE_TYPE,
        headers: { ...RATE_HEADERS, etag: text('Identifies the content.') },
      }),
      304: NOT_MODIFIED,
      ...RECORDS_ERRORS,
    },
  },
} satisfies Record<string, FastifySchema>
