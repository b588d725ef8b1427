import type { FastifyInstance } from 'fastify'
import { ACTIVE_SLUGS, CHAINS, chainBySlug } from '../src/chains'
import type { ConnectedChain } from '../src/config'
import { LOCATION_SCHEMA } from '../src/location'
import { readinessOf, type ChainReadiness } from './monitoring'
import { recordsSchemas } from './openapi'
import { RecordsProblem, recordsErrorHandler } from './problems'
import { recordText } from './record-formats'
import type { RecordSearch, Records } from './search'
import type { ChainStatusRow, Store } from './store'
import type { Bbox } from './store-records'

const JSON_TYPE = 'application/json; charset=utf-8'
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
/** A degree needs 20 characters at most. */
const MAX_NUMBER_LENGTH = 40
const LIST_PARAMETERS = ['chain', 'prover', 'subject', 'fromTimestamp', 'toTimestamp', 'bbox', 'limit', 'offset'] as const
/** Query parameters as they came. */
export type Query<Name extends string> = Partial<Record<Name, string>>

/** The Records API (INTERFACE.md, Records API), mounted at /api/v0. */
export function recordsRoutes(parts: { store: Store; records: Records; clock: () => number; chains: readonly ConnectedChain[]; maxLagSeconds: number }) {
  const { store, records, clock, chains, maxLagSeconds } = parts
  return (app: FastifyInstance, _options: object, done: () => void): void => {
    app.setErrorHandler(recordsErrorHandler)

    app.get('/location-records', { schema: recordsSchemas.list }, async (request, reply) => {
      const search = parseSearch(knownParameters(request.query, LIST_PARAMETERS))
      const { rows } = await records.page(search)
      return reply.type(JSON_TYPE).send(`{"data":[${rows.map(recordText).join()}],"count":${rows.length},"limit":${search.limit},"offset":${search.offset}}`)
    })

    app.get('/location-records/stats', { schema: recordsSchemas.stats }, async (request) => {
      knownParameters(request.query, [])
      const now = clock()
      const [stats, statuses] = await Promise.all([store.stats(new Date(now)), store.chainStatuses()])
      return {
        total: stats.total,
        // The active ones always; others where there is something to count, so that all add up to the total.
        by_chain: { ...Object.fromEntries(ACTIVE_SLUGS.map((slug) => [slug, 0])), ...Object.fromEntries(Object.entries(stats.byChain).filter(([slug, count]) => count > 0 || ACTIVE_SLUGS.includes(slug))) },
        by_time: { last_24_hours: stats.last24Hours, last_7_days: stats.last7Days, last_30_days: stats.last30Days },
        revoked: stats.revoked,
        chains: freshness(statuses, chains, maxLagSeconds, now),
      }
    })

    app.get<{ Params: { uid: string } }>('/location-records/:uid', { schema: recordsSchemas.byUid }, async (request, reply) => {
      const { uid } = request.params
      if (!/^0x[0-9a-fA-F]{64}$/.test(uid)) throw new RecordsProblem('Invalid UID format', 'UID must be a 66-character hex string starting with 0x')
      const { chain } = knownParameters(request.query, ['chain'])
      const row = await store.recordByUid(uid.toLowerCase(), chain === undefined ? undefined : parseChain(chain))
      if (!row) throw new RecordsProblem('Location record not found', `No attestation with UID ${uid} found${chain === undefined ? '' : ` on ${chain}`}`)
      return reply.type(JSON_TYPE).send(recordText(row))
    })

    app.get('/config', { schema: recordsSchemas.config }, (request) => {
      knownParameters(request.query, [])
      return {
        chains: Object.fromEntries(CHAINS.map((chain) => [chain.slug, chain.active])),
        schema: LOCATION_SCHEMA.uid,
        schema_fields: LOCATION_SCHEMA.fields,
        version: 'v0',
      }
    })
    done()
  }
}

/** How far the copy of each chain goes: of those that this deployment is connected to, and of any other that an indexer has written of. */
function freshness(statuses: readonly ChainStatusRow[], connected: readonly ConnectedChain[], maxLagSeconds: number, now: number): Record<string, ChainReadiness> {
  const rows = new Map(statuses.map((row) => [row.chain, row]))
  return Object.fromEntries(
    CHAINS.flatMap((chain) => {
      const row = rows.get(chain.slug)
      const known = connected.find((each) => each.chain === chain)
      return known || row ? [[chain.slug, readinessOf(known ?? { chain, rpcUrls: [] }, row, maxLagSeconds, now)]] : []
    }),
  )
}

