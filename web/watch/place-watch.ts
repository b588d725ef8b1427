import type { LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { boxText } from '../explorer/state'
import { titleText } from '../explorer/words'
import type { Box } from '../map/area'
import { positionsOf } from '../map/layers'

/** Subject of the watch panel. */
export interface Watched {
  filters: Readonly<Record<string, string>>
  text: string
  /** element that had the focus when the watch was chosen */
  opener: Element | null
}
/** Margin around a place that a watch of the place includes, in degrees: about a kilometre of latitude. */
const AROUND = 0.01

/** Watch of the surroundings of a place. If the place has no geometry, its attester is watched instead. */
export function placeWatch(record: LocationRecord, geometry: Geometry | null | undefined): Watched {
  const positions = geometry ? positionsOf(geometry) : []
  const [text, opener] = [titleText(record), document.activeElement]
  if (positions.length === 0) return { filters: { prover: record.prover }, text, opener }
  // Each longitude is moved to within 180 degrees of the first, because an edge may cross the antimeridian.
  const first = positions[0]![0]!
  const [longitudes, latitudes] = [
    positions.map(([x]) => x! - 360 * Math.round((x! - first) / 360)),
    positions.map(([, y]) => y!),
  ]
  const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b)) - AROUND
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b)) + AROUND
  const [west, east] = [least(longitudes), most(longitudes)]
  const box: Box =
    east - west >= 360
      ? [-180, least(latitudes), 180, most(latitudes)]
      : [wrapped(west), least(latitudes), wrapped(east), most(latitudes)]
  return { filters: { bbox: boxText(box) }, text, opener }
}
const wrapped = (longitude: number) => longitude - 360 * Math.round(longitude / 360)
