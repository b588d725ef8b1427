import { RECORD_FIELD_LIST } from '../../src/location'
import {
  CHAIN_AT,
  UID_AT,
  UID_END,
  NEWEST_FIRST,
  type Bbox,
  type OneOrMore,
  type RecordFilter,
  type RecordParts,
  type RecordQuery,
  type RecordResult,
  type Statement,
  type TimeWindow,
  type Condition,
  type DecidedPlace,
  type BareRecord,
  type Sort,
  type RecordPage,
} from './model'
import { PROVENANCE_TEXT, PROVENANCE_COLUMNS } from './provenance'

/** The SQL of records: one filter, for lists, counts and exports alike. */

export const NAMES = RECORD_FIELD_LIST.map(([name]) => name).join(', ')
/** The fields as row_to_json writes them. to_char would take as long as all else. */
const FIELDS = RECORD_FIELD_LIST.map(([name, { type }]) =>
  type === 'time' ? `${name} AT TIME ZONE 'UTC' AS ${name}` : name,
).join(', ')
/** Beside a row that has them; and their text. */
export const ROW_FIELDS = `LATERAL (SELECT ${FIELDS}) AS fields`
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
export function lineOf({ withGeometry, withProvenance }: RecordParts): string {
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

export function recordOf([text, geometry, provenance]: string[]): RecordResult {
  return {
    ...{ uid: uidOf(text!), chain: chainOf(text!), text: text!, geometry: geometry || null },
    ...(provenance !== undefined && { provenance }),
  }
}

class BareRow implements BareRecord {
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
  const rows: BareRow[] = []
  for (let start = 0; start <= lines.length;) {
    const end = lines.indexOf('\n', start)
    rows.push(new BareRow(lines, start, end < 0 ? lines.length : end))
    if (end < 0) break
    start = end + 1
  }
  return rows
}

/** A page of rows that were read beyond its limit, where there are more: and where the next page begins. */
export function pageOf(rows: RecordResult[], limit: number, { by }: Sort): RecordPage {
  if (rows.length <= limit) return { rows }
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return last
    ? {
        rows: page,
        next: {
          at: last.centimeters ?? Date.parse(`${(JSON.parse(last.text) as Record<string, string>)[by]}Z`),
          id: `${last.chain}-${last.uid}`,
        },
      }
    : { rows: page }
}

function uidOf(text: string): string {
  return text.slice(UID_AT, UID_END)
}

function chainOf(text: string): string {
  return text.slice(CHAIN_AT, text.indexOf('"', CHAIN_AT))
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

export function whereClause(conditions: readonly string[]): string {
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

// --- Boxes and shapes ---

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
const touches = (shape: string, box: string) => `ST_DWithin(${shape}, ${box}, 0)::int <> 0`

/**
 * Whether the geometry, with geodesics for edges, may meet one of these boxes. Such edges bulge towards the
 * poles: only points are exactly where geom has them. A shape is found by its box, the column reach
 * (migration Reaches): none of its positions is read.
 * @param around whether geom's own box meets a box
 */
function reaches(
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

// --- Filters in CQL2 ---

/**
 * What a record has to be, as SQL that is true for such records, and false or null for others. Columns come
 * from the table of queryables, everything else is a parameter.
 * @param value adds a parameter and returns its placeholder
 */
function conditionSql(condition: Condition<DecidedPlace>, value: (v: unknown) => string): string {
  const joined = (parts: readonly Condition<DecidedPlace>[], word: string) =>
    `(${parts.map((part) => conditionSql(part, value)).join(word)})`
  const box = (each: Bbox) => boxSql(each, value)
  if ('all' in condition) return joined(condition.all, ' AND ')
  if ('any' in condition) return joined(condition.any, ' OR ')
  if ('always' in condition) return condition.always ? 'true' : 'false'
  if ('box' in condition) {
    const within = boxesOf(condition.box).map((each) => meets('geom', box(each)))
    return `${condition.not ? 'NOT ' : ''}(${within.join(' OR ')})`
  }
  if ('place' in condition) {
    const { reach, ids } = condition.place
    const known = `id = ANY(${value(ids)})`
    // By what is known not to meet it, not by what is known to: records may have come since.
    return condition.not ? `(geom IS NOT NULL AND (NOT ${reaches(reach, box)} OR ${known}))` : known
  }
  if ('attribute' in condition) return attributeSql(condition, value)
  const { column } = condition
  if ('isNull' in condition) return `${column} IS ${condition.isNull ? '' : 'NOT '}NULL`
  if ('is' in condition) return condition.is ? column : `NOT ${column}`
  const not = 'not' in condition && condition.not
  if ('like' in condition) return `${column} ${not ? 'NOT ' : ''}LIKE ${value(condition.like)}`
  if ('oneOf' in condition) return `${column} ${not ? '<> ALL' : '= ANY'}(${value(condition.oneOf)})`
  const { compare, to } = condition
  // Texts in the order of their code points, whatever the order of the database.
  const collation = typeof to === 'string' && compare !== '=' && compare !== '<>' ? ' COLLATE "C"' : ''
  return `${column}${collation} ${compare} ${value(to)}`
}

/** By containment where that says it, as it has an index. JSON's null is null. */
function attributeSql(
  condition: Extract<Condition<DecidedPlace>, { attribute: readonly string[] }>,
  value: (v: unknown) => string,
): string {
  const { attribute } = condition
  const path = () => `${value(attribute)}::text[]`
  const text = () => `(attributes #>> ${path()})`
  if ('isNull' in condition) return `${text()} IS ${condition.isNull ? '' : 'NOT '}NULL`
  if ('oneOf' in condition) {
    const contains = condition.oneOf.map((each) => {
      const object = attribute.reduceRight<unknown>((inner, name) => ({ [name]: inner }), each)
      return `attributes @> ${value(JSON.stringify(object))}::jsonb`
    })
    return condition.not
      ? `(${text()} IS NOT NULL AND NOT (${contains.join(' OR ')}))`
      : `(${contains.join(' OR ')})`
  }
  const type = `jsonb_typeof(attributes #> ${path()})`
  if ('like' in condition)
    return `CASE WHEN ${type} = 'string' THEN ${text()} END ${condition.not ? 'NOT ' : ''}LIKE ${value(condition.like)}`
  const { compare, to } = condition
  const isNumber = `${type} = 'number' OR ${text()} ~ '^-?[0-9]{1,78}$'`
  return `CASE WHEN ${isNumber} THEN ${text()}::numeric END ${compare} ${value(String(to))}::numeric`
}
