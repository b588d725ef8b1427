import type { Bind, RecordFilter } from './model'
import { conditions, isAny, isType, TYPE_INDEXED, whereClause } from './sql'

/**
 * Statistics by group: counts of records and of answers by one or two dimensions, and sums of areas and
 * lengths. One row per dimension.
 */

/** Key of a group in a source: its SQL and SQL type, and the to_char format of a time, in UTC. */
interface Key {
  sql: string
  type: 'text' | 'boolean' | 'time'
  format?: string
}

export interface Dimension extends Pick<Key, 'type' | 'format'> {
  /** SQL of the key of a group. Keys of type time are sorted first to last by default. */
  key: (argument: number) => string
  description: string
  /** True if the text is an address, which responses show with its checksum. */
  isAddress?: true
  /** Range of the number in `geohash:5`. */
  argument?: { minimum: number; maximum: number }
  /** Dimension of record_group that contains the key, and the key by its column `value`. */
  kept?: { dimension: string } & Key
  /** True if the key is an H3 cell, which the database cannot compute. The SQL key is the position. */
  isCell?: true
}

const UTC = `timestamp AT TIME ZONE 'UTC'`
/** Key of a time by the day in record_group. Text is faster than a date. */
const KEPT_TIMES = {
  day: { sql: 'value', type: 'text' },
  week: { sql: `date_trunc('week', value::timestamp)`, type: 'time', format: 'YYYY-MM-DD' },
  month: { sql: 'left(value, 7)', type: 'text' },
} as const
const time = (unit: 'hour' | keyof typeof KEPT_TIMES, format: string, description: string): Dimension => ({
  key: () => `date_trunc('${unit}', ${UTC})`,
  ...{ description, type: 'time', format },
  ...(unit !== 'hour' && { kept: { dimension: 'day', ...KEPT_TIMES[unit] } }),
})
const text = (column: string, description: string, more: Partial<Dimension> = {}): Dimension => ({
  ...{ key: () => column, type: 'text', description, ...more },
})

const COMMON = {
  hour: time('hour', 'YYYY-MM-DD"T"HH24:00:00"Z"', 'Hour of the block, in UTC: `2026-01-31T12:00:00Z`.'),
  day: time('day', 'YYYY-MM-DD', 'Day of the block, in UTC: `2026-01-31`.'),
  week: time('week', 'YYYY-MM-DD', 'Week of the block, by its Monday (ISO 8601): `2026-01-26`.'),
  month: time('month', 'YYYY-MM', 'Month of the block: `2026-01`.'),
  chain: text('chain', 'Slug of the chain.'),
  revoked: { key: () => 'revoked', type: 'boolean', description: 'True if it is revoked.' },
} as const satisfies Record<string, Dimension>
const kept = (dimension: string): Partial<Dimension> => ({ kept: { dimension, sql: 'value', type: 'text' } })

/** Dimensions of records. */
export const RECORD_DIMENSIONS: Readonly<Record<string, Dimension>> = {
  ...COMMON,
  prover: text('prover', 'Address that created the attestation.', { isAddress: true, ...kept('prover') }),
  subject: text('subject', 'Its recipient.', { isAddress: true }),
  schema: text('schema_uid', 'UID of its schema.', kept('schema')),
  location_type: text(
    `left(location_type, ${TYPE_INDEXED})`,
    `Format of \`location\` as attested, at most its first ${TYPE_INDEXED} characters.`,
    kept('location_type'),
  ),
  geohash: {
    key: (length) => `CASE WHEN longitude IS NOT NULL THEN ST_GeoHash(geom, ${length}) END`,
    type: 'text',
    description: 'Geohash cell of a point, of this many characters; null for other types.',
    argument: { minimum: 1, maximum: 12 },
  },
  h3: {
    key: () => `longitude || ' ' || latitude`,
    type: 'text',
    description: 'H3 cell of a point, of this resolution; null for other types.',
    argument: { minimum: 0, maximum: 15 },
    isCell: true,
  },
}

