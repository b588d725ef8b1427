import type { LocationRecord } from '@geospatial-attestation/client'
import { geoOnce, LONGEST_MEMO } from '../service'

/** Maximum number of records that are searched for records of the same place. */
const MOST = 100

/** Key that is equal for all attestations of one place by one attester, on any chain. */
export const placeKey = ({ prover, srs, location_type: type, location, memo }: LocationRecord): string =>
  JSON.stringify([prover, srs, type, location, memo])

/** True if another record is of the same place by the same attester on another chain. */
const isTwin = (record: LocationRecord, other: LocationRecord) =>
  other.chain !== record.chain && placeKey(other) === placeKey(record)

/** Records of the same place by the same attester on other chains, one for each chain. */
export async function twinsOf(record: LocationRecord, signal: AbortSignal): Promise<LocationRecord[]> {
  const { prover, memo, longitude, latitude, location_type: type } = record
  const words = memo.match(/[\p{L}\p{N}]+/gu)?.join(' ') ?? ''
  const { data } = await geoOnce.records.page({
    prover,
    ...(type.length <= LONGEST_MEMO && !type.includes(',') && { location_type: type }),
    ...(longitude !== null && latitude !== null
      ? { near: `${longitude},${latitude}`, radius: 1 }
      : words && words.length <= LONGEST_MEMO && { memo: words }),
    revoked: false,
    limit: MOST,
    signal,
  })
  const byChain = new Map(data.filter((other) => isTwin(record, other)).map((each) => [each.chain, each]))
  return [...byChain.values()]
}
