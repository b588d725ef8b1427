import type { Feature, Geometry } from 'geojson'
import { axesOf } from '../../src/location/names'
import { featureOf, mapPositions } from '../map/extent'
import { locale, say } from '../messages'
import { geometryIn, textOf } from './input'

/** Places in files: GeoJSON, KML, GPX, zipped shapefiles, and private places that this page saved. */

export interface FilePlace {
  name: string
  /** text for the field of a geometry */
  text: string
}

/** Maximum size of a file in bytes. */
const MOST_BYTES = 20_000_000
/** Maximum number of characters of a place's name. */
const LONGEST_NAME = 80
/** File types that the file dialog offers. */
export const ACCEPTED = '.geojson,.json,.kml,.gpx,.zip,.shp,application/geo+json,application/json'

/** Reads the places of a file. Throws an Error with a message for the user. */
export async function placesIn(file: File): Promise<FilePlace[]> {
  if (file.size > MOST_BYTES) throw new Error(say.sources.tooLarge((MOST_BYTES / 1e6).toLocaleString(locale)))
  const places = await read(file)
  if (places.length === 0) throw new Error(say.sources.noGeometry(file.name))
  return places
}

async function read(file: File): Promise<FilePlace[]> {
  const name = file.name.toLowerCase()
  if (/\.(zip|shp)$/.test(name)) return placesOf(await shapefile(file, name.endsWith('.zip')))
  const text = await file.text()
  if (/\.(kml|gpx)$/.test(name) || text.trimStart().startsWith('<'))
    return placesOf(await xml(text, file.name))
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error(say.sources.unknown(file.name))
  }
  // The text of a private place stays unchanged, because its salt belongs to exactly this geometry.
  if ((json as { salt?: unknown } | null)?.salt !== undefined) return [{ name: file.name, text: text.trim() }]
  return placesOf(featuresIn(json, file.name))
}

/**
 * Features of GeoJSON with a geometry of a known type. A geometry is a feature without properties. Throws a
 * CrsError for a reference system other than WGS84, which the text of a place would not contain.
 */
function featuresIn(json: unknown, name: string): Feature[] {
  const { type, features, crs } = (json ?? {}) as { type?: unknown; features?: unknown; crs?: unknown }
  refuseCrs(crs, name)
  if (type === 'FeatureCollection')
    return Array.isArray(features) ? features.flatMap((each) => featuresIn(each, name)) : []
  const feature = type === 'Feature' ? (json as Feature) : featureOf(json as Geometry)
  if (!geometryIn(feature.geometry)) return []
  refuseCrs((feature.geometry as { crs?: unknown }).crs, name)
  return [feature]
}

class CrsError extends Error {
  constructor(file: string, crs: string) {
    super(say.sources.notWgs84(file, crs))
  }
}

/** Throws a CrsError for a `crs` member, of GeoJSON before RFC 7946, that is not known to mean WGS84. */
function refuseCrs(crs: unknown, file: string): void {
  if (crs === undefined || crs === null) return
  const { name } = (crs as { properties?: { name?: unknown } }).properties ?? {}
  const given = typeof name === 'string' ? name : ''
  if ((axesOf(given) ?? 'none') === 'none') throw new CrsError(file, given)
}

async function xml(text: string, name: string): Promise<Feature[]> {
  const { gpx, kml } = await import('@tmcw/togeojson')
  const document = new DOMParser().parseFromString(text, 'application/xml')
  if (document.querySelector('parsererror')) throw new Error(say.sources.notXml(name))
  const isGpx = document.documentElement.localName === 'gpx'
  return (isGpx ? gpx(document) : kml(document, { skipNullGeometry: true })).features as Feature[]
}

async function shapefile(file: File, isZip: boolean): Promise<Feature[]> {
  const [{ default: shp, parseShp }, { iter }] = await Promise.all([import('shpjs'), import('but-unzip')])
  const bytes = await file.arrayBuffer()
  try {
    if (isZip) {
      // Read by the library's own reader of archives, so that each .prj file that it uses is checked.
      for (const { filename, read } of iter(new Uint8Array(bytes)))
        if (/^(?!__MACOSX).*\.prj$/is.test(filename)) {
          const prj = new TextDecoder().decode(await read())
          if (!isWorldwide(prj)) throw new CrsError(file.name, /"([^"]*)"/.exec(prj)?.[1] ?? '')
        }
      return [await shp(bytes)].flat().flatMap((layer) => featuresIn(layer, file.name))
    }
    // Read as degrees: without its .prj file, a shapefile does not state its coordinate system.
    return parseShp(bytes).map(featureOf)
  } catch (error) {
    if (error instanceof CrsError) throw error
    throw new Error(say.sources.notShapefile(file.name), { cause: error })
  }
}

/**
 * True if the datum of a .prj file is one of the whole Earth, on the ellipsoid of WGS84 or GRS80, or if the
 * file states its shift to WGS84. The library converts coordinates of other datums without a shift, which
 * makes them wrong by up to hundreds of metres.
 */
function isWorldwide(prj: string): boolean {
  return /(?:SPHEROID|ELLIPSOID)\s*\[\s*"[^"]*"\s*,\s*6378137(?:\.0*)?\s*,\s*298\.25722|TOWGS84\s*\[/i.test(
    prj,
  )
}

function placesOf(features: readonly Feature[]): FilePlace[] {
  return features
    .filter(({ geometry }) => (geometry as Geometry | null) !== null)
    .map(({ geometry, properties }, i) => {
      const { name, title, NAME, Name } = (properties ?? {}) as Record<string, unknown>
      const own = [name, title, NAME, Name].find((each) => typeof each === 'string' && each.trim() !== '')
      return {
        name: ((own as string | undefined) ?? `${geometry.type} ${i + 1}`).slice(0, LONGEST_NAME),
        // Without altitudes, which no measurement uses: KML often has zeros, and each number costs gas.
        text: textOf(mapPositions(geometry, (position) => position.slice(0, 2))),
      }
    })
}