/** Dimensions of answers. */
export const ANSWER_DIMENSIONS: Readonly<Record<string, Dimension>> = {
  ...COMMON,
  operation: text(`split_part(operation, ':', 1)`, 'Operation, without its numbers.'),
  attester: text('attester', "Address that attested: the service's signer, or the proxy.", {
    isAddress: true,
  }),
  recipient: text('recipient', 'Its recipient.', { isAddress: true }),
  schema: text('schema_uid', 'UID of its schema.'),
}

/** Sums of measured geometries: column in square centimetres or centimetres, and decimals of metres. */
export const SUMS = {
  area: { column: 'area_square_centimeters', decimals: 4 },
  length: { column: 'length_centimeters', decimals: 2 },
} as const
export type SumName = keyof typeof SUMS

/** Maximum number of groups in a response. */
export const MAX_GROUPS = 10_000

export interface GroupBy {
  name: string
  dimension: Dimension
  /** Number in `geohash:5`; 0 for dimensions without one. */
  argument: number
}
export interface GroupQuery {
  /** One or two dimensions. */
  by: readonly GroupBy[]
  sums: readonly SumName[]
  /** Order by the number of records, by a sum, or by the name of a dimension; then by all dimensions. */
  sort: { by: string; descending: boolean }
  /** Maximum number of groups to return. */
  top: number
}

/**
 * Number of records. For each sum of the query, its value in whole (square) centimetres and the number of
 * records without a value.
 */
export interface Measures {
  records: number
  sums: bigint[]
  without: number[]
}
export interface Group extends Measures {
  keys: KeyValue[]
}
export interface Groups {
  /** First groups in the order of the query, at most `top`. */
  shown: Group[]
  /** Number of all groups, and their totals. */
  groups: number
  total: Measures
}
type KeyValue = string | boolean | null
/** Records and, for each sum, its value and the records without it: `[3, "35", 0]`. */
type MeasureValues = readonly (string | number)[]
/** Row of groupsQuery. While the source is incomplete, it has no groups. */
export interface GroupsRow {
  incomplete: boolean
  /** Number of all groups, and their totals. */
  groups: number
  total: MeasureValues
  /** The first groups in order, by column: their keys and their measures. */
  keys: (KeyValue[] | null)[]
  measures: (MeasureValues | null)[]
  /** With a dimension that the database cannot compute: the positions, by their other key. */
  places?: readonly Places[] | null
}
/** Positions of groups that have the same other key. */
export interface Places {
  /** Missing if there is only one dimension. */
  other?: KeyValue
  /** Longitude and latitude of each: `13.4 52.5,-60 -20`. */
  positions: string
  /** For each position the records and, for each sum, its value and `without`: `1 0 1,2 35 0`. */
  measures: string
}

/**
 * Source of groups: its table and conditions, the SQL of the keys by dimension, and the SQL of the count, of
 * a sum, and of the number of records without a value for that sum.
 */
export interface Source {
  table: string
  where: readonly string[]
  key: (by: GroupBy) => Key
  count: string
  sum: (name: SumName) => string
  without: (name: SumName) => string
  /** SQL that is true while the source lacks records or sums. */
  incomplete: string
}

function keyOfRow({ dimension, argument }: GroupBy): Key {
  return { sql: dimension.key(argument), type: dimension.type, format: dimension.format }
}

/** Groups rows of a table by their columns. */
export function scanned(table: string, where: readonly string[]): Source {
  return {
    ...{ table, where },
    key: keyOfRow,
    count: 'count(*)',
    sum: (name) => `sum(${SUMS[name].column})`,
    without: (name) => `count(*) - count(${SUMS[name].column})`,
    incomplete: 'false',
  }
}

/** First version of the projection that measures areas and lengths (READING in src/indexer/project.ts). */
const MEASURED_BY = 4

/** SQL that is true while records of these chains have no areas and lengths yet. */
function unmeasured(onChain: readonly string[]): string {
  return `EXISTS (SELECT FROM chain_status JOIN record_state USING (chain) ${whereClause([`reading < ${MEASURED_BY} AND total > 0`, ...onChain])})`
}

