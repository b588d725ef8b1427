import { GraphQLFloat, GraphQLList, GraphQLNonNull, GraphQLString, type GraphQLInputType } from 'graphql'
import type { SQL } from 'graphile-build-pg'
import type { Plugin } from 'postgraphile'
import { CHAINS, chainNamed } from '../../src/chains'
import { parseAddress, parseUid } from '../../src/eas'
import { type Resolve, type Sql, typedBuild, typedContext } from './graphile'
import { QueryError } from './limits'
import { RecordsError } from '../http/problems'
import { type Bbox, boxesOf, TYPE_INDEXED } from '../store'
import { boxFrom, remedyFor } from '../http/positions'
import { readAttributes, readMemoWords } from '../query'
import { instantOf as millisecondsOf } from '../http/iso-8601'

/**
 * Filters of the published views: equality, lists, ranges of time, bbox, words of the memo and attributes.
 * There are no patterns, negations or functions, so that every filter can use an index. Values are checked,
 * and normalized to the stored form, before they become SQL.
 */

/** Supported operators of the filter plugin, by type. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  String: ['equalTo', 'in'],
  Boolean: ['equalTo'],
  Datetime: ['equalTo', 'lessThan', 'lessThanOrEqualTo', 'greaterThan', 'greaterThanOrEqualTo'],
}
const MAX_LISTED = 100
const MAX_TEXT = 200

type Fields = Record<string, unknown>

/** Filter in addition to those by column. It finds the same rows as the filter of the Records API. */
interface FurtherFilter {
  description: string
  /** Default: a text. */
  type?: GraphQLInputType
  /** Throws a QueryError if the value is invalid. */
  condition: (sql: Sql, source: SQL, value: unknown) => SQL
}
const FURTHER: Readonly<Record<string, Readonly<Record<string, FurtherFilter>>>> = {
  location_record: {
    memoWords: {
      description:
        'Words, or beginnings of words, that all occur in the first 2,000 characters of the memo, in ' +
        'any letter case and without accents.',
      condition: (sql, source, value) =>
        sql.fragment`memo_words(${source}.memo) @@ memo_query(${sql.value(textOf('memoWords', value, readMemoWords))})`,
    },
    attributes: {
      description:
        'A JSON object as text: records whose attributes contain it, at every depth, such as "{\\"assetId\\":\\"pump-7\\"}".',
      condition: (sql, source, value) =>
        sql.fragment`${source}.attributes @> ${sql.value(textOf('attributes', value, readAttributes))}::jsonb`,
    },
    bbox: {
      description:
        '[minLng, minLat, maxLng, maxLat] in degrees, edges included; minLng > maxLng crosses the antimeridian. A record without a geometry is in none.',
      type: new GraphQLList(new GraphQLNonNull(GraphQLFloat)),
      condition: (sql, source, value) => {
        // For a box without width or height, ST_Envelope returns a line or point, whereas ST_MakeEnvelope
        // returns a polygon that intersects nothing.
        const corner = (x: number, y: number) =>
          sql.fragment`ST_MakePoint(${sql.value(x)}::float8, ${sql.value(y)}::float8)`
        const envelope = ([w, s, e, n]: Bbox) =>
          sql.fragment`ST_Envelope(ST_SetSRID(ST_MakeLine(${corner(w, s)}, ${corner(e, n)}), 4326))`
        // Same condition as `meets` of the Records API (api/store/sql.ts).
        const meets = (shape: SQL, place: SQL) =>
          sql.fragment`(${shape} && ${place} and ST_DWithin(${shape}, ${place}, 0)::int <> 0)`
        const boxes = boxesOf(readBbox(value)).map((box) =>
          meets(sql.fragment`${source}.geom`, envelope(box)),
        )
        return sql.fragment`(${sql.join(boxes, ' or ')})`
      },
    },
  },
  answer: {
    input: {
      description:
        'Answers about this input: the UID of an attestation, or the reference of a geometry (POST /compute/v0/reference).',
      condition: (sql, source, value) =>
        sql.fragment`${source}.input_refs @> array[${sql.value(storedValue('uid', value, 'filter: input'))}::text]`,
    },
  },
}

