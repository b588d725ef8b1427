import type { Feature, Geometry } from 'geojson'
import { useEffect } from 'preact/hooks'
import { frame, show } from '../map/layers'
import type { Map } from '../map/library'

/** Address parameters of the geometries of a form, which are also the roles of their drawings. */
export const FIELDS = ['a', 'b'] as const

/** Draws the geometries of a form when they change, and brings them into view unless `isFramed` is false. */
export function useGiven(
  map: Map | undefined,
  geometries: readonly (Geometry | undefined)[],
  isFramed = true,
): void {
  const shown = JSON.stringify(geometries)
  useEffect(() => {
    if (!map) return
    let left = false
    void import('../map/shapes').then(({ drawGeometry }) => {
      if (left) return
      const features = geometries.flatMap((geometry, i): Feature[] => {
        try {
          return geometry ? drawGeometry(geometry, FIELDS[i]!) : []
        } catch {
          // The service rejects the geometry with a reason, which is shown at the field.
          return []
        }
      })
      show(map, 'given', features)
      if (isFramed) frame(map, features)
    })
    return () => void (left = true)
  }, [map, shown])
}
