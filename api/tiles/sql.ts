import {
  conditions,
  isAny,
  statement,
  TYPE_INDEXED,
  type Bind,
  type RecordFilter,
  type Statement,
} from '../store'
import { boxOf, cellsOf, EXTENT, WORLD_BITS, type Tile } from './grid'

/** SQL of tiles. */

/** A tile with more records than this shows only those whose position is in it: as points, or as clusters. */
export const MOST_DRAWN = 500
/**
 * Maximum number of records among which those of a tile are searched if its counts are stored: about 0.1 s.
 */
export const MOST_MET = 50_000
/**
 * Maximum characters of GeoJSON read for a tile, and for one record. Geometries beyond these limits are drawn
 * as a point. A record of this size has about 3,000 to 15,000 positions, and takes a millisecond to parse.
 */
const SHAPE_CHARACTERS = 1_000_000
export const RECORD_CHARACTERS = 100_000
/** Smaller shapes, in the tile's coordinates, are drawn as a point. */
const LEAST_SHAPE = 16
/** Exponent of 2: a tile has 2^CLUSTER_BITS clusters on a side. */
const CLUSTER_BITS = 4
/** Levels of record_cell (migration Tiles). */
const LEVELS = [4, 9, 14]
const MEMO_CHARACTERS = 100

export interface TileRecord {
  uid: string
  chain: string
  /** lower case */
  prover: string
  location_type: string
  revoked: boolean
  /** Unix milliseconds */
  at: number
  /** shortened to MEMO_CHARACTERS */
  memo: string
  /** Position of a point in degrees; null for another shape. */
  lon: number | null
  lat: number | null
  /** Position of another shape (location_x and location_y, migration Tiles); y is null beyond the map. */
  x: number | null
  y: number | null
  /** GeoJSON; null if the record is drawn as a point. */
  shape: string | null
}

/** Count of the records of one cell, chain and state. */
export interface TileCell {
  x: number
  y: number
  chain: string
  revoked: boolean
  total: number
  /** Sums of the positions, in units of the world's width / 2^31. */
  xSum: number
  ySum: number
}

/** SQL of the columns of TileRecord but its shape. */
const DRAWN = `uid, chain, prover, left(location_type, ${TYPE_INDEXED}) AS location_type, revoked, date_part('epoch', timestamp) * 1000 AS at,
          left(memo, ${MEMO_CHARACTERS}) AS memo, CASE WHEN longitude IS NOT NULL THEN ST_X(geom) END AS lon, CASE WHEN longitude IS NOT NULL THEN ST_Y(geom) END AS lat,
          map_x AS x, map_y AS y`

/**
 * Reads the records of a tile, newest last. If there are more than MOST_DRAWN, it returns MOST_DRAWN + 1
 * without shapes, or none if the stored counts show it (isTotalled). Uses the GiST indexes on geom and on the
 * reach of geodesics.
 */
export function recordsQuery(filter: RecordFilter, tile: Tile): Statement {
  return statement((value) => {
    const where = conditions({ ...filter, shownIn: boxOf(tile) }, value)
    // This part is evaluated once, before the others, so that the records of a crowded tile are not read.
    if (isTotalled(filter, tile))
      where.push(
        `(SELECT coalesce(sum(total), 0) FROM record_cell WHERE ${inCells(filter, tile, tile.z, value)}) <= ${MOST_DRAWN}`,
      )
    const least = value((360 * LEAST_SHAPE) / EXTENT / 2 ** tile.z)
    // An attester chooses the size of geom and geometry. Only the bounding box of a shape is read, and the
    // GeoJSON of the shapes that are drawn, the small ones first.
    return `WITH found AS MATERIALIZED (
        SELECT id, ${DRAWN}, reach, octet_length(geometry) AS size, geometry
        FROM location_record WHERE ${where.join(' AND ')} LIMIT ${MOST_DRAWN + 1})
      SELECT uid, chain, prover, location_type, revoked, at, memo, lon, lat, x, y,
        CASE WHEN is_shape AND sum(size) FILTER (WHERE is_shape) OVER (ORDER BY size, id) <= ${SHAPE_CHARACTERS} THEN geometry END AS shape
      FROM found, LATERAL (SELECT reach IS NOT NULL AND size <= ${RECORD_CHARACTERS} AND (SELECT count(*) FROM found) <= ${MOST_DRAWN}
        AND (ST_XMax(reach) - ST_XMin(reach) >= ${least} OR ST_YMax(reach) - ST_YMin(reach)
          >= ${least} * cosd(least(85, greatest(abs(ST_YMin(reach)), abs(ST_YMax(reach)))))) AS is_shape) AS drawing
      ORDER BY at, id`
  })
}

/** True if record_cell has the number of the tile's records. */
export function isTotalled(filter: RecordFilter, { z }: Tile): boolean {
  return isCounted(filter, z)
}

/** True if record_cell has the counts of the tile's clusters. */
export function hasClusters(filter: RecordFilter, { z }: Tile): boolean {
  return isCounted(filter, z + CLUSTER_BITS)
}

/** True if record_cell counts the filter's records by cells of a grid of 2^bits by 2^bits. */
function isCounted({ chain: _, revoked: __, ...others }: RecordFilter, bits: number): boolean {
  return bits <= LEVELS.at(-1)! && Object.values(others).every((each) => each === undefined)
}

/** Level whose cells are those of a grid of 2^bits by 2^bits, or parts of them. */
const levelOf = (bits: number) => LEVELS.find((level) => level >= bits)!

