import type { Bbox } from './model'

/** The SQL of places: boxes on the plane, and the shapes of records (columns geom, longitude, reach). */

/**
 * A box between these longitudes and latitudes. Without width or height, ST_Envelope gives a line or a point;
 * ST_MakeEnvelope gives a polygon that meets nothing.
 */
export const envelope = (w: string, s: string, e: string, n: string) =>
  `ST_Envelope(ST_SetSRID(ST_MakeLine(ST_MakePoint(${w}, ${s}), ST_MakePoint(${e}, ${n})), 4326))`

/** The envelope of a box. @param value adds a parameter and returns its placeholder */
export function boxSql(box: Bbox, value: (v: unknown) => string): string {
  const [w, s, e, n] = box.map((degrees) => value(degrees)) as [string, string, string, string]
  return envelope(w, s, e, n)
}

/**
 * Whether a shape and a box meet. By PostGIS's own distance, not by ST_Intersects: GEOS throws at rings that
 * cross themselves (a TopologyException, where the box has no width or height) and misses lines without
 * length. `::int <> 0` hides the test from the planner, which then takes it for true nearly always: `&&` has
 * given it the share of records already.
 */
export const meets = (shape: string, box: string) => `(${shape} && ${box} AND ${touches(shape, box)})`
export const touches = (shape: string, box: string) => `ST_DWithin(${shape}, ${box}, 0)::int <> 0`

/**
 * Whether the geometry, with geodesics for edges, may meet one of these boxes. Such edges bulge towards the
 * poles: only points are exactly where geom has them. A shape is found by its box, the column reach
 * (migration Reaches): none of its positions is read.
 * @param around whether geom's own box meets a box
 */
export function reaches(
  boxes: readonly Bbox[],
  box: (bbox: Bbox) => string,
  around: (bbox: Bbox) => string = (each) => `geom && ${box(each)}`,
): string {
  const each = (bbox: Bbox) =>
    `(longitude IS NOT NULL AND ${around(bbox)}) OR (reach IS NOT NULL AND reach && ${box(bbox)})`
  return `(${boxes.flatMap(boxesOf).map(each).join(' OR ')})`
}

/**
 * The bbox as boxes on the plane: two when it crosses the antimeridian. Where it ends there or at a pole,
 * also the other coordinates of the same places (180 is -180, and a pole has every longitude).
 */
export function boxesOf([minLng, minLat, maxLng, maxLat]: Bbox): Bbox[] {
  const boxes: Bbox[] = []
  if (minLng > maxLng) boxes.push([minLng, minLat, 180, maxLat], [-180, minLat, maxLng, maxLat])
  else {
    boxes.push([minLng, minLat, maxLng, maxLat])
    if (minLng === -180 && maxLng < 180) boxes.push([180, minLat, 180, maxLat])
    if (maxLng === 180 && minLng > -180) boxes.push([-180, minLat, -180, maxLat])
  }
  if (maxLat === 90) boxes.push([-180, 90, 180, 90])
  if (minLat === -90) boxes.push([-180, -90, 180, -90])
  return boxes
}