/** SQL of a sum of maintained counts: a sum of bigint takes a third longer. */
const SUMMED = 'sum(total::float8)'
/**
 * Filters that the maintained counts support, each with the dimension of record_group that it selects from.
 */
const FILTERED: Partial<Record<keyof RecordFilter, string>> = {
  prover: 'prover',
  schema: 'schema',
  locationType: 'location_type',
}

/**
 * Groups records by the counts that the database maintains; undefined if they do not suffice: they have at
 * most one dimension in addition to the chain and to revocation.
 */
export function keptSource({ by, sums }: GroupQuery, filter: RecordFilter, value: Bind): Source | undefined {
  const { chain, revoked, ...others } = filter
  const given = (Object.keys(others) as (keyof typeof others)[]).filter((name) => others[name] !== undefined)
  // Parameters are added only once the source is chosen, because Postgres refuses unused parameters.
  const onChain = () => (chain === undefined ? [] : [isAny('chain', chain, value)])
  const isFree = ({ name }: GroupBy) => name === 'chain' || name === 'revoked'
  if (by.some(({ name }) => name === 'hour'))
    return by.every(({ name }) => name === 'hour' || name === 'chain') &&
      given.length === 0 &&
      revoked === undefined &&
      sums.length === 0
      ? {
          ...scanned('record_hour', ['total <> 0', ...onChain()]),
          count: SUMMED,
          key: (each) =>
            each.name === 'hour' ? { ...keyOfRow(each), sql: `hour AT TIME ZONE 'UTC'` } : keyOfRow(each),
        }
      : undefined
  const wanted = [
    ...by.filter((each) => !isFree(each)).map(({ dimension }) => dimension.kept?.dimension),
    ...given.map((name) => FILTERED[name]),
  ]
  const [dimension = 'schema'] = wanted
  const types = [others.locationType ?? []].flat()
  if (!wanted.every((each) => each === dimension) || types.some((type) => type.length >= TYPE_INDEXED))
    return undefined
  const chains = onChain()
  const where = [`dimension = '${dimension}' AND total <> 0`, ...chains]
  if (revoked !== undefined) where.push(`revoked = ${value(revoked)}`)
  if (others.prover !== undefined) where.push(isAny('value', others.prover, value))
  if (others.schema !== undefined) where.push(isAny('value', others.schema, value))
  if (others.locationType !== undefined) where.push(isType('value', others.locationType, value))
  const uncounted = `EXISTS (SELECT FROM record_uncounted ${whereClause(chains)})`
  return {
    // The view divides each group by revocation, which takes longer.
    table:
      revoked !== undefined || by.some(({ name }) => name === 'revoked') ? 'record_count' : 'record_group',
    ...{ where, count: SUMMED },
    key: (each) => (isFree(each) ? keyOfRow(each) : each.dimension.kept!),
    sum: (name) => `sum(${SUMS[name].column})`,
    without: (name) => `sum(without_${name})`,
    incomplete: sums.length > 0 ? `${uncounted} OR ${unmeasured(chains)}` : uncounted,
  }
}

/** Source of groups of records that pass a filter, by reading each of them. */
export function recordSource({ sums }: GroupQuery, filter: RecordFilter, value: Bind): Source {
  const scan = scanned('location_record', conditions(filter, value))
  if (sums.length === 0) return scan
  return {
    ...scan,
    incomplete: unmeasured(filter.chain === undefined ? [] : [isAny('chain', filter.chain, value)]),
  }
}

/**
 * Reads the first groups in order, and the number and the totals of all groups, with the state of the source
 * in the same snapshot: counts of another snapshot or server could be incomplete. All of it is one row of
 * JSON columns, which costs the API less than a row for each group. With a dimension that the database cannot
 * compute, these are the groups and totals of records without its key, and up to `most` positions are added,
 * which `foldedGroups` completes.
 */
