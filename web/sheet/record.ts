import { AttestationNotFoundError, type LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { extentOf } from '../map/extent'
import { geoOnce } from '../service'

export interface Event {
  kind: 'ATTESTED' | 'REVOKED'
  blockNumber: number
  blockTimestamp: string
  transactionHash: string
  attester: string
  data: string | null
  problem: string | null
  schemaUid: string
  recipient: string
  time: string
  expirationTime: string
  revocable: boolean
  refUid: string
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
      kind blockNumber blockTimestamp transactionHash attester data problem
      schemaUid recipient time expirationTime revocable refUid
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
