/** The SQL of records: one filter, for lists, counts and exports alike. */

/** minLng, minLat, maxLng, maxLat in degrees; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
export type Bbox = readonly [number, number, number, number]

export interface RecordFilter {
  chain?: string
  /** lower-case, as the next two */
  prover?: string
  subject?: string
  schema?: string
  /** in any letter case */
  locationType?: string
  revoked?: boolean
  /** exclusive, as the next */
  after?: Date
  before?: Date
  bbox?: Bbox
  /** Records whose geometry, with geodesics for edges, may meet one of these boxes: a superset, to be looked at. */
  reaching?: readonly Bbox[]
  /** Only these: `<chain>-<uid>` */
  ids?: readonly string[]
}

export const SORT_FIELDS = ['timestamp', 'event_timestamp'] as const
export interface Sort {
  by: (typeof SORT_FIELDS)[number]
  descending: boolean
}
export const NEWEST_FIRST: Sort = { by: 'timestamp', descending: true }

/** A place in the order of records: the next ones are found from it however many arrive meanwhile. */
export interface RecordPosition {
  /** Unix milliseconds, of the field that is sorted by */
  at: number
  /** `<chain>-<uid>` */
  id: string
}

export interface RecordQuery extends RecordFilter {
  limit: number
  offset?: number
  /** Default: newest first. */
  sort?: Sort
  /** Only what comes after this in the order. */
  from?: RecordPosition
  /** Whether `geometry` is wanted. */
  withGeometry?: boolean
}

/** A location record as it is read; recordJson (records.ts) makes it what INTERFACE.md says. */
export interface RecordRow {
  uid: string
  chain: string
  /** lower-case, as the next */
  prover: string
  subject: string
  /** The other fields as a JSON object's text, made by Postgres: several times as fast as reading and writing them here. */
  rest: string
  /** GeoJSON geometry as text; null where there is none or it was not asked for */
  geometry: string | null
}

/** A statement and its parameters. */
export interface Statement {
  text: string
  values: unknown[]
}

/** As Date's toISOString. */
const ISO = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ${column}`
const REST = `row_to_json((SELECT fields FROM (SELECT ${ISO('timestamp')}, ${ISO('event_timestamp')}, srs, location_type, location,
  longitude::float8 AS longitude, latitude::float8 AS latitude, recipe_types, recipe_payloads, media_types, media_data,
  memo, revoked, ${ISO('created_at')}, ${ISO('updated_at')}) AS fields))::text AS rest`
/** Those of a RecordRow but for its geometry. */
export const RECORD_COLUMNS = `uid, chain, prover, subject, ${REST}`
/** A box between these longitudes and latitudes. ST_Envelope gives one without width or height as the line or point that it is; ST_MakeEnvelope's meets nothing. */
export const envelope = (w: string, s: string, e: string, n: string) => `ST_Envelope(ST_SetSRID(ST_MakeLine(ST_MakePoint(${w}, ${s}), ST_MakePoint(${e}, ${n})), 4326))`

/**
 * The records of a list, in a total order. Lives by the indexes (timestamp, id), (event_timestamp, id), (chain, timestamp),
 * (prover, timestamp), (subject, timestamp), (schema_uid, timestamp), (location_type, timestamp), that of revoked ones, and
 * the GiST indexes on geom and on the reach of geodesics (store.test.ts holds the plans to that).
 */
export function listQuery(query: RecordQuery): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const { by, descending } = query.sort ?? NEWEST_FIRST
  const direction = descending ? 'DESC' : 'ASC'
  const where = conditions(query, value)
  if (query.from) where.push(`(${by}, id) ${descending ? '<' : '>'} (${value(new Date(query.from.at))}, ${value(query.from.id)})`)
  const text = `SELECT ${RECORD_COLUMNS}, ${query.withGeometry ? '' : 'NULL AS '}geometry FROM location_record
    ${whereClause(where)}
    ORDER BY ${by} ${direction}, id ${direction}
    LIMIT ${value(query.limit)} OFFSET ${value(query.offset ?? 0)}`
  return { text, values }
}

/** The number of records that match, `cap` at most. */
export function countQuery(filter: RecordFilter, cap: number): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  return { text: `SELECT count(*)::int AS count FROM (SELECT FROM location_record ${whereClause(conditions(filter, value))} LIMIT ${value(cap)}) AS matching`, values }
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length ? `WHERE ${conditions.join(' AND ')}` : ''
}

/** @param value adds a parameter, and answers its name */
function conditions(filter: RecordFilter, value: (v: unknown) => string): string[] {
  const where: string[] = []
  if (filter.ids !== undefined) where.push(`id = ANY(${value(filter.ids)})`)
  if (filter.chain !== undefined) where.push(`chain = ${value(filter.chain)}`)
  if (filter.prover !== undefined) where.push(`prover = ${value(filter.prover)}`)
  if (filter.subject !== undefined) where.push(`subject = ${value(filter.subject)}`)
  if (filter.schema !== undefined) where.push(`schema_uid = ${value(filter.schema)}`)
  if (filter.locationType !== undefined) where.push(`lower(location_type) = lower(${value(filter.locationType)})`)
  if (filter.revoked !== undefined) where.push(filter.revoked ? 'revoked' : 'NOT revoked')
  if (filter.after !== undefined) where.push(`timestamp > ${value(filter.after)}`)
  if (filter.before !== undefined) where.push(`timestamp < ${value(filter.before)}`)
  const box = ([w, s, e, n]: Bbox) => envelope(value(w), value(s), value(e), value(n))
  const any = (boxes: readonly Bbox[], condition: (box: string) => string) => `(${boxes.flatMap(boxesOf).map((each) => condition(box(each))).join(' OR ')})`
  if (filter.bbox !== undefined) where.push(any([filter.bbox], (each) => `ST_Intersects(geom, ${each})`))
  // A point is where it is; the others may bulge.
  if (filter.reaching !== undefined) where.push(any(filter.reaching, (each) => `(longitude IS NOT NULL AND geom && ${each}) OR (longitude IS NULL AND geom IS NOT NULL AND location_reach(geom) && ${each})`))
  return where
}

/**
 * The bbox as boxes on the plane: two when it crosses the antimeridian; and where it ends there or at a pole, the same
 * places under their other names (180 is -180, and a pole has every longitude).
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