export function groupsQuery(
  source: Source,
  { by, sums, sort, top }: GroupQuery,
  value: Bind,
  most: number,
): string {
  const folded = by.findIndex(({ dimension }) => dimension.isCell)
  const keys = by.map(source.key)
  // Without the table, a name would mean a column of the result.
  const key = (i: number, direction = 'ASC') =>
    `grouped.k${i}${keys[i]!.type === 'text' ? ' COLLATE "C"' : ''} ${direction} NULLS LAST`
  const sortedKey = by.findIndex(({ name }) => name === sort.by)
  const first = sort.by === 'records' ? 'grouped.records' : `grouped.s${sums.indexOf(sort.by as SumName)}`
  const direction = sort.descending ? 'DESC' : 'ASC'
  const order = [
    sortedKey < 0 ? `${first} ${direction}` : key(sortedKey, direction),
    ...by.map((_, i) => key(i)),
  ]
  const grouped = `SELECT ${[
    ...keys.map(({ sql }, i) => `${sql} AS k${i}`),
    `${source.count}::float8 AS records`,
    ...sums.map(
      (name, i) => `coalesce(${source.sum(name)}, 0) AS s${i}, (${source.without(name)})::float8 AS w${i}`,
    ),
  ].join(', ')} FROM ${source.table} ${whereClause([
    // The condition refers to no column of this table, so Postgres evaluates it once, and reads no row if it
    // is false.
    ...(source.incomplete === 'false' ? [] : [`NOT (${source.incomplete})`]),
    ...source.where,
  ])} GROUP BY ${by.map((_, i) => i + 1).join(', ')}`
  const measures = ['records', ...sums.flatMap((_, i) => [`s${i}`, `w${i}`])]
  const inText = (sql: string, i: number) => (measures[i]!.startsWith('s') ? `(${sql})::text` : sql)
  const totals = measures.map((name, i) => inText(`coalesce(sum(${name}), 0)`, i))
  const columns = (values: readonly string[]) =>
    `json_build_array(${values.map((sql) => `json_agg(${sql})`).join(', ')})`
  const complete = folded < 0 ? '' : `WHERE k${folded} IS NULL`
  const places = folded < 0 ? '' : `, (${placesOf(keys, folded, measures, value(most))}) AS places`
  return `WITH grouped AS (${grouped})
    SELECT ${source.incomplete} AS incomplete, total.*, shown.*${places} FROM
      (SELECT count(*)::float8 AS groups, json_build_array(${totals.join(', ')}) AS total
        FROM grouped ${complete}) AS total,
      (SELECT ${columns(keys.map(shownKey))} AS keys, ${columns(measures.map(inText))} AS measures FROM (
        SELECT * FROM grouped ${complete} ORDER BY ${order.join(', ')} LIMIT ${value(top)}) AS first) AS shown`
}

function shownKey({ format }: Key, i: number): string {
  return format ? `to_char(k${i}::timestamp, '${format}')` : `k${i}`
}

/** Reads positions, the key `folded`, by their other key. */
function placesOf(keys: readonly Key[], folded: number, measures: readonly string[], most: string): string {
  const other = keys.length > 1 ? 1 - folded : undefined
  return `SELECT json_agg(places) FROM (
    SELECT ${other === undefined ? '' : `${shownKey(keys[other]!, other)} AS other, `}string_agg(k${folded}, ',') AS positions,
      string_agg(concat_ws(' ', ${measures.join(', ')}), ',') AS measures
    FROM (SELECT * FROM grouped WHERE k${folded} IS NOT NULL LIMIT ${most}) AS placed
    ${other === undefined ? 'HAVING count(*) > 0' : `GROUP BY k${other}`}) AS places`
}

/** Groups of a row, which the database sorted and totalled. */
export function groupsOf({ groups, total, keys, measures }: GroupsRow): Groups {
  const shown = (measures[0] ?? []).map((_, i) => ({
    keys: keys.map((column) => column![i]!),
    ...measuresOf(measures.map((column) => column![i]!)),
  }))
  return { shown, groups, total: measuresOf(total) }
}

export function measuresOf(values: MeasureValues): Measures {
  const measures: Measures = { records: Number(values[0]), sums: [], without: [] }
  for (let i = 1; i < values.length; i += 2) {
    measures.sums.push(BigInt(values[i]!))
    measures.without.push(Number(values[i + 1]))
  }
  return measures
}
