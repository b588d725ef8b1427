import { Type } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { answer, RATE_HEADERS, ref, text, type Schema, RECORDS_ERRORS } from '../http/openapi-components'
import { TILE_TYPE } from './documents'
import { MAX_ZOOM, readZoom } from './grid'
import { MOST_DRAWN } from './sql'
import { queryOf, parameter, wholeReader, pathOf } from '../http/parameters'
import { CQL2_FILTER, FILTERS } from '../query'

/** Parameters and OpenAPI documentation of tiles. */

const index = (description: string) => parameter({ type: 'integer', description, minimum: 0 }, wholeReader(0))

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
  x: index('Column, counted from 180 degrees west.'),
  y: index('Row, counted from the north.'),
})
/** Filters of the list of records, and CQL2. */
const TILE_QUERY = queryOf({ ...FILTERS, ...CQL2_FILTER })

export const TILES_COMPONENTS: Readonly<Record<string, Schema>> = {
  TileJson: Type.Object(
    {
      tilejson: Type.Unsafe<'3.0.0'>({ const: '3.0.0', description: 'The version of TileJSON.' }),
      name: Type.String({ description: 'What the tiles show.' }),
      description: Type.String({ description: 'The same in a sentence.' }),
      scheme: Type.Unsafe<'xyz'>({ const: 'xyz', description: 'Rows are counted from the north.' }),
      tiles: Type.Array(Type.String(), {
        description:
          'The address of the tiles, with `{z}`, `{x}` and `{y}` in it, and the filters of this request.',
      }),
      minzoom: Type.Integer({ description: 'The first zoom.' }),
      maxzoom: Type.Integer({ description: 'The last zoom.' }),
      bounds: Type.Array(Type.Number(), {
        description: 'West, south, east and north, in degrees.',
        minItems: 4,
        maxItems: 4,
      }),
      vector_layers: Type.Array(
        Type.Object({
          id: Type.String({ description: 'Name of the layer.' }),
          description: Type.String({ description: 'What it shows.' }),
          minzoom: Type.Integer({ description: 'The first zoom.' }),
          maxzoom: Type.Integer({ description: 'The last zoom.' }),
          fields: Type.Record(Type.String(), Type.String(), {
            description: 'What its features have: type and description, by name.',
          }),
        }),
        { description: 'The layers.' },
      ),
    },
    { description: 'A description of tiles (TileJSON 3.0).' },
  ),
}

const NOT_MODIFIED = {
  type: 'null',
  description: 'The tile is still the one with this ETag.',
  headers: RATE_HEADERS,
}

export const tilesSchemas = {
  tileJson: {
    operationId: 'getTileJson',
    tags: ['Records'],
    summary: 'Where the vector tiles are, and what is in them',
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
      `Mapbox Vector Tile 2.1, in the tile matrix set WebMercatorQuad, zooms 0 to ${MAX_ZOOM}. A tile with ${MOST_DRAWN} records or fewer draws each in the layer \`records\`; one with more counts them in the layer \`clusters\`: none is left out. A tile without records is empty.`,
      'The filters are those of the list of records. The ETag is that of the content: with If-None-Match the answer is 304 until a record of this tile changes, and at most a quarter of a second longer.',
    ].join('\n\n'),
    params: TILE_PATH,
    querystring: TILE_QUERY,
    response: {
      200: answer({ type: 'string', description: 'Protocol buffers: bytes, no text.' }, 'The tile.', {
        type: TILE_TYPE,
        headers: { ...RATE_HEADERS, etag: text('Names the content.') },
      }),
      304: NOT_MODIFIED,
      ...RECORDS_ERRORS,
    },
  },
} satisfies Record<string, FastifySchema>
