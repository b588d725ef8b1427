import type { LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'

/** Content of an attestation in the event log, by GraphQL. */
export interface AttestedEvent {
  attester: string
  /** null for an event without content */
  data: string | null
  schemaUid: string
  recipient: string
  time: string
  expirationTime: string
  revocable: boolean
  refUid: string
}

export interface Event extends AttestedEvent {
  kind: 'ATTESTED' | 'REVOKED'
  blockNumber: number
  blockTimestamp: string
  transactionHash: string
}
export interface Details {
  geometry: Geometry | null
  schemaUid: string
  refUid: string
  revocable: boolean
  expirationTime: string
  revocationTime: string | null
  events: { nodes: Event[] }
}
/** A record with the details that only GraphQL returns. */
export interface Full {
  record: LocationRecord
  details: Details | null
}