/** SQL condition for the cells of a tile, at the level of a grid of 2^bits. */
function inCells({ chain, revoked }: RecordFilter, { z, x, y }: Tile, bits: number, value: Bind): string {
  const level = levelOf(bits)
  const between = ([first, last]: [number, number]) => `BETWEEN ${value(first)} AND ${value(last)}`
  return [
    `level = ${level} AND x ${between(cellsOf(x, z, level))} AND y ${between(cellsOf(y, z, level))}`,
    ...(chain === undefined ? [] : [isAny('chain', chain, value)]),
    ...(revoked === undefined ? [] : [revoked ? 'revoked' : 'NOT revoked']),
  ].join(' AND ')
}

/** Reads the counts of a tile's clusters that the database maintains. Uses the primary key. */
export function keptCountsQuery(filter: RecordFilter, tile: Tile): Statement {
  return statement((value) => {
    const bits = tile.z + CLUSTER_BITS
    const shift = value(levelOf(bits) - bits)
    return `SELECT x >> ${shift} AS x, y >> ${shift} AS y, chain, revoked, sum(total)::float8 AS total, sum(x_sum)::float8 AS "xSum", sum(y_sum)::float8 AS "ySum"
      FROM record_cell WHERE ${inCells(filter, tile, bits, value)}
      GROUP BY 1, 2, 3, 4 HAVING sum(total) > 0 ORDER BY 1, 2, 3, 4`
  })
}

/** Counts the records of a tile's clusters. Uses the indexes of lists. */
export function countsQuery(filter: RecordFilter, tile: Tile): Statement {
  return statement((value) => {
    const shift = value(WORLD_BITS - tile.z - CLUSTER_BITS)
    return `SELECT (at_x >> ${shift})::float8 AS x, (at_y >> ${shift})::float8 AS y, chain, revoked, count(*)::float8 AS total, sum(at_x)::float8 AS "xSum", sum(at_y)::float8 AS "ySum"
      FROM ${placed('chain, revoked', filter, tile, value)} GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
  })
}

/**
 * Reads the records whose position is in a tile, without shapes, newest last. If there are more than
 * MOST_DRAWN, it returns MOST_DRAWN + 1. Uses the indexes of lists.
 * @param most maximum number of records that meet the tile and are searched; records beyond it are left out
 */
export function placedQuery(filter: RecordFilter, tile: Tile, most?: number): Statement {
  return statement((value) => {
    // The other columns are read only of the records that are returned.
    const ids = `SELECT id FROM ${placed('id', filter, tile, value, most)} LIMIT ${MOST_DRAWN + 1}`
    return `SELECT ${DRAWN}, NULL AS shape FROM location_record WHERE id = ANY(ARRAY(${ids})) ORDER BY at, id`
  })
}

/** SQL of the records whose position, at_x and at_y, is in a tile, among at most `most` that meet it. */
function placed(columns: string, filter: RecordFilter, tile: Tile, value: Bind, most?: number): string {
  const { z, x, y } = tile
  // The reach of a shape contains its position.
  const where = conditions(z === 0 ? filter : { ...filter, shownIn: boxOf(tile) }, value)
  if (z === 0) where.push('geom IS NOT NULL')
  const between = (bounds: [number, number]) => `BETWEEN ${value(bounds[0])} AND ${value(bounds[1])}`
  // LIMIT and OFFSET 0 are optimization fences, so that each position is computed once.
  return `(SELECT ${columns}, CASE WHEN longitude IS NULL THEN map_x ELSE location_x(geom) END AS at_x,
          CASE WHEN longitude IS NULL THEN map_y ELSE location_y(geom) END AS at_y FROM location_record
        WHERE ${where.join(' AND ')} ${most === undefined ? 'OFFSET 0' : `LIMIT ${most}`}) AS placed
      WHERE at_x ${between(cellsOf(x, z, WORLD_BITS))} AND at_y ${between(cellsOf(y, z, WORLD_BITS))}`
}

/** Changes of a chain's records after an ID. */
export interface ChainMoves {
  chain: string
  /** Time when the database received its first record of the chain. */
  since: Date
  /** Grows when records are rewritten without a change in the log. */
  rewrites: number
  /** ID of the last change, stored or deleted; changes up to `forgotten` were deleted. */
  last: number
  forgotten: number
  /** ID, and the box of the record in degrees: west, south, east, north; null if it has no geometry */
  moves: [number, ...([number, number, number, number] | [null, null, null, null])][]
}

/** Reads the changes of every chain after these IDs, at most `limit` per chain. Uses the primary key. */
export function movesQuery(after: Readonly<Record<string, number>>, limit: number): Statement {
  return {
    text: `SELECT chain, since, rewrites::float8 AS rewrites, forgotten::float8 AS forgotten,
        coalesce((SELECT max(id) FROM record_change WHERE chain = state.chain), forgotten)::float8 AS last,
        (SELECT coalesce(json_agg(json_build_array(id, (place[1])[0], (place[1])[1], (place[0])[0], (place[0])[1]) ORDER BY id), '[]') FROM (
          SELECT id, place FROM record_change WHERE chain = state.chain AND id > coalesce(($1::jsonb ->> state.chain)::bigint, 0)
            ORDER BY id LIMIT $2) AS next) AS moves
      FROM record_state AS state`,
    values: [JSON.stringify(after), limit],
  }
}
