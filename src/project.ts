import type { AttestationBody } from './bodies'
import { PayloadError } from './eas'
import { decodeLocation, type Location } from './location'
import { AttestationEvent, EventKind, LocationRecord } from './model'

/** A decoded Attested or Revoked log of a watched schema, hex lower-case. */
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

/** What a batch writes: rows of the log, new records, and which of the older records it revokes. */
export interface Projection {
  events: AttestationEvent[]
  records: LocationRecord[]
  revocations: { id: string; revocationTime: Date; updatedAt: Date }[]
}

/** The key of an event: those of one chain sort as they happened. */
export function eventId(chain: string, block: number, logIndex: number): string {
  return `${chain}-${String(block).padStart(12, '0')}-${String(logIndex).padStart(6, '0')}`
}

/** The key of a record: a UID names no chain, so the chain is part of it. */
export function recordId(chain: string, uid: string): string {
  return `${chain}-${uid}`
}

/**
 * Turns events, in chain order, into rows. Pure: `bodies` holds every attestation announced by them, `now` is the time of
 * writing. A payload that cannot be read stays in the log with its problem and gives no record; a revocation of what is
 * not announced here is one of an older record, if there is any.
 */
export function project(
  chain: string,
  events: readonly ChainEvent[],
  bodies: ReadonlyMap<string, AttestationBody>,
  now: Date,
): Projection {
  const rows: AttestationEvent[] = []
  const records = new Map<string, LocationRecord>()
  const revocations: Projection['revocations'] = []

  for (const event of events) {
    const id = recordId(chain, event.uid)
    if (event.kind === EventKind.REVOKED) {
      const record = records.get(id)
      const revocation = { revocationTime: new Date(event.blockTimestamp), updatedAt: now }
      if (record) Object.assign(record, revocation, { revoked: true })
      else revocations.push({ id, ...revocation })
      rows.push(eventRow(chain, event))
      continue
    }
    const body = bodies.get(event.uid)
    if (!body) throw new Error(`no body was read for attestation ${event.uid}`)
    const { location, problem } = readLocation(body)
    if (location) records.set(id, locationRecord(chain, event, body, location, now))
    rows.push(eventRow(chain, event, body, problem))
  }
  return { events: rows, records: [...records.values()], revocations }
}

function readLocation(body: AttestationBody): { location?: Location; problem: string | null } {
  try {
    const location = decodeLocation(body.schema, body.data)
    return { location, problem: location.geometryProblem }
  } catch (error) {
    if (error instanceof PayloadError) return { problem: error.message }
    throw error
  }
}

function eventRow(chain: string, event: ChainEvent, body?: AttestationBody, problem: string | null = null): AttestationEvent {
  return new AttestationEvent({
    id: eventId(chain, event.blockNumber, event.logIndex),
    chain,
    kind: event.kind,
    uid: event.uid,
    schemaUid: event.schemaUid,
    attester: event.attester,
    recipient: event.recipient,
    refUid: body?.refUID,
    time: body?.time,
    expirationTime: body?.expirationTime,
    revocable: body?.revocable,
    data: body && Buffer.from(body.data.slice(2), 'hex'),
    // Cut texts may end in half a character, which JSON for Postgres must not hold.
    problem: problem && problem.replace(/\p{Surrogate}|\0/gu, '\ufffd'),
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    blockTimestamp: new Date(event.blockTimestamp),
    transactionHash: event.transactionHash,
    logIndex: event.logIndex,
  })
}

function locationRecord(chain: string, event: ChainEvent, body: AttestationBody, location: Location, now: Date): LocationRecord {
  const { geometry } = location
  const timestamp = new Date(event.blockTimestamp)
  return new LocationRecord({
    id: recordId(chain, event.uid),
    uid: event.uid,
    chain,
    prover: event.attester,
    subject: event.recipient,
    timestamp,
    eventTimestamp: location.eventTimestamp === undefined ? timestamp : new Date(location.eventTimestamp * 1000),
    srs: location.srs,
    locationType: location.locationType,
    location: location.location,
    longitude: geometry?.point?.[0] ?? null,
    latitude: geometry?.point?.[1] ?? null,
    recipeTypes: location.recipeTypes,
    recipePayloads: location.recipePayloads,
    mediaTypes: location.mediaTypes,
    mediaData: location.mediaData,
    memo: location.memo,
    revoked: false,
    createdAt: now,
    updatedAt: now,
    geometry: geometry?.json ?? null,
    schemaUid: event.schemaUid,
    refUid: body.refUID,
    revocable: body.revocable,
    expirationTime: body.expirationTime,
    revocationTime: null,
    blockNumber: event.blockNumber,
    blockHash: event.blockHash,
    transactionHash: event.transactionHash,
    logIndex: event.logIndex,
  })
}
