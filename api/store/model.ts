import type { Comparison } from '../cql2'
import type { Position } from '../http/paging'

/** Types of record queries and results, and helpers without dependencies. */

/** [minLng, minLat, maxLng, maxLat] in degrees; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
export type Bbox = readonly [number, number, number, number]

/** One value or a list of alternatives. */
export type OneOrMore = string | readonly string[]
export function lowered(values: OneOrMore): OneOrMore {
  return typeof values === 'string' ? values.toLowerCase() : values.map((value) => value.toLowerCase())
}
/** True if the value is the wanted one, or one of the wanted ones. */
export function isOneOf(wanted: OneOrMore, value: string): boolean {
  return typeof wanted === 'string' ? wanted === value : wanted.includes(value)
}

export interface RecordFilter {
  chain?: OneOrMore
  /** lower case, like `subject` and `schema` */
  prover?: OneOrMore
  subject?: OneOrMore
  schema?: OneOrMore
  /** in any letter case */
  locationType?: OneOrMore
  /** Location types to exclude, in any letter case. */
  otherThanTypes?: readonly string[]
  /** words of the memo, or beginnings of words */
  memo?: string
  /** JSON object that the attributes must contain. */
  attributes?: string
  revoked?: boolean
  /** exclusive, like `before` */
  after?: Date
  before?: Date
  bbox?: Bbox
  /** True: only records without a geometry. `too`: records without a geometry also match a bbox. */
  nowhere?: boolean | 'too'
  /** Candidates: records whose geometry, with geodesic edges, may meet one of these boxes. */
  reaching?: readonly Bbox[]
  /** Boxes of a second place that the geometry of a candidate must also meet. */
  alsoReaching?: readonly Bbox[]
  /**
   * Further box that the geometry of a candidate must meet, as far as its bounding box shows: that of a tile.
   */
  shownIn?: Bbox
  /** Only records with these IDs: `<chain>-<uid>` */
  ids?: readonly string[]
  /** Condition of a CQL2 filter. */
  condition?: Condition<DecidedPlace>
}

export const SORT_FIELDS = ['timestamp', 'event_timestamp'] as const
export interface TimeSort {
  by: (typeof SORT_FIELDS)[number]
  descending: boolean
}
/** Nearest to the searched place first. The database has no such order. */
export interface DistanceSort {
  by: 'distance'
  descending: false
}
export type Sort = TimeSort | DistanceSort
export const NEWEST_FIRST: TimeSort = { by: 'timestamp', descending: true }

/** Optional additions to the fields of a record. */
export interface RecordParts {
  /** True to include `geometry` in the result. */
  withGeometry?: boolean | undefined
  /** True to include `provenance` in the result. */
  withProvenance?: boolean | undefined
}

export interface RecordQuery extends RecordFilter, RecordParts {
  limit: number
  offset?: number | undefined
  /** Default: newest first. */
  sort?: TimeSort | undefined
  /** Only records after this position. */
  from?: Position | undefined
}

/** Time window that includes `since` and excludes `until`. An absent bound leaves that side open. */
export interface TimeWindow {
  since?: Date
  until?: Date
}

/** Record as a query returns it. */
export interface RecordResult {
  uid: string
  chain: string
  /** JSON of the record as the API returns it. */
  text: string
  /** GeoJSON geometry as text; null if the record has none or it was not requested */
  geometry: string | null
  /** Provenance as JSON text (provenance.ts), if requested. */
  provenance?: string
  /** Distance in whole centimetres, in results of a search by distance. */
  centimeters?: number
}

export interface RecordPage {
  rows: RecordResult[]
  /** Start of the next page; undefined on the last page. */
  next?: Position
}

/**
 * Record without geometry, stored as a slice of the list's text. Consecutive records are written with one
 * copy.
 */
export interface BareRecord extends RecordResult {
  readonly lines: string
  readonly start: number
  readonly end: number
}

/** SQL text with its parameters. */
export interface Statement {
  text: string
  values: unknown[]
}

/** Adds a parameter to a statement, and returns its placeholder. */
export type Bind = (value: unknown) => string

/** Record reduced to its ID and geometry. */
export interface PlacedRecord {
  /** `<chain>-<uid>` */
  id: string
  /** GeoJSON as text; null if the record has no geometry */
  geometry: string | null
}

/** All records within `meters` metres of a position. */
export interface NearRecords {
  meters: number
  /** Candidates. The approximately nearest of them include the record itself unless it is large. */
  records: (PlacedRecord & { record?: RecordResult })[]
}

/**
 * Condition that passing records satisfy in three-valued logic; a record passes only if it is true, not if it
 * is false or unknown. There is no NOT: negation is pushed down into the parts.
 */
export type Condition<At> =
  | { all: readonly Condition<At>[] }
  | { any: readonly Condition<At>[] }
  | { always: boolean }
  | { column: string; isNull: boolean }
  | { column: string; is: boolean }
  | { column: string; compare: Comparison; to: string | number | Date; casei?: true }
  | { column: string; oneOf: readonly (string | number)[]; not: boolean; casei?: true }
  | { column: string; like: string; not: boolean; casei?: true }
  | Attribute<{ isNull: boolean }>
  | Attribute<{ oneOf: readonly (string | number | boolean)[]; not: boolean }>
  /** A text holds the digits of an integer, which may exceed 2^53. */
  | Attribute<{ compare: '<' | '>' | '<=' | '>='; to: number | string }>
  | Attribute<{ like: string; not: boolean }>
  | { box: Bbox; not: boolean }
  | { place: At; not: boolean }

/** Condition on an attribute, by its path of names. */
type Attribute<Test> = { attribute: readonly string[] } & Test

/** Place for which it is already decided which candidates meet it. */
export interface DecidedPlace {
  /** Records that reach none of these boxes are not candidates. */
  reach: readonly Bbox[]
  /**
   * IDs (`<chain>-<uid>`) of the candidates that meet the place; in a negated condition, of those that do
   * not.
   */
  ids: readonly string[]
}

const UID_LENGTH = 66
/** The JSON of a record begins with its UID and its chain, at these offsets. */
export const UID_AT = '{"uid":"'.length
export const UID_END = UID_AT + UID_LENGTH
export const CHAIN_AT = UID_END + '","chain":"'.length