/** Columns that are compared as in the Records API, by an index of an expression. */
const NAMED: Readonly<Record<string, (sql: Sql, source: SQL, name: string) => SQL>> = {
  // Same condition as isType in api/store/sql.ts.
  locationType: (sql, source, name) => {
    const [given, length] = [sql.fragment`${sql.value(name)}::text`, sql.literal(TYPE_INDEXED)]
    const indexed = sql.fragment`lower(left(${source}, ${length})) = lower(left(${given}, ${length}))`
    return name.length < TYPE_INDEXED
      ? indexed
      : sql.fragment`(${indexed} and lower(${source}) = lower(${given}))`
  },
  // Same condition as isOperation in api/answers/sql.ts.
  operation: (sql, source, name) =>
    name.includes(':')
      ? sql.fragment`${source} = ${sql.value(name)}::text`
      : sql.fragment`split_part(${source}, ':', 1) = ${sql.value(name)}::text`,
}

/** SQL of the text operators, for a column of NAMED. */
function isNamed(sql: Sql, operands: unknown, is: (name: string) => SQL): SQL {
  const { equalTo, in: listed } = operands as { equalTo?: string; in?: string[] }
  const both = [
    ...(equalTo !== undefined ? [is(equalTo)] : []),
    ...(listed ? [sql.fragment`(${sql.join(listed.map(is), ' or ')})`] : []),
  ]
  return sql.fragment`(${sql.join(both, ' and ')})`
}

/** Limits the filter plugin's operators, and checks values before it converts them. Must follow it. */
export const FiltersPlugin: Plugin = (builder) => {
  builder.hook(
    'build',
    (build) => {
      const {
        pgSql: sql,
        connectionFilterScalarOperators: operators,
        connectionFilterResolve: resolve,
      } = typedBuild(build)
      for (const type of Object.keys(operators)) {
        const known = operators[type]!
        operators[type] = Object.fromEntries((OPERATORS[type] ?? []).map((name) => [name, known[name]]))
      }
      const everyChain = sql.join(
        CHAINS.map(({ slug }) => sql.literal(slug)),
        ', ',
      )
      const checked: Resolve = (value, source, typeName, query, pgType, modifier, field) => {
        if (field !== undefined) {
          const values = valuesOf(field, value)
          const is = NAMED[field]
          return is
            ? isNamed(sql, values, (name) => is(sql, source, name))
            : resolve(values, source, typeName, query, pgType, modifier, field)
        }
        const filter = fieldsOf(value)
        const found = resolve(filter, source, typeName, query, pgType, modifier)
        // The log's index begins with the chain, so a filter without a chain names all of them.
        return found && typeName === 'AttestationEventFilter' && filter.uid && !filter.chain
          ? sql.fragment`${found} and ${source}.chain in (${everyChain})`
          : found
      }
      return Object.assign(build, { connectionFilterResolve: checked })
    },
    ['PublishedFilters'],
  )

  builder.hook(
    'GraphQLInputObjectType:fields',
    (fields, build, context) => {
      const { scope, Self } = typedContext(context)
      const further = scope.isPgConnectionFilter && FURTHER[scope.pgIntrospection!.name]
      if (!further) return fields
      const { pgSql: sql, connectionFilterRegisterResolver: register } = typedBuild(build)
      const extended = { ...fields }
      for (const [name, { description, type = GraphQLString, condition }] of Object.entries(further)) {
        register(Self.name, name, ({ sourceAlias, fieldValue }) => condition(sql, sourceAlias, fieldValue))
        extended[name] = { description, type }
      }
      return extended
    },
    ['PublishedFurtherFilters'],
  )
}

/** Fields of a filter. Throws a QueryError for null and empty ones, which would filter nothing. */
function fieldsOf(filter: unknown): Fields {
  const fields = (filter ?? {}) as Fields
  for (const [name, value] of Object.entries(fields))
    if (value === null || (typeof value === 'object' && Object.keys(value).length === 0))
      throw new QueryError(`filter: ${name} has no operator. Add one such as equalTo, or leave it out.`)
  return fields
}

