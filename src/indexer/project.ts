import { FalseBodyError, type AttestationBody } from './bodies'
import { PayloadError } from '../eas'
import { orNull, prepareGeometry, readGeometry } from '../geodesy'
import { isAnswerAttester, readAnswer, type AnswerFields, type Claims } from '../answer'
import {
  decodeLocation,
  isLocationSchema,
  joinProblems,
  LINE_VERSION,
  recordFields,
  recordLine,
  type Location,
  type RecordFields,
} from '../location'
import { EventKind } from '../model/generated/_eventKind'
import { COMPUTE, rowOf } from '../operations'

/**
 * Version of the projection. Increase it with each change that makes a record differ from that of earlier
 * versions: the indexers then replay their records (reading.ts).
 */
export const READING = 10

/** A decoded Attested or Revoked log of a watched schema or attester, hex in lower case. */
export interface ChainEvent {
  kind: EventKind
  uid: string
  schemaUid: string
  attester: string
  recipient: string
  blockNumber: number
  blockHash: string
  /** Time of the block in Unix milliseconds. */
  blockTimestamp: number
  transactionHash: string
  logIndex: number
}

/** A row of the event log. Large numbers are texts, as Postgres writes them. */
export interface EventRow {
  id: string
  chain: string
  kind: EventKind
  uid: string
  schema_uid: string
  attester: string
  recipient: string
  ref_uid: string | null
  time: string | null
  expiration_time: string | null
  revocable: boolean | null
  data: Buffer | null
  problem: string | null
  /** True if part of the event could not be stored: it produces no record. */
  withheld: boolean
  block_number: number
  block_hash: string
  block_timestamp: Date
  transaction_hash: string
  log_index: number
}

/** Columns about the attestation in a row of each projected table. */
interface AttestationColumns {
  id: string
  schema_uid: string
  ref_uid: string
  revocable: boolean
  expiration_time: string
  revocation_time: Date | null
  block_number: number
  block_hash: string
  transaction_hash: string
  log_index: number
}

/** A row of location_record. schema.graphql documents each column. */
export interface RecordRow extends RecordFields, AttestationColumns, Measures {
  geometry: string | null
  /** The geometry for bbox queries: EWKB in hex. The entity lacks it, as Subsquid has no PostGIS type. */
  geom: string | null
  /** JSON of the record as the API returns it (src/location/line.ts) */
  line: string
  line_version: number
}

/** A row of answer. */
interface AnswerRow extends AnswerFields, AttestationColumns {
  created_at: Date
  updated_at: Date
}

/** Projected tables with the types of their rows. */
export interface ProjectedRows {
  location_record: RecordRow
  answer: AnswerRow
}
export type ProjectedTable = keyof ProjectedRows
export const PROJECTED_TABLES: readonly ProjectedTable[] = ['location_record', 'answer']

/** Columns of a row that a revocation changes, and the row's id. */
export type Revocation = Pick<RecordRow, 'id' | 'revocation_time' | 'updated_at'>

/** Rows that a batch writes: event log, new rows of each projected table, and revocations of older rows. */
export interface Projection {
  events: EventRow[]
  rows: { [Table in ProjectedTable]: ProjectedRows[Table][] }
  revocations: Record<ProjectedTable, Revocation[]>
}

/** Returns the key of an event. Keys of one chain sort in chain order. */
export function eventId(chain: string, block: number, logIndex: number): string {
  return `${chain}-${String(block).padStart(12, '0')}-${String(logIndex).padStart(6, '0')}`
}

/**
 * Returns the lowest and the highest key of a chain's events in these blocks, both ends included. A search
 * without one of them would read the events of other chains.
 */
export function eventIds(chain: string, from: number, to: number): [first: string, last: string] {
  return [eventId(chain, from, 0), eventId(chain, to, 999_999)]
}

/** Returns the key of a record or an answer, with the chain, because a UID does not identify one. */
export function recordId(chain: string, uid: string): string {
  return `${chain}-${uid}`
}

/** True if the events of this schema or attester are indexed. Both are lower-case. */
export function isWatched(chain: string, schemaUid: string, attester: string): boolean {
  return isLocationSchema(schemaUid, chain) || isAnswerAttester(chain, attester)
}

