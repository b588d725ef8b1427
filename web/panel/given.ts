import type { Feature, Geometry } from 'geojson'
import { useEffect, useRef } from 'preact/hooks'
import { isWellFormed } from '../map/extent'
import { frame, show } from '../map/layers'
import type { Map } from '../map/library'

/** Address parameters of the geometries of a form, which are also the roles of their drawings. */
export const FIELDS = ['a', 'b'] as const

/** Draws the geometries of a form, and brings changed ones into view if `isFramed` is true. */
export function useGiven(
  map: Map | undefined,
  geometries: readonly (Geometry | undefined)[],
  isFramed = true,
): void {
  const shown = JSON.stringify(geometries)
  const framed = useRef<string>(undefined)
  useEffect(() => {
    if (!map) return
    let left = false
    const draw = ({ drawGeometry }: typeof import('../map/shapes')) => {
      if (left) return
      const features = geometries.flatMap((geometry, i): Feature[] => {
        try {
          return geometry && isWellFormed(geometry) ? drawGeometry(geometry, FIELDS[i]!) : []
        } catch {
          // The geometry is not drawn, because the service rejects it. The field shows the reason.
          return []
        }
      })
      show(map, 'given', features)
      // The map does not move while the user edits vertices on it, nor when the form is shown again.
      const isEditing = map.getContainer().hasAttribute('data-drawing')
      if (isFramed && framed.current !== shown && !isEditing) frame(map, features)
      framed.current = shown
    }
    // Without this code, the form works, but draws nothing.
    import('../map/shapes').then(draw, () => {})
    return () => void (left = true)
  }, [map, shown])
  useEffect(() => () => map && show(map, 'given', []), [map])
}
