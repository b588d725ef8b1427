import {
  type RecordFilter,
  type PlacedRecord,
  type NearRecords,
  type RecordParts,
  type Statement,
  type Bbox,
} from './model'
import { STORED_LINE, bounded, boxSql, recordOf, statement, whereClause, lineOf, conditions } from './sql'
import { PROVENANCE_COLUMNS } from './provenance'

/** SQL of positions: geometries of records, and records around a position. */

const PLACES = `string_agg(id || E'\\t' || coalesce(geometry, ''), E'\\n')`
/** Parses the records of a statement that returns PLACES. */
export function readPlaces(lines: string | null): PlacedRecord[] {
  if (lines === null) return []
  return lines.split('\n').map((line) => {
    const end = line.indexOf('\t')
    return { id: line.slice(0, end), geometry: line.slice(end + 1) || null }
  })
}

/**
 * Reads records after an ID, in the byte order of their IDs. The primary key has another order, so Postgres
 * does not scan it from the start to find the few that match.
 */
export function placesQuery(filter: RecordFilter, after: string, limit: number): Statement {
  return statement((value) => {
    const where = [...conditions(filter, value), `id COLLATE "C" > ${value(after)}`]
    return bounded(
      PLACES,
      ['geometry'],
      `SELECT id, geometry FROM location_record ${whereClause(where)} ORDER BY id COLLATE "C" LIMIT ${value(limit)}`,
    )
  })
}

/** Maximum characters of a geometry in a sample, because anyone may attest large ones. */
const SAMPLE_CHARACTERS = 2_000
/**
 * Reads the first records by planar distance from each of the boxes, which the GiST index on geom orders.
 * Large geometries are left out.
 */
export function sampleQuery(filter: RecordFilter, boxes: readonly Bbox[], limit: number): Statement {
  return statement((value) => {
    const where = whereClause([
      ...conditions(filter, value),
      `geom IS NOT NULL AND octet_length(geometry) <= ${SAMPLE_CHARACTERS}`,
    ])
    const lists = boxes.map(
      (box) =>
        `(SELECT id, geometry FROM location_record ${where} ORDER BY geom <-> ${boxSql(box, value)} LIMIT ${value(limit)})`,
    )
    return `SELECT ${PLACES} AS lines FROM (${lists.join(' UNION ')}) AS sample`
  })
}

/** Degrees of latitude beyond which a search also covers the pole. */
export const POLAR = 75
/**
 * Metres of the shortest degree of latitude: a path covers no more degrees than its length divided by this.
 */
const LEAST_DEGREE = 110_574
/**
 * Radius of the sphere in metres, and the maximum factor by which distances on the ellipsoid exceed those on
 * it.
 */
const SPHERE_RADIUS = 6_371_008
const SPHERE_SHORT = 1.007
/**
 * Maximum number of candidates read at once, and the number of records read beyond those wanted, because
 * their order is approximate.
 */
const MOST_NEAR = 1_000
const SPARE = 20
/** Maximum stored bytes of a line that is read together with its position: media may be a megabyte. */
const NEAR_BYTES = 4_000

/**
 * Reads at least `limit` records around a position, in one statement. The first points in the planar order
 * determine a radius. A box around it contains everything that a path of this length can reach. Uses the GiST
 * indexes on geom and on the reach of geodesics. Returns no row if few of the first geometries in that order
 * are points, or if the box comes near a pole or crosses the antimeridian, where it would be incorrect.
 * Returns no lines if the box holds too many records or large geometries.
 */
export function nearQuery(
  [lng, lat]: readonly [number, number],
  limit: number,
  parts: RecordParts,
): Statement {
  const at = 'ST_SetSRID(ST_MakePoint($1::float8, $2::float8), 4326)'
  const columns = `id, geometry, ${STORED_LINE} AS line${parts.withProvenance ? `, ${PROVENANCE_COLUMNS}` : ''}`
  // The sample looks at a bounded number of geometries of any type: the index cannot skip the others, and
  // there may be millions of them.
  const sample = `SELECT geom FROM (SELECT geom, longitude FROM location_record WHERE geom IS NOT NULL
          ORDER BY geom <-> ${at} LIMIT 2 * $3 + ${SPARE}) AS first WHERE longitude IS NOT NULL LIMIT $3`
  const distance = `2 * ${SPHERE_RADIUS} * asin(least(1, sqrt(power(sind((ST_Y(geom) - $2) / 2), 2) + cosd($2) * cosd(ST_Y(geom)) * power(sind((ST_X(geom) - $1) / 2), 2))))`
  const isSmall = `octet_length(geometry) <= ${SAMPLE_CHARACTERS}`
  // Squared distances in degrees: about right at short distances, and rather too small for shapes other than
  // points.
  const selects = [
    ['longitude IS NOT NULL AND geom', 'power((ST_X(geom) - $1) * cosd($2), 2) + power(ST_Y(geom) - $2, 2)'],
    [
      'reach',
      // Large geometries are not read.
      `CASE WHEN ${isSmall} THEN power((geom <-> ${at}) * cosd($2), 2) END`,
    ],
  ].map(([shape, away]) => `SELECT ${columns}, ${away} AS away FROM location_record WHERE ${shape} && box`)
  const line = `E'\\t' || ${lineOf('line', { ...parts, withGeometry: false })}`
  // The FILTER is needed because Postgres computes aggregates inside CASE unconditionally.
  return {
    text: `SELECT meters, lines FROM (SELECT max(${distance}) * ${SPHERE_SHORT} + 0.02 AS meters, count(*) AS found FROM (
        ${sample}) AS sample) AS radius,
      LATERAL (SELECT meters / ${LEAST_DEGREE} AS high) AS height,
      LATERAL (SELECT high / cosd(least(89, abs($2) + high)) AS wide) AS width,
      LATERAL (SELECT ST_MakeEnvelope($1 - wide, $2 - high, $1 + wide, $2 + high, 4326) AS box) AS reach,
      LATERAL (SELECT CASE WHEN count(*) <= ${MOST_NEAR} AND bool_and(${isSmall}) THEN string_agg(
          id || E'\\t' || geometry || CASE WHEN place <= $3 + ${SPARE} AND pg_column_size(line) <= ${NEAR_BYTES} THEN ${line} ELSE '' END, E'\\n')
          FILTER (WHERE ${isSmall}) END AS lines
        FROM (SELECT *, row_number() OVER (ORDER BY away) AS place FROM (
          SELECT * FROM (${selects.join(' UNION ALL ')}) AS inside LIMIT ${MOST_NEAR + 1}) AS candidates) AS near) AS listed
      WHERE found = $3 AND abs($2) + high <= ${POLAR} AND abs($1) + wide < 180`,
    values: [lng, lat, limit],
  }
}

/** Parses the candidates of a statement of nearQuery. */
export function readNear(lines: string, { withGeometry }: RecordParts): NearRecords['records'] {
  return lines.split('\n').map((line) => {
    const [id, geometry, text, _, provenance] = line.split('\t') as [
      string,
      string,
      string?,
      string?,
      string?,
    ]
    const parts = [withGeometry ? geometry : '', ...(provenance === undefined ? [] : [provenance])]
    return { id, geometry, ...(text !== undefined && { record: recordOf([text, ...parts]) }) }
  })
}