/**
 * Throws unless every attestation announced by these events has a body. Throws a FalseBodyError unless it has
 * the time of its block, and the schema and the attester that its log names, which decide how it is read.
 */
export function requireBodies(
  events: readonly ChainEvent[],
  bodies: ReadonlyMap<string, AttestationBody>,
): void {
  for (const { kind, uid, schemaUid, attester, blockNumber, blockTimestamp } of events) {
    if (kind === EventKind.REVOKED) continue
    const body = bodies.get(uid)
    if (!body) throw new Error(`the content of attestation ${uid} was not read`)
    // Another block may announce it too.
    if (body.time * 1_000n !== BigInt(blockTimestamp))
      throw new FalseBodyError(
        `attestation ${uid} has another time than block ${blockNumber}, which announces it`,
      )
    if (body.schema !== schemaUid || body.attester !== attester)
      throw new FalseBodyError(
        `the log of attestation ${uid} names the schema ${schemaUid} and the attester ${attester}, but the ` +
          `attestation has ${body.schema} and ${body.attester}`,
      )
  }
}

/**
 * Projects events, in chain order, into rows: a pure function of them, of the bodies that they announce
 * (requireBodies), and of the time of writing.
 *
 * An attestation of another schema than the location schemas comes from an attester of this service and is
 * read as an answer. A payload that cannot be read stays in the event log with its problem and produces no
 * row. A revocation of an attestation that is not among the events revokes an older row, if there is one.
 */
export function project(
  chain: string,
  events: readonly ChainEvent[],
  bodies: ReadonlyMap<string, AttestationBody>,
  now: Date,
): Projection {
  const log: EventRow[] = []
  const records = new Map<string, RecordRow>()
  const answers = new Map<string, AnswerRow>()
  const revocations: Projection['revocations'] = { location_record: [], answer: [] }

  for (const event of events) {
    const id = recordId(chain, event.uid)
    const isLocation = isLocationSchema(event.schemaUid, chain)
    if (event.kind === EventKind.REVOKED) {
      const row = isLocation ? records.get(id) : answers.get(id)
      const revocation = { revocation_time: new Date(event.blockTimestamp), updated_at: now }
      if (row) Object.assign(row, revocation, { revoked: true })
      else revocations[isLocation ? 'location_record' : 'answer'].push({ id, ...revocation })
      log.push(eventRow(chain, event))
      continue
    }
    const body = bodies.get(event.uid)!
    if (isLocation) {
      const { location, problem } = readLocation(body)
      if (location) records.set(id, locationRecord(chain, event, body, location, now))
      log.push(eventRow(chain, event, body, problem))
    } else {
      const answer = readAnswer(`0x${body.data.toString('hex')}`)
      if (answer) answers.set(id, answerRow(chain, event, body, answer, now))
      log.push(eventRow(chain, event, body, answer ? null : NO_ANSWER))
    }
  }
  for (const row of records.values()) row.line = recordLine(row)
  return {
    events: log,
    rows: { location_record: [...records.values()], answer: [...answers.values()] },
    revocations,
  }
}

const NO_ANSWER = 'it is not an answer of this service: its payload is neither a numeric nor a boolean result'

function readLocation(body: AttestationBody): { location?: Location; problem: string | null } {
  try {
    const location = decodeLocation(body.schema, body.data)
    return { location, problem: joinProblems(location.geometryProblem, location.timeProblem) }
  } catch (error) {
    if (error instanceof PayloadError) return { problem: error.message }
    throw error
  }
}

/** Returns the row of an event; for Attested with its body, unless the body cannot be stored. */
export function eventRow(
  chain: string,
  event: ChainEvent,
  body?: AttestationBody,
  problem: string | null = null,
  withheld = false,
): EventRow {
  return {
    id: eventId(chain, event.blockNumber, event.logIndex),
    chain,
    kind: event.kind,
    uid: event.uid,
    schema_uid: event.schemaUid,
    // The UID proves the body. Nothing proves the fields of the log.
    attester: body?.attester ?? event.attester,
    recipient: body?.recipient ?? event.recipient,
    ref_uid: body?.refUID ?? null,
    time: body?.time.toString() ?? null,
    expiration_time: body?.expirationTime.toString() ?? null,
    revocable: body?.revocable ?? null,
    data: body?.data ?? null,
    problem: problem && storable(problem),
    withheld,
    block_number: event.blockNumber,
    block_hash: event.blockHash,
    block_timestamp: new Date(event.blockTimestamp),
    transaction_hash: event.transactionHash,
    log_index: event.logIndex,
  }
}

