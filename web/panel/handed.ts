import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { FilePlace } from './files'

/** Place that the next shown form takes into a field. Its text may be private, so no address holds it. */
export const handed = signal<FilePlace>()

const NAMES = /\.(geojson|json|kml|gpx|zip|shp)$/i

/**
 * Calls `onFile` for a file that is dropped on the page: of several, such as the parts of a shapefile, the
 * first one with a known name.
 */
export function useDroppedFile(onFile: (file: File, target: Node) => void): void {
  const handler = useRef(onFile)
  handler.current = onFile
  useLayoutEffect(() => {
    const drop = ({ dataTransfer, target }: DragEvent) => {
      const files = [...(dataTransfer?.files ?? [])]
      const file = files.find(({ name }) => NAMES.test(name)) ?? files[0]
      if (file) handler.current(file, target as Node)
    }
    addEventListener('drop', drop)
    return () => removeEventListener('drop', drop)
  }, [])
}

/** Keeps the browser from showing a dropped file instead of the page. */
export function keepPage(): void {
  const keep = (event: DragEvent) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
  }
  addEventListener('dragover', keep)
  addEventListener('drop', keep)
}
