import { AttestationNotFoundError, type LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
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
  const corners: [number, number][] = []
  const collect = (coordinates: unknown): void => {
    if (!Array.isArray(coordinates)) return
    if (typeof coordinates[0] === 'number') corners.push(coordinates as [number, number])
    else coordinates.forEach(collect)
  }
  const walk = (each: Geometry): void =>
    each.type === 'GeometryCollection' ? each.geometries.forEach(walk) : collect(each.coordinates)
  if (geometry) walk(geometry)
  if (corners.length === 0) return undefined
  const [first] = corners
  // Each longitude is moved to within 180 degrees of the first, because an edge may cross the antimeridian.
  const longitudes = corners.map(([x]) => x - 360 * Math.round((x - first![0]) / 360))
  const latitudes = corners.map(([, y]) => y)
  const middle = (values: number[]) =>
    (values.reduce((a, b) => Math.min(a, b)) + values.reduce((a, b) => Math.max(a, b))) / 2
  return [middle(longitudes), middle(latitudes)]
}