/** Replaces what Postgres rejects in a message that quotes any text: NUL, and half a surrogate pair. */
function storable(message: string): string {
  return message.replace(/\p{Surrogate}|\0/gu, '\ufffd')
}

function locationRecord(
  chain: string,
  event: ChainEvent,
  body: AttestationBody,
  location: Location,
  now: Date,
): RecordRow {
  const { geometry } = location
  const fields = recordFields({
    chain,
    uid: event.uid,
    attester: body.attester,
    recipient: body.recipient,
    blockTime: new Date(event.blockTimestamp),
    location,
    now,
  })
  return Object.assign(fields, attestationColumns(chain, event, body), {
    geometry: geometry?.json ?? null,
    geom: geometry?.plane ?? null,
    // Serialized last, because a later event may revoke the record.
    line: '',
    line_version: LINE_VERSION,
    ...measuresOf(geometry),
  })
}

function answerRow(
  chain: string,
  event: ChainEvent,
  body: AttestationBody,
  { claims, value }: { claims: Claims; value: bigint | null },
  now: Date,
): AnswerRow {
  const { result, units, operation, timestamp, inputRefs } = claims
  return {
    ...{ uid: event.uid, chain, attester: body.attester, recipient: body.recipient },
    ...{ operation, result, units: units ?? null, value: value?.toString() ?? null },
    input_refs: inputRefs,
    computed_at: new Date(timestamp * 1000),
    timestamp: new Date(event.blockTimestamp),
    revoked: false,
    ...{ created_at: now, updated_at: now },
    ...attestationColumns(chain, event, body),
  }
}

function attestationColumns(chain: string, event: ChainEvent, body: AttestationBody): AttestationColumns {
  return {
    id: recordId(chain, event.uid),
    schema_uid: event.schemaUid,
    ref_uid: body.refUID,
    revocable: body.revocable,
    expiration_time: body.expirationTime.toString(),
    revocation_time: null,
    block_number: event.blockNumber,
    block_hash: event.blockHash,
    transaction_hash: event.transactionHash,
    log_index: event.logIndex,
  }
}

// Areas and lengths of records as the Compute API measures them, so that sums are sums of its results.

/** Operations of one geometry, by the column of their result. */
export const MEASURED = { area_square_centimeters: 'area', length_centimeters: 'length' } as const
/** Columns of a record, as text; null if it has no such measure. */
type Measures = Record<keyof typeof MEASURED, string | null>
const NONE: Measures = { area_square_centimeters: null, length_centimeters: null }
/**
 * Limit of the kernel's work for one record, in the microseconds that it counts (`withEffort`): a base, and
 * an amount per character of its GeoJSON. A coastline of 100,000 positions takes a fifth of it. Without a
 * limit, a cheap attestation could delay an indexer by a second.
 */
const BASE = 5_000
const PER_CHARACTER = 1

/**
 * Returns the area of a polygon and the length of a line. Both are null for other types, for a geometry that
 * the kernel rejects, and for one that exceeds the limit of work.
 */
export function measuresOf(geometry: Location['geometry']): Measures {
  if (geometry === null || geometry.point !== null) return NONE
  const reading = readGeometry(JSON.parse(geometry.json), 'geometry')
  const measures = { ...NONE }
  for (const [column, name] of Object.entries(MEASURED) as [keyof Measures, 'area' | 'length'][]) {
    if (!rowOf(name).inputs[0].accepts?.includes(reading.layout.type)) continue
    const measure = () => String(COMPUTE[name]([prepareGeometry(reading)], []))
    measures[column] = orNull(BASE + PER_CHARACTER * geometry.json.length, measure)
  }
  return measures
}
