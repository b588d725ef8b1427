import type { LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { boxText } from '../explorer/state'
import { titleText } from '../explorer/words'
import { extentOf, wrapped, type Box } from '../map/extent'

/** Subject of the watch panel. */
export interface Watched {
  /** by the names of the address parameters */
  filters: Readonly<Record<string, string>>
  /** description of the filters for the user; empty for all places */
  text: string
  /** element that had the focus when the watch was chosen */
  opener: Element | null
}
/** Margin around a place that a watch of the place includes, in degrees: about a kilometre of latitude. */
const AROUND = 0.01

/** Watch of the surroundings of a place. If the place has no geometry, its attester is watched instead. */
export function placeWatch(record: LocationRecord, geometry: Geometry | null | undefined): Watched {
  const extent = geometry && extentOf([geometry])
  const [text, opener] = [titleText(record), document.activeElement]
  if (!extent) return { filters: { prover: record.prover }, text, opener }
  const [west, east] = [extent[0] - AROUND, extent[2] + AROUND]
  const [south, north] = [extent[1] - AROUND, extent[3] + AROUND]
  // All longitudes meet at a pole.
  const isWhole = east - west >= 360 || south <= -90 || north >= 90
  const box: Box = isWhole ? [-180, south, 180, north] : [wrapped(west), south, wrapped(east), north]
  return { filters: { bbox: boxText(box) }, text, opener }
}
