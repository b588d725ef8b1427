import { AttestationNotFoundError, type LocationRecord } from '@geospatial-attestation/client'
import type { AttestationContent } from '@geospatial-attestation/client/kernel'
import type { Geometry } from 'geojson'
import { extentOf } from '../map/extent'
import { geoOnce } from '../service'

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
export const CONTENT = 'schemaUid recipient attester time expirationTime revocable refUid data'
export const contentOf = ({ schemaUid, refUid, data, ...rest }: AttestedEvent): AttestationContent => ({
  ...{ ...rest, schema: schemaUid, refUID: refUid, data: data! },
})

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

const DETAILS = `query Record($chain: String!, $uid: String!) {
  locationRecordByChainAndUid(chain: $chain, uid: $uid) {
    geometry schemaUid refUid revocable expirationTime revocationTime
    events(first: 10) { nodes {
      kind blockNumber blockTimestamp transactionHash ${CONTENT}
    } }
  }
}`
/** Loads a record; undefined if it does not exist. */
export async function loadRecord(
  { chain, uid }: { chain: string; uid: string },
  signal: AbortSignal,
): Promise<Full | undefined> {
  try {
    const [record, { locationRecordByChainAndUid: details }] = await Promise.all([
      geoOnce.records.get(uid, { chain, signal }),
      geoOnce.graphql<{ locationRecordByChainAndUid: Details | null }>(DETAILS, { chain, uid }, { signal }),
    ])
    return { record, details }
  } catch (error) {
    if (error instanceof AttestationNotFoundError) return undefined
    throw error
  }
}

/** Position of a geometry: that of a point, otherwise the middle of the extent of the vertices. */
export function middleOf(geometry: Geometry | null | undefined): [number, number] | undefined {
  const extent = geometry && extentOf([geometry])
  if (!extent) return undefined
  const [west, south, east, north] = extent
  return [(west + east) / 2, (south + north) / 2]
}
