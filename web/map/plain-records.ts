import type { RecordFeatureCollection } from '@geospatial-attestation/client'
import { useLoaded } from '../loading'
import { geoOnce } from '../service'
import type { RecordKey } from './record-layers'

/** Maximum number of features of the plain map. */
export const PLAIN_PLACES = 1_000

/**
 * Loads the newest records of a query (docs/reference/records.md) for a plain map, and loads them again when
 * `version` changes.
 */
export function usePlainRecords(query: string, version: number) {
  return useLoaded(`plain ${query} ${version}`, async (signal) => {
    const stream = await geoOnce.records.export({
      ...Object.fromEntries(new URLSearchParams(query)),
      ...{ format: 'geojson', limit: PLAIN_PLACES, signal },
    })
    return (await new Response(stream).json()) as RecordFeatureCollection
  })
}

/** Record of a key of the plain map: its chain and UID, joined by a hyphen. */
export function recordOfKey(key: string): RecordKey {
  const at = key.lastIndexOf('-')
  return { chain: key.slice(0, at), uid: key.slice(at + 1) }
}
