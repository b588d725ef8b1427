import { signal } from '@preact/signals'
import type { FilePlace } from './files'

/** Place that the next shown form takes into a field. Its text may be private, so no address holds it. */
export const handed = signal<FilePlace>()

const NAMES = /\.(geojson|json|kml|gpx|zip|shp)$/i

/** File that is dropped: of several, such as the parts of a shapefile, the first one with a known name. */
export function fileOf({ dataTransfer }: DragEvent): File | undefined {
  const files = [...(dataTransfer?.files ?? [])]
  return files.find(({ name }) => NAMES.test(name)) ?? files[0]
}

/** Keeps the browser from showing a dropped file instead of the page. */
export function keepPage(): void {
  const keep = (event: DragEvent) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
  }
  addEventListener('dragover', keep)
  addEventListener('drop', keep)
}
