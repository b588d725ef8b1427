import { BOUNDS, LAYERS, MAX_ZOOM, TILE_TYPE, tilesAddress } from '../tiles'
import {
  DESCRIPTION,
  JSON_TYPE,
  link,
  SCHEMA,
  selfLinks,
  TITLE,
  type Link,
  type OgcAddresses,
} from './documents'
import { CRS84 } from '../query'
import { MATRIX_SET, type Format } from './parameters'

/**
 * Documents of OGC API - Tiles, Part 1: Core (OGC 20-057), and of its tile matrix set (OGC 17-083r4). They
 * link to the tiles of /tiles.
 */

const RELATION = 'http://www.opengis.net/def/rel/ogc/1.0'
const WEB_MERCATOR = 'http://www.opengis.net/def/crs/EPSG/0/3857'
const MATRIX = {
  id: MATRIX_SET,
  title: 'Web Mercator quadtree',
  uri: `http://www.opengis.net/def/tilematrixset/OGC/1.0/${MATRIX_SET}`,
  crs: WEB_MERCATOR,
}
/** Half the width of the world in Web Mercator, in metres: pi times the equatorial radius of WGS84. */
const HALF_WORLD = Math.PI * 6_378_137
const TILE_PIXELS = 256
/** Metres. The standard defines a pixel as 0.28 mm wide (OGC 17-083r4, 6.1). */
const PIXEL_METERS = 0.00028

export const TILES_CONFORMANCE = [
  ...['core', 'tileset', 'tilesets-list', 'geodata-tilesets', 'mvt'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/${name}`,
  ),
  ...['tilematrixset', 'json-tilematrixset', 'tilesetmetadata', 'json-tilesetmetadata'].map(
    (name) => `http://www.opengis.net/spec/tms/2.0/conf/${name}`,
  ),
]

export function matrixSetsLink(at: OgcAddresses): Link {
  return link(at.matrixSets, `${RELATION}/tiling-schemes`, JSON_TYPE, 'The tile matrix sets')
}

export function tilesetsLink(at: OgcAddresses): Link {
  return link(at.tilesets, `${RELATION}/tilesets-vector`, JSON_TYPE, 'The records as vector tiles')
}

function matrixSetLink(at: OgcAddresses): Link {
  return link(at.matrixSet, `${RELATION}/tiling-scheme`, JSON_TYPE, 'The tile matrix set')
}

export function matrixSets(at: OgcAddresses, links: Link[], format: Format) {
  return {
    links,
    tileMatrixSets: [{ ...MATRIX, links: selfLinks(at.matrixSet, JSON_TYPE, 'The tile matrix set', format) }],
  }
}

export function matrixSet(): object {
  const cellSize = (2 * HALF_WORLD) / TILE_PIXELS
  return {
    ...MATRIX,
    orderedAxes: ['X', 'Y'],
    wellKnownScaleSet: 'http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible',
    tileMatrices: Array.from({ length: MAX_ZOOM + 1 }, (_, zoom) => ({
      id: String(zoom),
      scaleDenominator: cellSize / 2 ** zoom / PIXEL_METERS,
      cellSize: cellSize / 2 ** zoom,
      cornerOfOrigin: 'topLeft',
      pointOfOrigin: [-HALF_WORLD, HALF_WORLD],
      ...{ tileWidth: TILE_PIXELS, tileHeight: TILE_PIXELS },
      ...{ matrixWidth: 2 ** zoom, matrixHeight: 2 ** zoom },
    })),
  }
}

const TILESET = { title: TITLE, dataType: 'vector', crs: WEB_MERCATOR, tileMatrixSetURI: MATRIX.uri }

export function tilesets(at: OgcAddresses, links: Link[], format: Format) {
  return {
    links,
    tilesets: [
      {
        ...TILESET,
        links: [...selfLinks(at.tileset, JSON_TYPE, 'Content of the tiles', format), matrixSetLink(at)],
      },
    ],
  }
}

/** @param publicBaseUrl without a trailing slash */
export function tileset(at: OgcAddresses, publicBaseUrl: string, links: Link[]) {
  const [west, south, east, north] = BOUNDS
  return {
    ...TILESET,
    description: DESCRIPTION,
    boundingBox: { lowerLeft: [west, south], upperRight: [east, north], crs: CRS84 },
    layers: LAYERS.map(({ id, description, fields }) => ({
      ...{ id, description, dataType: 'vector' },
      minTileMatrix: '0',
      maxTileMatrix: String(MAX_ZOOM),
      propertiesSchema: { type: 'object', properties: fields },
    })),
    links: [
      ...links,
      {
        ...link(
          tilesAddress(publicBaseUrl, {}, ['tileMatrix', 'tileCol', 'tileRow']),
          'item',
          TILE_TYPE,
          'The tiles',
        ),
        templated: true as const,
      },
      matrixSetLink(at),
      link(`${at.collection}/schema`, 'describedBy', SCHEMA, 'Schema of a record (JSON Schema)'),
    ],
  }
}
