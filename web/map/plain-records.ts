import type { RecordFeatureCollection } from '@geospatial-attestation/client'
import { useLoaded } from '../loading'
import { geoOnce } from '../service'

/** Maximum number of features of the plain map. */
export const PLAIN_PLACES = 1_000

/** Newest records of a query (docs/reference/records.md), loaded again when `version` changes. */
export function usePlainRecords(query: string, version: number) {
  const load = async (signal: AbortSignal) => {
    const stream = await geoOnce.records.export({
      ...Object.fromEntries(new URLSearchParams(query)),
      ...{ format: 'geojson', limit: PLAIN_PLACES, signal },
    })
    return (await new Response(stream).json()) as RecordFeatureCollection
  }
  return useLoaded(`plain ${query}`, load, `${version}`)
}
