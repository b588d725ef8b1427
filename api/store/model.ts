import type { Comparison } from '../cql2'
import type { Position } from '../http/paging'

/**
 * The model of records: what the database is asked for, and what it answers. Types, and what depends on
 * nothing.
 */

/** minLng, minLat, maxLng, maxLat in degrees; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
export type Bbox = readonly [number, number, number, number]

/** A value, or a list of some. */
export type OneOrMore = string | readonly string[]
export function lowered(values: OneOrMore): OneOrMore {
  return typeof values === 'string' ? values.toLowerCase() : values.map((value) => value.toLowerCase())
}
/** Whether a value is the one that is wanted, or one of them. */
export function isOneOf(wanted: OneOrMore, value: string): boolean {
  return typeof wanted === 'string' ? wanted === value : wanted.includes(value)
}

export interface RecordFilter {
  chain?: OneOrMore
  /** lower-case, as the next two */
  prover?: OneOrMore
  subject?: OneOrMore
  schema?: OneOrMore
  /** in any letter case */
  locationType?: OneOrMore
  /** Not these, in any letter case. */
  otherThanTypes?: readonly string[]
  /** words that the memo has, or the beginnings of some */
  memo?: string
  /** A JSON object that the attributes contain. */
  attributes?: string
  revoked?: boolean
  /** exclusive, as the next */
  after?: Date
  before?: Date
  bbox?: Bbox
  /** Only records without a geometry. `too`: records without one as well, whatever the bbox. */
  nowhere?: boolean | 'too'
  /** Candidates: records whose geometry, with geodesics for edges, may meet one of these boxes. */
  reaching?: readonly Bbox[]
  /** The same of one more box. */
  shownIn?: Bbox
  /** Only these: `<chain>-<uid>` */
  ids?: readonly string[]
  /** What a filter in CQL2 says. */
  condition?: Condition<DecidedPlace>
}

export const SORT_FIELDS = ['timestamp', 'event_timestamp'] as const
export interface TimeSort {
  by: (typeof SORT_FIELDS)[number]
  descending: boolean
}
/** Nearest first, to the place that is searched for: no order of the database's. */
export interface DistanceSort {
  by: 'distance'
  descending: false
}
export type Sort = TimeSort | DistanceSort
export const NEWEST_FIRST: TimeSort = { by: 'timestamp', descending: true }

/** What is wanted of a record besides its fields. */
export interface RecordParts {
  /** Whether `geometry` is wanted. */
  withGeometry?: boolean | undefined
  /** Whether `provenance` is wanted. */
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

/** A part of the time: from `since` on, before `until`; either may be open. */
export interface TimeWindow {
  since?: Date
  until?: Date
}

/** A record as a query answers it. */
export interface RecordResult {
  uid: string
  chain: string
  /** The record's JSON as Postgres writes it; api/formats/json.ts completes it. */
  text: string
  /** GeoJSON geometry as text; null where there is none or it was not asked for */
  geometry: string | null
  /** Where it comes from, and what became of it: JSON as text, where it was asked for (provenance.ts). */
  provenance?: string
  /** The distance that a search by it found, in whole centimetres. */
  centimeters?: number
}

export interface RecordPage {
  rows: RecordResult[]
  /** Where the next page begins; undefined at the end. */
  next?: Position
}

/** A record without its geometry, as a line of a list: those that follow one another are answered as one. */
export interface BareRecord extends RecordResult {
  readonly lines: string
  readonly start: number
  readonly end: number
}

/** A statement and its parameters. */
export interface Statement {
  text: string
  values: unknown[]
}

/** Where a record is. */
export interface PlacedRecord {
  /** `<chain>-<uid>` */
  id: string
  /** GeoJSON as text; null where there is none */
  geometry: string | null
}

/** Records round a position, all that are within so many metres of it. */
export interface NearRecords {
  meters: number
  /** Each with the record itself where it is among the nearest by about, and not large. */
  records: (PlacedRecord & { record?: RecordResult })[]
}

/**
 * What is true of a record that passes, in three-valued logic: false and unknown are one. There is no NOT:
 * each part is the one that is true where what it was made of is false.
 */
export type Condition<At> =
  | { all: readonly Condition<At>[] }
  | { any: readonly Condition<At>[] }
  | { always: boolean }
  | { column: string; isNull: boolean }
  | { column: string; is: boolean }
  | { column: string; compare: Comparison; to: string | number | Date }
  | { column: string; oneOf: readonly (string | number)[]; not: boolean }
  | { column: string; like: string; not: boolean }
  | Attribute<{ isNull: boolean }>
  | Attribute<{ oneOf: readonly (string | number | boolean)[]; not: boolean }>
  /** A text has the digits of an integer, which may be beyond 2^53. */
  | Attribute<{ compare: '<' | '>' | '<=' | '>='; to: number | string }>
  | Attribute<{ like: string; not: boolean }>
  | { box: Bbox; not: boolean }
  | { place: At; not: boolean }

/** What is said of an attribute: its name, and the names within it. */
type Attribute<Said> = { attribute: readonly string[] } & Said

/** A place of which it is known which candidates meet it. */
export interface DecidedPlace {
  /** All others are no candidates. */
  reach: readonly Bbox[]
  /** The candidates that meet it; those that do not, where that is asked: `<chain>-<uid>`. */
  ids: readonly string[]
}

const UID_LENGTH = 66
/** A record begins with its UID and its chain. */
export const UID_AT = '{"uid":"'.length
export const UID_END = UID_AT + UID_LENGTH
export const CHAIN_AT = UID_END + '","chain":"'.length
