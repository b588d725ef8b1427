/** URLs of built files (build/). */
declare module 'virtual:basemap/*' {
  const url: string
  export default url
}
declare module 'virtual:map-worker-url' {
  const url: string
  export default url
}
declare module 'virtual:towns' {
  const urls: Readonly<Record<string, string>>
  export default urls
}
declare module '*.css' {}

declare module 'exifr/dist/lite.esm.mjs' {
  export { default } from 'exifr'
}
declare module 'shpjs' {
  import type { FeatureCollection, Geometry } from 'geojson'
  export default function shp(zip: ArrayBuffer): Promise<FeatureCollection | FeatureCollection[]>
  export function parseShp(shp: ArrayBuffer): Geometry[]
}
