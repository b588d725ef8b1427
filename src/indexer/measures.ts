import { orNull, prepareGeometry, readGeometry } from '../geodesy'
import type { Location } from '../location'
import { OPERATIONS, rowOf } from '../operations'

/** Areas and lengths of records as the Compute API measures them, so that sums are sums of its results. */

/** Operations of one geometry, by the column of their result. */
const COLUMNS = { area_square_centimeters: 'area', length_centimeters: 'length' } as const
/** Columns of a record, as text; null if it has no such measure. */
export type Measures = Record<keyof typeof COLUMNS, string | null>
const NONE: Measures = { area_square_centimeters: null, length_centimeters: null }
/**
 * Limit of the kernel's work for one record, in the microseconds that it counts (`withEffort`): a base, and
 * an amount per character of its GeoJSON. A coastline of 100,000 positions takes a fifth of it. Without a
 * limit, a cheap attestation could delay an indexer by a second.
 */
const BASE = 5_000
const PER_CHARACTER = 1

/**
 * Returns the area of a polygon and the length of a line. Both are null for other types, for a geometry that
 * the kernel rejects, and for one that exceeds the limit of work.
 */
export function measuresOf(geometry: Location['geometry']): Measures {
  if (geometry === null || geometry.point !== null) return NONE
  const reading = readGeometry(JSON.parse(geometry.json), 'geometry')
  const measures = { ...NONE }
  for (const [column, name] of Object.entries(COLUMNS) as [keyof Measures, 'area' | 'length'][]) {
    if (!rowOf(name).inputs[0].accepts?.includes(reading.layout.type)) continue
    const measure = () => String(OPERATIONS[name].compute([prepareGeometry(reading)], []))
    measures[column] = orNull(BASE + PER_CHARACTER * geometry.json.length, measure)
  }
  return measures
}