/** The query string with every name known and given once: a misspelt filter must not pass for no filter. */
export function knownParameters<Name extends string>(query: unknown, names: readonly Name[]): Query<Name> {
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (!(names as readonly string[]).includes(name))
      throw new RecordsProblem('Invalid query parameter', `Unknown parameter '${name.slice(0, 40)}'. ${names.length ? `Known parameters: ${names.join(', ')}` : 'This endpoint takes none'}`)
    if (typeof value !== 'string') throw invalid(name, 'Give it once')
  }
  return query as Query<Name>
}

function parseSearch(query: Query<(typeof LIST_PARAMETERS)[number]>): RecordSearch & { offset: number } {
  const { chain, prover, subject, fromTimestamp, toTimestamp, bbox, limit, offset } = query
  return {
    ...(chain !== undefined && { chain: parseChain(chain) }),
    ...(prover !== undefined && { prover: parseAddress('prover', prover) }),
    ...(subject !== undefined && { subject: parseAddress('subject', subject) }),
    ...(fromTimestamp !== undefined && { after: parseTime('fromTimestamp', fromTimestamp) }),
    ...(toTimestamp !== undefined && { before: parseTime('toTimestamp', toTimestamp) }),
    ...(bbox !== undefined && { bbox: parseBbox(bbox) }),
    // More than the maximum gives the maximum; the answer says which limit was applied.
    limit: limit === undefined ? DEFAULT_LIMIT : Math.min(parseWhole('limit', limit, 1), MAX_LIMIT),
    offset: offset === undefined ? 0 : parseWhole('offset', offset, 0),
  }
}

function invalid(name: string, detail: string): RecordsProblem {
  return new RecordsProblem(`Invalid ${name} parameter`, detail)
}

/** The slug of an active chain, by slug or alias. */
export function parseChain(text: string): string {
  const chain = chainBySlug(text)
  if (!chain?.active) throw invalid('chain', `Supported chains: ${ACTIVE_SLUGS.join(', ')}`)
  return chain.slug
}

/** An address in lower-case. */
export function parseAddress(name: string, text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw invalid(name, 'Expected an address: 0x and 40 hex digits')
  return text.toLowerCase()
}

function parseWhole(name: string, text: string, minimum: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (!(value >= minimum)) throw invalid(name, `Expected a whole number of at least ${minimum}${name === 'limit' ? `; more than ${MAX_LIMIT} gives ${MAX_LIMIT}` : ''}`)
  return value
}

/** Four finite numbers in range; minLng > maxLng is a box across the antimeridian. */
export function parseBbox(text: string): Bbox {
  const numbers = text.split(',').map((part) => (part.length <= MAX_NUMBER_LENGTH && /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(part) ? Number(part) : NaN))
  const [minLng, minLat, maxLng, maxLat] = numbers as [number, number, number, number]
  const inRange = numbers.length === 4 && [minLng, maxLng].every((lng) => Math.abs(lng) <= 180) && [minLat, maxLat].every((lat) => Math.abs(lat) <= 90)
  if (!inRange || minLat > maxLat)
    throw new RecordsProblem(
      'Invalid bbox format',
      'Expected format: minLng,minLat,maxLng,maxLat' + (numbers.length === 4 ? ' (degrees; longitudes from -180 to 180, latitudes from -90 to 90, minLat not above maxLat)' : ''),
    )
  return [minLng, minLat, maxLng, maxLat]
}

const ISO_8601 = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+ -]\d{2}:?\d{2})?)?$/i

/** An ISO 8601 date or time; without an offset it is UTC. An unescaped + in a query string arrives as a space. */
function parseTime(name: string, text: string): Date {
  const parts = ISO_8601.exec(text)
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', offset = 'Z'] = parts ?? []
  const date = `${year}-${month}-${day}`
  const zone = offset.toUpperCase() === 'Z' ? 'Z' : offset.replace(' ', '+').replace(/^(...):?(..)$/, '$1:$2')
  const time = new Date(`${date}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}${zone}`)
  // JavaScript takes 30 February for 2 March.
  const exists = new Date(`${date}T00:00:00Z`)
  if (!parts || Number.isNaN(time.getTime()) || Number.isNaN(exists.getTime()) || exists.toISOString().slice(0, 10) !== date)
    throw invalid(name, 'Expected an ISO 8601 time such as 2026-01-31T12:00:00Z or 2026-01-31')
  return time
}
