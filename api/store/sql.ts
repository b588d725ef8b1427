import { LATEST_SECOND, RECORD_FIELD_LIST } from '../../src/location'
import {
  CHAIN_AT,
  UID_AT,
  UID_END,
  NEWEST_FIRST,
  type Bbox,
  type NearRecords,
  type OneOrMore,
  type PlacedRecord,
  type RecordFilter,
  type RecordParts,
  type RecordQuery,
  type RecordResult,
  type Statement,
  type TimeWindow,
} from './model'
import type { ProvenanceColumn } from './provenance'
import { conditionSql } from './sql-filter'
import { boxesOf, boxSql, reaches, meets, touches } from './sql-places'

/** The SQL of records: one filter, for lists, counts and exports alike. */

const NAMES = RECORD_FIELD_LIST.map(([name]) => name).join(', ')
/** The fields as row_to_json writes them. to_char would take as long as all else. */
const FIELDS = RECORD_FIELD_LIST.map(([name, { type }]) =>
  type === 'time' ? `${name} AT TIME ZONE 'UTC' AS ${name}` : name,
).join(', ')
const time = (value: string) => `to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const PROVENANCE: Readonly<Record<ProvenanceColumn, string>> = {
  schema: 'schema_uid',
  ref_uid: 'ref_uid',
  revocable: 'revocable',
  // A later time is never, too: Postgres and JavaScript write no such year.
  expiration_time: `CASE WHEN expiration_time BETWEEN 1 AND ${LATEST_SECOND} THEN ${time('to_timestamp(expiration_time::float8)')} END`,
  revocation_time: time('revocation_time'),
  block_number: 'block_number',
  block_hash: 'block_hash',
  transaction_hash: 'transaction_hash',
  log_index: 'log_index',
}
/** The provenance of a row of location_record or answer, as a JSON text. */
export const PROVENANCE_TEXT = `row_to_json((SELECT fields FROM (SELECT ${Object.entries(PROVENANCE)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ')}) AS fields))::text`
const PROVENANCE_COLUMNS =
  'schema_uid, ref_uid, revocable, expiration_time, revocation_time, block_number, block_hash, transaction_hash, log_index'
/** Beside a row that has them; and their text. */
const ROW_FIELDS = `LATERAL (SELECT ${FIELDS}) AS fields`
const FIELDS_TEXT = 'row_to_json(fields)::text'
/** The columns of a RecordResult but for its geometry. */
export const RECORD_COLUMNS = `uid, chain, row_to_json((SELECT fields FROM (SELECT ${FIELDS}) AS fields))::text AS text`
/** Whether a column is the value that is wanted, or one of them. */
export function isAny(column: string, wanted: OneOrMore, value: (v: unknown) => string): string {
  return typeof wanted === 'string' ? `${column} = ${value(wanted)}` : `${column} = ANY(${value(wanted)})`
}
/** Characters of a location type in its index: a type may be as long as a transaction, an index entry not. */
export const TYPE_INDEXED = 100
/** Whether a location type is this one, in any letter case. */
function isType(column: string, names: OneOrMore, value: (v: unknown) => string): string {
  const each = typeof names === 'string' ? [names] : names
  return `(${each
    .map((name) => {
      const given = `${value(name)}::text`
      const indexed = `lower(left(${column}, ${TYPE_INDEXED})) = lower(left(${given}, ${TYPE_INDEXED}))`
      return name.length < TYPE_INDEXED ? indexed : `${indexed} AND lower(${column}) = lower(${given})`
    })
    .join(' OR ')})`
}

/** Place and time of a record as the index location_record_place_time has them; time in Unix seconds. */
const PLACE_TIME = `ST_Force3DZ(geom, date_part('epoch', timestamp AT TIME ZONE 'UTC'))`
/** Later than all times. (Infinity as a coordinate would match everything.) */
const ENDLESS = 1e11

/**
 * The records of a list, in a total order; those of a window of time where one is given. Uses the indexes
 * (timestamp, id), (event_timestamp, id), (chain, timestamp), (prover, timestamp), (subject, timestamp),
 * (schema_uid, timestamp), (location_type, timestamp), that of revoked ones, and the GiST indexes on geom, on
 * places and times, and on the reach of geodesics (store.service.test.ts holds the plans to that).
 */
export function listQuery(query: RecordQuery, window?: TimeWindow): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const { by, descending } = query.sort ?? NEWEST_FIRST
  const direction = descending ? 'DESC' : 'ASC'
  const { limit, offset = 0, withGeometry, withProvenance } = query
  const either = branches(query)
  // Each line of a list is a row as it is; with more than the record's fields in it, JSON is made of some.
  const isPlain = !withGeometry && !withProvenance && either.length === 1
  const columns = isPlain
    ? FIELDS
    : `id, ${NAMES}${withGeometry ? ', geometry' : ''}${withProvenance ? `, ${PROVENANCE_COLUMNS}` : ''}`
  const order = (table: string) => `ORDER BY ${table}.${by} ${direction}, ${table}.id ${direction}`
  const select = (filter: RecordFilter) => {
    const where = conditions(filter, value, window)
    if (query.from)
      where.push(
        `(${by}, id) ${descending ? '<' : '>'} (${value(new Date(query.from.at))}, ${value(query.from.id)})`,
      )
    return `SELECT ${columns} FROM location_record
      ${whereClause(where)}
      ${order('location_record')}`
  }
  const page = (limit: number, offset: number) => `LIMIT ${value(limit)} OFFSET ${value(offset)}`
  const rows =
    either.length === 1
      ? select(query)
      : `SELECT * FROM (${either.map((filter) => `(${select(filter)} ${page(offset + limit, 0)})`).join(' UNION ALL ')}) AS either ${order('either')}`
  // The rows are a subquery, so that JSON is made of the page's rows only, and a sorted one, whose order an
  // aggregate keeps where nothing else is done: ORDER BY in it would sort the long lines. They come as one
  // text, a line for each record: this takes a third less time of this process than rows do.
  const line = isPlain ? 'row_to_json(page)::text' : lineOf(query)
  const text = `SELECT string_agg(${line}, E'\\n') AS lines FROM (
      ${rows}
      ${page(limit, offset)}) AS page${isPlain ? '' : `, ${ROW_FIELDS}`}`
  return { text, values }
}

/** A record with what was asked for beyond its fields, between tabs, of a row with ROW_FIELDS. */
function lineOf({ withGeometry, withProvenance }: RecordParts): string {
  return [
    FIELDS_TEXT,
    ...(withGeometry || withProvenance
      ? [`E'\\t' || ${withGeometry ? "coalesce(geometry, '')" : "''"}`]
      : []),
    ...(withProvenance ? [`E'\\t' || ${PROVENANCE_TEXT}`] : []),
  ].join(' || ')
}

/** Filters that may have several values, those first that leave fewer records. */
const SEVERAL = ['prover', 'subject', 'schema', 'locationType', 'chain'] as const
/** Values that are looked up in an index one by one. */
const MOST_BRANCHES = 8

/**
 * Lists that have an index each, and are merged: records in a box, and records without a geometry; records
 * of one value of a filter, and of another.
 */
function branches(filter: RecordFilter): RecordFilter[] {
  if (filter.nowhere === 'too') {
    const { bbox, nowhere: _, ...others } = filter
    return [
      { ...others, ...(bbox && { bbox }) },
      { ...others, nowhere: true as const },
    ].flatMap(branches)
  }
  const name = SEVERAL.find((each) => Array.isArray(filter[each]))
  const values = name ? (filter[name] as readonly string[]) : []
  if (!name || values.length > MOST_BRANCHES) return [filter]
  return values.map((value, i) => ({
    ...filter,
    [name]: value,
    // WKT and wkt are the same records. Postgres says so: JavaScript has other lower-case letters.
    ...(name === 'locationType' && i > 0 && { otherThanTypes: values.slice(0, i) }),
  }))
}

/**
 * The records that listQuery answers. Their JSON has neither a line break nor a tab in it.
 * @param areBare whether neither geometry nor provenance was wanted
 */
export function readLines(lines: string | null, areBare: boolean): RecordResult[] {
  if (lines === null) return []
  if (areBare) return bareRecords(lines)
  return lines.split('\n').map((line) => recordOf(line.split('\t')))
}

function recordOf([text, geometry, provenance]: string[]): RecordResult {
  return {
    ...{ uid: uidOf(text!), chain: chainOf(text!), text: text!, geometry: geometry || null },
    ...(provenance !== undefined && { provenance }),
  }
}

/** A record without its geometry, as a line of a list: those that follow one another are answered as one. */
export class BareRecord implements RecordResult {
  readonly geometry = null
  centimeters?: number

  constructor(
    readonly lines: string,
    readonly start: number,
    readonly end: number,
  ) {}

  get text(): string {
    return this.lines.slice(this.start, this.end)
  }
  get uid(): string {
    return uidOf(this.text)
  }
  get chain(): string {
    return chainOf(this.text)
  }
}

function bareRecords(lines: string): BareRecord[] {
  const rows: BareRecord[] = []
  for (let start = 0; start <= lines.length;) {
    const end = lines.indexOf('\n', start)
    rows.push(new BareRecord(lines, start, end < 0 ? lines.length : end))
    if (end < 0) break
    start = end + 1
  }
  return rows
}

function uidOf(text: string): string {
  return text.slice(UID_AT, UID_END)
}

function chainOf(text: string): string {
  return text.slice(CHAIN_AT, text.indexOf('"', CHAIN_AT))
}

const PLACES = `string_agg(id || E'\\t' || coalesce(geometry, ''), E'\\n') AS lines`
/** The records of a statement that answers PLACES. */
export function readPlaces(lines: string | null): PlacedRecord[] {
  if (lines === null) return []
  return lines.split('\n').map((line) => {
    const end = line.indexOf('\t')
    return { id: line.slice(0, end), geometry: line.slice(end + 1) || null }
  })
}

/**
 * Records after an id, in the order of the bytes of their ids: the primary key has another order, so that it
 * is not read from its start to find the few that match.
 */
export function placesQuery(filter: RecordFilter, after: string, limit: number): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const where = [...conditions(filter, value), `id COLLATE "C" > ${value(after)}`]
  return {
    text: `SELECT ${PLACES} FROM (SELECT id, geometry FROM location_record ${whereClause(where)}
      ORDER BY id COLLATE "C" LIMIT ${value(limit)}) AS placed`,
    values,
  }
}

/** Characters of a geometry that a sample may have: anyone may attest large ones. */
const SAMPLE_CHARACTERS = 2_000
/**
 * The first records in the order of distances from each of these boxes on the plane, which the GiST index on
 * geom has; large geometries are left out.
 */
export function sampleQuery(filter: RecordFilter, boxes: readonly Bbox[], limit: number): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const lists = boxes.map((box) => {
    const where = whereClause([
      ...conditions(filter, value),
      `geom IS NOT NULL AND octet_length(geometry) <= ${SAMPLE_CHARACTERS}`,
    ])
    return `(SELECT id, geometry FROM location_record ${where} ORDER BY geom <-> ${boxSql(box, value)} LIMIT ${value(limit)})`
  })
  return { text: `SELECT ${PLACES} FROM (${lists.join(' UNION ')}) AS sample`, values }
}

/** From this latitude on, degrees, what is near the pole is looked at as well. */
export const POLAR = 75
/** Metres of a degree of latitude where they are fewest: no path covers more degrees. */
const LEAST_DEGREE = 110_574
/** Metres; and by how much distances on it are shorter than on the ellipsoid, at most. */
const SPHERE_RADIUS = 6_371_008
const SPHERE_SHORT = 1.007
/** Candidates that are read at once; and records beyond those wanted, whose order is only about right. */
const MOST_NEAR = 1_000
const SPARE = 20
/** Bytes of a record, as stored, that is read with its place: media may have a megabyte. */
const NEAR_BYTES = 4_000
const SIZE = RECORD_FIELD_LIST.filter(([, { type }]) => ['text', 'texts', 'json'].includes(type))
  .map(([name]) => `coalesce(pg_column_size(near.${name}), 0)`)
  .join(' + ')

/**
 * The records round a position, `limit` at least, from one statement: the first points in the order on the
 * plane give a radius, a box round it holds all that a path of this length gets to. Uses the GiST indexes on
 * geom and on the reach of geodesics. Answers no row where few points are among the first geometries in that
 * order, or the box goes near a pole or across the antimeridian, where it is not right; no lines where there
 * are too many in the box, or large geometries.
 */
export function nearQuery(
  [lng, lat]: readonly [number, number],
  limit: number,
  parts: RecordParts,
): Statement {
  const at = 'ST_SetSRID(ST_MakePoint($1::float8, $2::float8), 4326)'
  const columns = `id, geometry, ${NAMES}${parts.withProvenance ? `, ${PROVENANCE_COLUMNS}` : ''}`
  // Among so many of any shape: an index cannot skip the others, and there may be millions of them.
  const sample = `SELECT geom FROM (SELECT geom, longitude FROM location_record WHERE geom IS NOT NULL
          ORDER BY geom <-> ${at} LIMIT 2 * $3 + ${SPARE}) AS first WHERE longitude IS NOT NULL LIMIT $3`
  const distance = `2 * ${SPHERE_RADIUS} * asin(least(1, sqrt(power(sind((ST_Y(geom) - $2) / 2), 2) + cosd($2) * cosd(ST_Y(geom)) * power(sind((ST_X(geom) - $1) / 2), 2))))`
  const isSmall = `octet_length(geometry) <= ${SAMPLE_CHARACTERS}`
  // Squares of degrees, where they are few about right; of what is no point rather too small.
  const selects = [
    ['longitude IS NOT NULL AND geom', 'power((ST_X(geom) - $1) * cosd($2), 2) + power(ST_Y(geom) - $2, 2)'],
    [
      'reach',
      // Large ones are not read.
      `CASE WHEN ${isSmall} THEN power((geom <-> ${at}) * cosd($2), 2) END`,
    ],
  ].map(([shape, away]) => `SELECT ${columns}, ${away} AS away FROM location_record WHERE ${shape} && box`)
  const line = `E'\\t' || ${lineOf({ ...parts, withGeometry: false })}`
  // The FILTER because aggregates are computed whatever CASE says.
  return {
    text: `SELECT meters, lines FROM (SELECT max(${distance}) * ${SPHERE_SHORT} + 0.02 AS meters, count(*) AS found FROM (
        ${sample}) AS sample) AS radius,
      LATERAL (SELECT meters / ${LEAST_DEGREE} AS high) AS height,
      LATERAL (SELECT high / cosd(least(89, abs($2) + high)) AS wide) AS width,
      LATERAL (SELECT ST_MakeEnvelope($1 - wide, $2 - high, $1 + wide, $2 + high, 4326) AS box) AS reach,
      LATERAL (SELECT CASE WHEN count(*) <= ${MOST_NEAR} AND bool_and(${isSmall}) THEN string_agg(
          id || E'\\t' || geometry || CASE WHEN place <= $3 + ${SPARE} AND ${SIZE} <= ${NEAR_BYTES} THEN ${line} ELSE '' END, E'\\n')
          FILTER (WHERE ${isSmall}) END AS lines
        FROM (SELECT *, row_number() OVER (ORDER BY away) AS place FROM (
          SELECT * FROM (${selects.join(' UNION ALL ')}) AS inside LIMIT ${MOST_NEAR + 1}) AS candidates) AS near, ${ROW_FIELDS}) AS listed
      WHERE found = $3 AND abs($2) + high <= ${POLAR} AND abs($1) + wide < 180`,
    values: [lng, lat, limit],
  }
}

/** The candidates of a statement of nearQuery. */
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

/** The number of records that match, `cap` at most. */
export function countQuery(filter: RecordFilter, cap: number): Statement {
  const values: unknown[] = []
  const value = (v: unknown) => `$${values.push(v)}`
  const selects = branches(filter).map(
    (each) => `SELECT FROM location_record ${whereClause(conditions(each, value))}`,
  )
  return {
    text: `SELECT count(*)::int AS count FROM (${selects.join(' UNION ALL ')} LIMIT ${value(cap)}) AS matching`,
    values,
  }
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length ? `WHERE ${conditions.join(' AND ')}` : ''
}

/**
 * What a record has to be to pass, joined by AND.
 * @param value adds a parameter and returns its placeholder
 */
export function conditions(
  filter: RecordFilter,
  value: (v: unknown) => string,
  window?: TimeWindow,
): string[] {
  const where: string[] = []
  if (filter.ids !== undefined) where.push(`id = ANY(${value(filter.ids)})`)
  if (filter.chain !== undefined) where.push(isAny('chain', filter.chain, value))
  if (filter.prover !== undefined) where.push(isAny('prover', filter.prover, value))
  if (filter.subject !== undefined) where.push(isAny('subject', filter.subject, value))
  if (filter.schema !== undefined) where.push(isAny('schema_uid', filter.schema, value))
  if (filter.locationType !== undefined) where.push(isType('location_type', filter.locationType, value))
  if (filter.otherThanTypes !== undefined)
    where.push(`NOT ${isType('location_type', filter.otherThanTypes, value)}`)
  if (filter.memo !== undefined) where.push(`memo_words(memo) @@ memo_query(${value(filter.memo)})`)
  if (filter.attributes !== undefined) where.push(`attributes @> ${value(filter.attributes)}::jsonb`)
  if (filter.revoked !== undefined) where.push(filter.revoked ? 'revoked' : 'NOT revoked')
  if (filter.after !== undefined) where.push(`timestamp > ${value(filter.after)}`)
  if (filter.before !== undefined) where.push(`timestamp < ${value(filter.before)}`)
  if (window?.since) where.push(`timestamp >= ${value(window.since)}`)
  if (window?.until) where.push(`timestamp < ${value(window.until)}`)
  const box = (each: Bbox) => boxSql(each, value)
  const boxInTime = ([w, s, e, n]: Bbox) =>
    `ST_SetSRID(ST_MakeLine(ST_MakePoint(${value(w)}, ${value(s)}, ${value(window!.since!.getTime() / 1000)}), ST_MakePoint(${value(e)}, ${value(n)}, ${value(window?.until ? window.until.getTime() / 1000 : ENDLESS)})), 4326)`
  const any = (boxes: readonly Bbox[], condition: (box: Bbox) => string) =>
    `(${boxes.flatMap(boxesOf).map(condition).join(' OR ')})`
  /** Whether geom's own box meets a box, since a time where one is given. */
  const around = (each: Bbox) =>
    window?.since ? `${PLACE_TIME} &&& ${boxInTime(each)}` : `geom && ${box(each)}`
  if (filter.nowhere === true) where.push('geom IS NULL')
  if (filter.bbox !== undefined)
    where.push(
      any([filter.bbox], (each) =>
        window?.since ? `(${around(each)} AND ${touches('geom', box(each))})` : meets('geom', box(each)),
      ),
    )
  for (const boxes of [filter.reaching, filter.shownIn && [filter.shownIn]])
    if (boxes) where.push(reaches(boxes, box, around))
  if (filter.condition !== undefined) where.push(conditionSql(filter.condition, value))
  return where
}
