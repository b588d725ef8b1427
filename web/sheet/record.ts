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
/** Key of a record in the address. The chain may be named by its id or an alias. */
export interface Chosen {
  chain: string
  uid: string
}
export interface LoadedRecord extends Full {
  /** key with which it was loaded */
  chosen: Chosen
}

/** True if the record was loaded with this key. Several chains may have its UID. */
export const isOf = (loaded: LoadedRecord, { chain, uid }: Chosen): boolean =>
  loaded.chosen.chain === chain && loaded.chosen.uid === uid

/** Loads a record; undefined if it does not exist. */
export async function loadRecord(chosen: Chosen, signal: AbortSignal): Promise<LoadedRecord | undefined> {
  const { chain, uid } = chosen
  try {
    const [record, { locationRecordByChainAndUid: details }] = await Promise.all([
      geoOnce.records.get(uid, { chain, signal }),
      geoOnce.graphql<{ locationRecordByChainAndUid: Details | null }>(DETAILS, { chain, uid }, { signal }),
    ])
    return { chosen, record, details }
  } catch (error) {
    if (error instanceof AttestationNotFoundError) return undefined
    throw error
  }
}
