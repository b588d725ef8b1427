import { AttestationNotFoundError } from '@geospatial-attestation/client'
import type { AttestationContent } from '@geospatial-attestation/client/kernel'
import type { RecordKey } from '../map/record-layers'
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
export interface LoadedRecord extends Full {
  /** key with which it was loaded; that of an address may name the chain by its id or an alias */
  chosen: RecordKey
}

/** True if the record was loaded with this key. Several chains may have its UID. */
export const isOf = (loaded: LoadedRecord, { chain, uid }: RecordKey): boolean =>
  loaded.chosen.chain === chain && loaded.chosen.uid === uid

/** Loads a record; undefined if it does not exist. */
export async function loadRecord(chosen: RecordKey, signal: AbortSignal): Promise<LoadedRecord | undefined> {
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
