import { AttestationNotFoundError } from '@geospatial-attestation/client'
import type { AttestationContent } from '@geospatial-attestation/client/kernel'
import { geoOnce } from '../service'
import type { AttestedEvent, Details, Full } from './full'

export const CONTENT = 'schemaUid recipient attester time expirationTime revocable refUid data'
export const contentOf = ({ schemaUid, refUid, data, ...rest }: AttestedEvent): AttestationContent => ({
  ...{ ...rest, schema: schemaUid, refUID: refUid, data: data! },
})

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
