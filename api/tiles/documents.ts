import { ACTIVE_SLUGS } from '../../src/chains'
import { RECORD_FIELDS } from '../../src/location'
import type { GivenQuery } from '../http/parameters'
import { CLUSTERS_LAYER, RECORDS_LAYER } from './encode'
import { MAX_LATITUDE, MAX_ZOOM } from './grid'

/** TileJSON 3.0 of the tiles, and their description for OGC API - Tiles. */

const TILES_PATH = '/tiles/location-records'
export const TILE_TYPE = 'application/vnd.mapbox-vector-tile'
export const BOUNDS = [-180, -MAX_LATITUDE, 180, MAX_LATITUDE] as const
const NAME = 'Location records'
const DESCRIPTION =
  'Attested places. A tile has its records (layer records), or if they are more than 500, ' +
  'their counts (layer clusters).'

/** Layers with the fields of their features: type and description. */
export const LAYERS: readonly {
  id: string
  description: string
  fields: Readonly<Record<string, { type: 'string' | 'boolean' | 'number'; description: string }>>
}[] = [
  {
    id: RECORDS_LAYER,
    description: 'Records as points, lines and areas with geodesic edges.',
    fields: {
      uid: { type: 'string', description: RECORD_FIELDS.uid.description },
      chain: { type: 'string', description: RECORD_FIELDS.chain.description },
      prover: { type: 'string', description: `${RECORD_FIELDS.prover.description} In lower case.` },
      location_type: {
        type: 'string',
        description: `${RECORD_FIELDS.location_type.description} At most 100 characters.`,
      },
      revoked: { type: 'boolean', description: RECORD_FIELDS.revoked.description },
      timestamp: { type: 'string', description: `${RECORD_FIELDS.timestamp.description} ISO 8601, UTC.` },
      memo: { type: 'string', description: `${RECORD_FIELDS.memo.description} At most 100 characters.` },
      reduced: {
        type: 'boolean',
        description:
          'True if points represent lines or areas that are too small to be visible at this zoom, or a ' +
          'point represents a shape that is too large for a tile, or that is in a tile with many records.',
      },
      open: {
        type: 'boolean',
        description:
          'True for an area that continues beyond the end of the map: its borders are lines of their own, ' +
          'because the end of the map is not one.',
      },
    },
  },
  {
    id: CLUSTERS_LAYER,
    description: 'Points with the number of records around them.',
    fields: {
      point_count: { type: 'number', description: 'Number of records.' },
      revoked_count: { type: 'number', description: 'Number of revoked records.' },
      ...Object.fromEntries(
        ACTIVE_SLUGS.map((slug) => [
          slug,
          { type: 'number' as const, description: `Number of records on ${slug}; absent for 0.` },
        ]),
      ),
    },
  },
]

/** Address template of the tiles, with {z}, {x} and {y}, and the filters of the request. */
export function tilesAddress(publicBaseUrl: string, given: GivenQuery = {}, names = ['z', 'x', 'y']): string {
  const [z, x, y] = names
  const query = new URLSearchParams(given as Record<string, string>).toString()
  return `${publicBaseUrl}${TILES_PATH}/{${z}}/{${x}}/{${y}}.mvt${query && `?${query}`}`
}

export function tileJson(publicBaseUrl: string, given: GivenQuery) {
  return {
    tilejson: '3.0.0' as const,
    name: NAME,
    description: DESCRIPTION,
    scheme: 'xyz' as const,
    tiles: [tilesAddress(publicBaseUrl, given)],
    minzoom: 0,
    maxzoom: MAX_ZOOM,
    bounds: [...BOUNDS],
    vector_layers: LAYERS.map(({ id, description, fields }) => ({
      id,
      description,
      minzoom: 0,
      maxzoom: MAX_ZOOM,
      fields: Object.fromEntries(
        Object.entries(fields).map(([name, field]) => [name, `${field.type}: ${field.description}`]),
      ),
    })),
  }
}
