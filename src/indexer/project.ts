import type { AttestationBody } from './bodies'
import { PayloadError } from '../eas'
import { readAnswer, type AnswerFields, type Claims } from '../answer'
import {
  decodeLocation,
  isLocationSchema,
  joinProblems,
  recordFields,
  type Location,
  type RecordFields,
} from '../location'
import { EventKind } from '../model/generated/_eventKind'

/**
 * Version of the projection. Increase it with a change by which a record would differ from that of a new
 * database: the indexers then replay what they have (reading.ts).
 */
export const READING = 2

/** A decoded Attested or Revoked log of a watched schema or attester, hex lower-case. */
export interface ChainEvent {
  kind: EventKind
  uid: string
  schemaUid: string
  attester: string
  recipient: string
  blockNumber: number
  blockHash: string
  /** Unix milliseconds */
  blockTimestamp: number
  transactionHash: string
  logIndex: number
}

/** A row of the log, named as its columns; large numbers as Postgres writes them. */
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
  /** Something of it could not be stored: no record follows from it. */
  withheld: boolean
  block_number: number
  block_hash: string
  block_timestamp: Date
  transaction_hash: string
  log_index: number
}

/** What a row has of its attestation, whatever it attests. */
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

/** A row of location_record: the record's fields, and more. schema.graphql says what each column means. */
export interface RecordRow extends RecordFields, AttestationColumns {
  geometry: string | null
  /** What bbox queries look at: EWKB in hex; no column of the entity, which knows no PostGIS */
  geom: string | null
}

/** A row of answer. */
export interface AnswerRow extends AnswerFields, AttestationColumns {
  created_at: Date
  updated_at: Date
}

/** The tables that follow from the log, with their rows. */
export interface ProjectedRows {
  location_record: RecordRow
  answer: AnswerRow
}
export type ProjectedTable = keyof ProjectedRows
export const PROJECTED_TABLES: readonly ProjectedTable[] = ['location_record', 'answer']

/** What a revocation changes in a row. */
export type Revocation = Pick<RecordRow, 'id' | 'revocation_time' | 'updated_at'>

/** What a batch writes: rows of the log; new rows of each table, and which of its older ones it revokes. */
export interface Projection {
  events: EventRow[]
  rows: { [Table in ProjectedTable]: ProjectedRows[Table][] }
  revocations: Record<ProjectedTable, Revocation[]>
}

/** The key of an event: those of one chain sort as they happened. */
export function eventId(chain: string, block: number, logIndex: number): string {
  return `${chain}-${String(block).padStart(12, '0')}-${String(logIndex).padStart(6, '0')}`
}

/** The key of a record or an answer: a UID names no chain, so the chain is part of it. */
export function recordId(chain: string, uid: string): string {
  return `${chain}-${uid}`
}

/**
 * Throws unless every attestation announced by these events has a body, of the schema that its log names:
 * else a node lies, or a caller is wrong.
 */
export function requireBodies(
  events: readonly ChainEvent[],
  bodies: ReadonlyMap<string, AttestationBody>,
): void {
  for (const { kind, uid, schemaUid } of events) {
    if (kind === EventKind.REVOKED) continue
    const body = bodies.get(uid)
    if (!body) throw new Error(`no body was read for attestation ${uid}`)
    if (body.schema !== schemaUid)
      throw new Error(
        `the log of attestation ${uid} says schema ${schemaUid}, the attestation itself ${body.schema}`,
      )
  }
}

/**
 * Turns events, in chain order, into rows. Pure: `bodies` holds every attestation announced by them
 * (requireBodies), `now` is the time of writing. What is of no location schema is of an attester of ours, and
 * read as an answer. A payload that cannot be read stays in the log with its problem and gives no row; a
 * revocation of what is not announced here is one of an older row, if there is any.
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
  return {
    events: log,
    rows: { location_record: [...records.values()], answer: [...answers.values()] },
    revocations,
  }
}

const NO_ANSWER = 'it is no answer of this service: its payload is neither that of a number nor of a boolean'

function readLocation(body: AttestationBody): { location?: Location; problem: string | null } {
  try {
    const location = decodeLocation(body.schema, body.data)
    return { location, problem: joinProblems(location.geometryProblem, location.timeProblem) }
  } catch (error) {
    if (error instanceof PayloadError) return { problem: error.message }
    throw error
  }
}

/** The row of an event; of an Attested with its body, unless that cannot be stored. */
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
    // The body is proven, what the log says of an attestation is not.
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

/**
 * A message that quotes an attested text, without what Postgres refuses: NUL, and half of a character that
 * was cut.
 */
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
