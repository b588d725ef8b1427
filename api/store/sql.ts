import { LINE_VERSION, recordLine, type RecordFields } from '../../src/location'
import {
  CHAIN_AT,
  UID_AT,
  UID_END,
  NEWEST_FIRST,
  type Bbox,
  type Bind,
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

/** SQL of records: lists, counts and exports share one filter. */

/** Maximum bytes of the texts that one bounded read returns, apart from the last row. */
export const READ_BYTES = 4_000_000
/**
 * Limit up to which a page is read whole: the sum of the sizes would take a sixth longer. Larger reads are
 * bounded, because anyone may attest records of 100 kB and more.
 */
export const WHOLE_PAGE = 200
/**
 * SQL of an aggregate over the leading rows of a sorted subquery whose texts together have READ_BYTES, and of
 * the number of all its rows as `found`.
 */
export function bounded(aggregate: string, texts: readonly string[], rows: string): string {
  const size = texts.map((text) => `coalesce(octet_length(${text}), 0)`).join(' + ')
  return `SELECT ${aggregate} FILTER (WHERE bytes_before < ${READ_BYTES}) AS lines, count(*)::int AS found FROM (
      SELECT *, coalesce(sum(${size}) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM (${rows}) AS sorted) AS page`
}

/** Number of characters that a record takes in memory. */
export function charactersOf({ text, geometry }: RecordResult): number {
  return text.length + (geometry?.length ?? 0)
}

/** Makes a statement with the parameters that `make` binds. */
export function statement(make: (value: Bind) => string): Statement {
  const values: unknown[] = []
  return { text: make((value) => `$${values.push(value)}`), values }
}

/**
 * SQL of a record's stored line, which is its JSON as the API returns it (src/location/line.ts); null if it
 * is not stored, or if another version of the program wrote it.
 */
export const STORED_LINE = `CASE WHEN line_version = ${LINE_VERSION} THEN line END`
/**
 * First character in the result for a record without a stored line. JSON text never contains it unescaped.
 */
const UNWRITTEN = '\r'
/** SQL of a record's line, for a row with its `id` and STORED_LINE as `line`; its fields if it has none. */
const LINE = `coalesce(line, E'\\r' || location_fields(id))`
/** Replaces the fields of records that have no stored line by their lines. */
export function written(text: string): string {
  return text.includes(UNWRITTEN)
    ? text.replace(/\r([^\n\t]*)/g, (_, fields: string) => recordLine(JSON.parse(fields) as RecordFields))
    : text
}

/** SQL that is true if a column equals the wanted value, or one of them. */
export function isAny(column: string, wanted: OneOrMore, value: Bind): string {
  return typeof wanted === 'string' ? `${column} = ${value(wanted)}` : `${column} = ANY(${value(wanted)})`
}
/**
 * Number of characters of a location type in its index: Postgres limits the size of an index entry, but an
 * attested type may be as long as a transaction permits.
 */
export const TYPE_INDEXED = 100
/** SQL that is true if a location type has one of the names, in any letter case. */
export function isType(column: string, names: OneOrMore, value: Bind): string {
  return `(${[names]
    .flat()
    .map((name) => {
      const given = `${value(name)}::text`
      const indexed = `lower(left(${column}, ${TYPE_INDEXED})) = lower(left(${given}, ${TYPE_INDEXED}))`
      return name.length < TYPE_INDEXED ? indexed : `${indexed} AND lower(${column}) = lower(${given})`
    })
    .join(' OR ')})`
}

/** SQL of a record's position and Unix seconds as the index location_record_place_time stores them. */
const PLACE_TIME = `ST_Force3DZ(geom, date_part('epoch', timestamp AT TIME ZONE 'UTC'))`
/**
 * Unix seconds later than all times: those of JavaScript end at 8.64e12, those of Postgres at 9.2e12. (An
 * infinite coordinate would match everything.)
 */
const ENDLESS = 1e13

/**
 * Reads the records of a list, in a total order, within a window of time if one is given. Uses the indexes
 * (timestamp, id), (event_timestamp, id), (chain, timestamp), (prover, timestamp), (subject, timestamp),
 * (schema_uid, timestamp), (location_type, timestamp), the index of revoked records, and the GiST indexes on
 * geom, on positions and times, and on the reach of geodesics (store.service.test.ts checks the plans).
 */
export function listQuery(query: RecordQuery, window?: TimeWindow): Statement {
  const { by, descending } = query.sort ?? NEWEST_FIRST
  const direction = descending ? 'DESC' : 'ASC'
  const { limit, offset = 0, withGeometry, withProvenance } = query
  const columns = `id, ${by}, ${STORED_LINE} AS line${withGeometry ? ', geometry' : ''}${withProvenance ? `, ${PROVENANCE_COLUMNS}` : ''}`
  const order = (table: string) => `ORDER BY ${table}.${by} ${direction}, ${table}.id ${direction}`
  return statement((value) => {
    const either = branchConditions(query, value, window).map((where) => {
      if (query.from)
        where.push(
          `(${by}, id) ${descending ? '<' : '>'} (${value(new Date(query.from.at))}, ${value(query.from.id)})`,
        )
      return `SELECT ${columns} FROM location_record
      ${whereClause(where)}
      ${order('location_record')}`
    })
    const page = (limit: number, offset: number) => `LIMIT ${value(limit)} OFFSET ${value(offset)}`
    const rows =
      either.length === 1
        ? either[0]
        : `SELECT * FROM (${either.map((select) => `(${select} ${page(offset + limit, 0)})`).join(' UNION ALL ')}) AS either ${order('either')}`
    // A subquery limits the rows. It is sorted, and the aggregate keeps its order; ORDER BY inside the
    // aggregate would sort the long lines. The records arrive as one text, a line each, which takes a third
    // less CPU time of this process than rows do.
    const lines = `string_agg(${lineOf(LINE, query)}, E'\\n')`
    const list = `${rows}
      ${page(limit, offset)}`
    // A page is read with one more row, which indicates a next page.
    return limit > WHOLE_PAGE + 1
      ? bounded(lines, ['coalesce(line, location_fields(id))', ...(withGeometry ? ['geometry'] : [])], list)
      : `SELECT ${lines} AS lines FROM (${list}) AS page`
  })
}

/** SQL of a record's line and the requested additions, tab-separated. */
export function lineOf(line: string, { withGeometry, withProvenance }: RecordParts): string {
  return [
    line,
    ...(withGeometry || withProvenance
      ? [`E'\\t' || ${withGeometry ? "coalesce(geometry, '')" : "''"}`]
      : []),
    ...(withProvenance ? [`E'\\t' || ${PROVENANCE_TEXT}`] : []),
  ].join(' || ')
}

/** Filters that accept several values, the most selective first. */
const SEVERAL = ['prover', 'subject', 'schema', 'locationType', 'chain'] as const
/** Maximum number of values that are looked up in an index one by one. */
const MOST_BRANCHES = 8

/**
 * Splits a filter into lists that each have an index and are then merged: records in a box and records
 * without a geometry, or one list per value of a filter.
 */
function branches(filter: RecordFilter): RecordFilter[] {
  if (filter.nowhere === 'too' && filter.bbox !== undefined) {
    const { nowhere: _, ...inside } = filter
    const { bbox: __, ...others } = inside
    return [inside, { ...others, nowhere: true as const }].flatMap(branches)
  }
  const name = SEVERAL.find((each) => Array.isArray(filter[each]))
  const values = name ? (filter[name] as readonly string[]) : []
  if (!name || values.length > MOST_BRANCHES) return [filter]
  return values.map((value, i) => ({
    ...filter,
    [name]: value,
    // WKT and wkt match the same records. Postgres compares them, because JavaScript maps other letters to
    // lower case.
    ...(name === 'locationType' && i > 0 && { otherThanTypes: values.slice(0, i) }),
  }))
}

/**
 * SQL conditions of each branch of a filter. The branches share the parameters of its CQL2 filter, which may
 * have thousands, because the protocol counts the parameters of a statement in 16 bits.
 */
function branchConditions(filter: RecordFilter, value: Bind, window?: TimeWindow): string[][] {
  const { condition, ...others } = filter
  const shared = conditions({ condition }, value)
  return branches(others).map((each) => [...conditions(each, value, window), ...shared])
}

/**
 * Parses the records of listQuery. Their JSON contains neither line breaks nor tabs.
 * @param areBare true if neither geometry nor provenance was requested
 */
export function readLines(lines: string | null, areBare: boolean): RecordResult[] {
  if (lines === null) return []
  const text = written(lines)
  return areBare ? bareRecords(text) : text.split('\n').map((line) => recordOf(line.split('\t')))
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

/**
 * Builds a page from rows read beyond its limit. If there are more rows, sets the position of the next page.
 */
export function pageOf(
  rows: RecordResult[],
  limit: number,
  { by }: Sort,
  hasMore = rows.length > limit,
): RecordPage {
  if (!hasMore) return { rows }
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (!last) return { rows: page }
  const at = last.centimeters ?? Date.parse((JSON.parse(last.text) as Record<string, string>)[by]!)
  return { rows: page, next: { at, id: `${last.chain}-${last.uid}` } }
}

function uidOf(text: string): string {
  return text.slice(UID_AT, UID_END)
}

function chainOf(text: string): string {
  return text.slice(CHAIN_AT, text.indexOf('"', CHAIN_AT))
}

/** Counts the matching records, up to `cap`, within a window of time if one is given. */
export function countQuery(filter: RecordFilter, cap: number, window?: TimeWindow): Statement {
  return statement((value) => {
    const selects = branchConditions(filter, value, window).map(
      (where) => `SELECT FROM location_record ${whereClause(where)}`,
    )
    return `SELECT count(*)::int AS count FROM (${selects.join(' UNION ALL ')} LIMIT ${value(cap)}) AS matching`
  })
}

export function whereClause(conditions: readonly string[]): string {
  return conditions.length ? `WHERE ${conditions.join(' AND ')}` : ''
}

/** SQL conditions that a passing record satisfies, to be joined by AND. */
export function conditions(filter: RecordFilter, value: Bind, window?: TimeWindow): string[] {
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
  /** True if the bounding box of geom meets a box, and the time lies in the window if one is given. */
  const around = (each: Bbox) =>
    window?.since ? `${PLACE_TIME} &&& ${boxInTime(each)}` : `geom && ${box(each)}`
  if (filter.nowhere === true) where.push('geom IS NULL')
  if (filter.bbox !== undefined) {
    const met = boxesOf(filter.bbox).map((each) =>
      window?.since ? `(${around(each)} AND ${touches('geom', box(each))})` : meets('geom', box(each)),
    )
    where.push(`(${[...met, ...(filter.nowhere === 'too' ? ['geom IS NULL'] : [])].join(' OR ')})`)
  }
  for (const boxes of [filter.reaching, filter.alsoReaching, filter.shownIn && [filter.shownIn]])
    if (boxes) where.push(reaches(boxes, box, around))
  if (filter.condition !== undefined) where.push(conditionSql(filter.condition, value))
  return where
}

// --- Filters in CQL2 ---

/**
 * SQL that is true for records that satisfy the condition, and false or null for others. Columns come from
 * the table of queryables; everything else is a parameter.
 */
function conditionSql(condition: Condition<DecidedPlace>, value: Bind): string {
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
    // Uses the records known not to meet the place, because records may have arrived since the decision.
    return condition.not ? `(geom IS NOT NULL AND (NOT ${reaches(reach, box)} OR ${known}))` : known
  }
  if ('attribute' in condition) return attributeSql(condition, value)
  // Postgres folds both sides, because JavaScript maps other letters to lower case.
  const isFolded = 'casei' in condition && condition.casei === true
  const column = isFolded ? `lower(${condition.column})` : condition.column
  const operand = (v: unknown) => (isFolded ? `lower(${value(v)})` : value(v))
  if ('isNull' in condition) return `${column} IS ${condition.isNull ? '' : 'NOT '}NULL`
  if ('is' in condition) return condition.is ? column : `NOT ${column}`
  const not = 'not' in condition && condition.not
  if ('like' in condition) return `${column} ${not ? 'NOT ' : ''}LIKE ${operand(condition.like)}`
  if ('oneOf' in condition) {
    const list = isFolded
      ? `SELECT lower(each) FROM unnest(${value(condition.oneOf)}::text[]) AS each`
      : value(condition.oneOf)
    return `${column} ${not ? '<> ALL' : '= ANY'}(${list})`
  }
  const { compare, to } = condition
  // Compares texts by code points, whatever the collation of the database.
  const collation = typeof to === 'string' && compare !== '=' && compare !== '<>' ? ' COLLATE "C"' : ''
  return `${column}${collation} ${compare} ${operand(to)}`
}

/**
 * SQL of a condition on an attribute, by containment where possible (it has an index). JSON null is null.
 * Names address members of objects: the operator #> would also read a number as the position in a list.
 */
function attributeSql(
  condition: Extract<Condition<DecidedPlace>, { attribute: readonly string[] }>,
  value: Bind,
): string {
  const { attribute } = condition
  let names: string | undefined
  const member = (last: '->' | '->>') => {
    const path = (names ??= value(attribute))
    return attribute.reduce(
      (of, _, i) => `(${of} ${i < attribute.length - 1 ? '->' : last} (${path}::text[])[${i + 1}])`,
      'attributes',
    )
  }
  const text = () => member('->>')
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
  const type = `jsonb_typeof(${member('->')})`
  if ('like' in condition)
    return `CASE WHEN ${type} = 'string' THEN ${text()} END ${condition.not ? 'NOT ' : ''}LIKE ${value(condition.like)}`
  const { compare, to } = condition
  const isNumber = `${type} = 'number' OR ${text()} ~ '^-?[0-9]{1,78}$'`
  return `CASE WHEN ${isNumber} THEN ${text()}::numeric END ${compare} ${value(String(to))}::numeric`
}

/**
 * SQL of a box between these longitudes and latitudes. For a box without width or height, ST_Envelope returns
 * a line or a point, whereas ST_MakeEnvelope returns a polygon that meets nothing.
 */
export const envelope = (w: string, s: string, e: string, n: string) =>
  `ST_Envelope(ST_SetSRID(ST_MakeLine(ST_MakePoint(${w}, ${s}), ST_MakePoint(${e}, ${n})), 4326))`

/** SQL of the envelope of a box. */
export function boxSql(box: Bbox, value: Bind): string {
  const [w, s, e, n] = box.map((degrees) => value(degrees)) as [string, string, string, string]
  return envelope(w, s, e, n)
}

/**
 * SQL that is true if a shape and a box meet. It uses PostGIS's own distance instead of ST_Intersects,
 * because GEOS throws for rings that cross themselves (a TopologyException if the box has no width or height)
 * and misses lines without length. `::int <> 0` hides the test from the planner, which then assumes that it
 * is nearly always true. The `&&` has provided the selectivity already.
 */
export const meets = (shape: string, box: string) => `(${shape} && ${box} AND ${touches(shape, box)})`
const touches = (shape: string, box: string) => `ST_DWithin(${shape}, ${box}, 0)::int <> 0`

/**
 * SQL that is true if the geometry, with geodesic edges, may meet one of the boxes. Such edges bulge towards
 * the poles, so only points are exactly where geom has them. Shapes are found by their bounding box, the
 * column reach (migration Reaches), without reading their positions.
 * @param around SQL that is true if the bounding box of geom meets a box
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
 * Splits a bbox into boxes on the plane: two if it crosses the antimeridian. If it ends there or at a pole,
 * adds the other coordinates of the same positions (180 equals -180, and a pole has every longitude).
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