/** Operands of a field's filter in the stored form. Throws a QueryError for values that are never stored. */
function valuesOf(field: string, operators: unknown): unknown {
  return Object.fromEntries(
    Object.entries(operators as Fields).map(([operator, value]) => {
      const where = `filter: ${field}: ${operator}`
      if (value === null) throw new QueryError(`${where}: expected a value, got null. Leave it out.`)
      if (!Array.isArray(value)) return [operator, storedValue(field, value, where)]
      if (value.length === 0 || value.length > MAX_LISTED)
        throw new QueryError(`${where}: expected 1 to ${MAX_LISTED} values, got ${value.length}`)
      return [operator, value.map((each) => storedValue(field, each, where))]
    }),
  )
}

/** Pattern of the id of a row: the slug of its chain, then a UID, or the numbers of a block and a log. */
export const ROW_ID = /^[a-z0-9-]{1,40}-[0-9a-fx-]{1,80}$/i

/** Value in the stored form. Throws a QueryError that begins with `where`. */
export function storedValue(field: string, value: unknown, where: string): unknown {
  if (typeof value !== 'string') return value
  const wanted = (what: string) => new QueryError(`${where}: expected ${what}`)
  switch (field) {
    case 'uid':
    case 'schemaUid': {
      const uid = parseUid(value)
      if (uid === undefined) throw wanted('0x and 64 hex digits')
      return uid
    }
    case 'prover':
    case 'subject':
    case 'attester':
    case 'recipient': {
      const address = parseAddress(value)
      if (address === undefined) throw wanted('an address: 0x and 40 hex digits')
      return address
    }
    case 'chain': {
      const chain = chainNamed(value)
      if (!chain) throw wanted(`one of ${CHAINS.map(({ slug }) => slug).join(', ')}`)
      return chain.slug
    }
    case 'kind':
      if (!/^(attested|revoked)$/i.test(value)) throw wanted('ATTESTED or REVOKED')
      return value.toUpperCase()
    case 'timestamp':
    case 'blockTimestamp': {
      const instant = instantOf(value)
      if (instant === undefined)
        throw wanted('an ISO 8601 time such as 2026-01-31T12:00:00Z or 2026-01-31, of the years 1 to 9999')
      return instant
    }
    case 'id':
      if (!ROW_ID.test(value)) throw wanted('an id as in a response')
      return value.toLowerCase()
  }
  if (value.length > MAX_TEXT || value.includes('\0'))
    throw wanted(`at most ${MAX_TEXT} characters, without NUL`)
  return value
}

/**
 * Instant of an ISO 8601 date or time, UTC by default, as Postgres reads it; undefined for anything else. A
 * time between two milliseconds, which no row has, becomes their middle, so that every operator is correct.
 */
export function instantOf(text: string): string | undefined {
  const instant = millisecondsOf(text.trim())
  if (instant === undefined) return undefined
  // Postgres has no year 0. A zone's offset can lead there, or beyond the year 9999.
  const written = new Date(instant).toISOString()
  if (!/^(?!0000)\d{4}-/.test(written)) return undefined
  return millisecondsOf(text.trim(), 'up') === instant ? written : written.replace('Z', '5Z')
}

/** Reads a text with a reader of the Records API. Throws a QueryError with that reader's message. */
function textOf(field: string, value: unknown, read: (text: string, name: string) => string): string {
  try {
    return read(String(value), field)
  } catch (error) {
    if (error instanceof RecordsError) throw new QueryError(`filter: ${field}: ${error.detail}.`)
    throw error
  }
}

function readBbox(value: unknown): Bbox {
  const numbers: readonly unknown[] = Array.isArray(value) ? value : []
  const box = boxFrom(numbers)
  if (!box)
    throw new QueryError(
      `filter: bbox: expected [minLng, minLat, maxLng, maxLat] in degrees: longitudes from -180 to 180, latitudes from -90 to 90, minLat not above maxLat${remedyFor(numbers)}`,
    )
  return box
}
