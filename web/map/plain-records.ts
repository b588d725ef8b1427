import type { RecordFeatureCollection } from '@geospatial-attestation/client'
import { useLoaded } from '../loading'
import { geoOnce } from '../service'

/** Maximum number of features of the plain map. */
export const PLAIN_PLACES = 1_000
/** An export has no timeout of its own, so a stalled connection would end all updates of the map. */
const LONGEST_MS = 120_000

/** Newest records of a query (docs/reference/records.md), loaded again when `version` changes. */
export function usePlainRecords(query: string, version: number) {
  const load = async (signal: AbortSignal) => {
    const limit = new AbortController()
    const stop = () => limit.abort()
    signal.addEventListener('abort', stop)
    const timer = setTimeout(stop, LONGEST_MS)
    try {
      const stream = await geoOnce.records.export({
        ...Object.fromEntries(new URLSearchParams(query)),
        ...{ format: 'geojson', limit: PLAIN_PLACES, signal: limit.signal },
      })
      return (await new Response(stream).json()) as RecordFeatureCollection
    } finally {
      clearTimeout(timer)
    }
  }
  return useLoaded(`plain ${query}`, load, `${version}`)
}
