// SPDX-License-Identifier: MIT
/**
 * Names of location types and reference systems. The documentation (docs/reference/location-types.md) and
 * OpenAPI list them. This file has no imports, so that the client's entry can load it.
 */

/**
 * Location types: spellings, and a pattern that all match after `squeeze`. Sources: the Location Protocol's
 * registry and JSON schema (spec.decentralizedgeo.org), and public writers (docs/spec/facts.md 2).
 */
export const LOCATION_TYPES = {
  // The content of GeoJSON determines the geometry, whatever the name promises.
  geojson: {
    spellings: ['geojson', 'geojson-point', 'GeoJSON:Point', 'geojson(point)', 'application/geo+json'],
    pattern: /^(?:application|text|model)?(?:vnd|x)?geojson/,
  },
  wkt: { spellings: ['wkt', 'wkt-point'], pattern: /^(?:(?:application|text)x?)?e?wkt/ },
  'coordinate-decimal+lon-lat': {
    spellings: ['coordinate-decimal+lon-lat'],
    pattern: /^coordinates?decimall(?:ong?|ng|ongitude)lat(?:itude)?$/,
  },
  'coordinate-decimal+lat-lon': {
    spellings: ['coordinate-decimal+lat-lon'],
    pattern: /^coordinates?decimallat(?:itude)?l(?:ong?|ng|ongitude)$/,
  },
  'DecimalDegrees<string>': { spellings: ['DecimalDegrees<string>'], pattern: /^decimaldegreesstring$/ },
  scaledCoordinates: {
    spellings: ['scaledCoordinates', 'scaled-coordinates'],
    pattern: /^scaledcoordinates?$/,
  },
  h3: { spellings: ['h3'], pattern: /^h3$/ },
  geohash: { spellings: ['geohash'], pattern: /^geohash$/ },
  address: { spellings: ['address'], pattern: /^address$/ },
  DecimalDegrees: {
    spellings: ['DecimalDegrees', 'coordinate-decimal'],
    pattern: /^(?:decimaldegrees|coordinatedecimal)$/,
  },
} as const satisfies Readonly<Record<string, { spellings: readonly string[]; pattern: RegExp }>>
export type LocationType = keyof typeof LOCATION_TYPES

/** Maximum number of characters of the name of a type. No known name has a tenth of it. */
const MAX_NAME_LENGTH = 1_000

/** Location type that a location_type names; undefined if it is unknown. */
export function locationTypeOf(locationType: string): LocationType | undefined {
  const squeezed = squeeze(locationType)
  return (Object.keys(LOCATION_TYPES) as LocationType[]).find((type) =>
    LOCATION_TYPES[type].pattern.test(squeezed),
  )
}

/** Pattern of a y, except the last letter of `geometry-xy`. */
const Y = '(?<!geometr)y'
const THEN = '(?:axis)?(?:and|then|before)?'
/** Axis orders with the latitude first, in a squeezed name. */
const LATITUDE_BEFORE_LONGITUDE = new RegExp(
  [
    `lat(?:i(?:tude)?)?s?${THEN}l(?:on|ng)`,
    `north(?:ing)?s?${THEN}east`,
    `${Y}${THEN}x(?!y)`,
    `(?:lat(?:i(?:tude)?)?|north(?:ing)?|${Y})(?:axis)?first`,
    '(?:lon(?:g(?:itude)?)?|lng|east(?:ing)?|x)(?:axis)?last',
  ].join('|'),
)

/** True for GeoJSON or WKT whose name contradicts its axis order, such as `geojson-lat-lon` or `wkt-yx`. */
export function saysLatitudeFirst(locationType: string, type: LocationType): boolean {
  return (type === 'geojson' || type === 'wkt') && LATITUDE_BEFORE_LONGITUDE.test(squeeze(locationType))
}

/** GeoJSON type that the name of a location type promises, such as Point for `GeoJSON:Point`. */
export function promisedType(locationType: string): string | undefined {
  return PROMISED_TYPES.get(squeeze(locationType).replace(/^.*?(?:geojson|wkt)/, ''))
}

const PROMISED_TYPES: ReadonlyMap<string, string> = new Map([
  ['line', 'LineString'],
  ['multiline', 'MultiLineString'],
  ...[
    'Point',
    'LineString',
    'Polygon',
    'MultiPoint',
    'MultiLineString',
    'MultiPolygon',
    'GeometryCollection',
  ].map((type) => [type.toLowerCase(), type] as const),
])

/**
 * Letters and digits of a name in lower case, without namespace and major version of the Location Protocol's
 * later names (`lp.geojson-point.v1`). Others have another meaning, and stay.
 */
function squeeze(locationType: string): string {
  // The end of a longer name could contradict its start.
  if (locationType.length > MAX_NAME_LENGTH) return ''
  const name = locationType.trim()
  return (/^lp\.(.+)\.v1$/i.exec(name)?.[1] ?? name).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

/**
 * Spellings of WGS84. Longitude is first by definition, or by the practice of all tools (EPSG:4326, WGS84).
 */
export const SRS_SPELLINGS = {
  longitudeFirst: [
    ...['EPSG:4326', '4326', 'EPSG4326', 'WGS84', 'WGS 84', 'GPS', 'CRS84', 'OGC:CRS84', 'CRS84h'],
    ...['urn:ogc:def:crs:OGC:1.3:CRS84', 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'],
  ],
  /** Latitude, longitude in formats that leave the axis order to the reference system. */
  latitudeFirst: ['urn:ogc:def:crs:EPSG::4326', 'http://www.opengis.net/def/crs/EPSG/0/4326'],
} as const

/** Patterns for a name in lower case, with a space for each run of other characters. */
const OGC = '(?:urn (?:x )?ogc def crs|https? www opengis net def crs) '
const WGS_84 = [
  '(?:(?:epsg|srid) ?)?4326',
  '(?:(?:gcs )?wgs|world geodetic system) ?(?:19)?84',
  'gps',
  '(?:ogc(?: 0| 1 3)? )?crs ?84h?',
]
/** One name, or several with the same meaning, as in `EPSG:4326 - WGS 84`. */
const ANY = `(?:${WGS_84.join('|')})`
const LONGITUDE_FIRST = new RegExp(`^(?:${ANY}(?: ${ANY})*|${OGC}ogc(?: 0| 1 3)? crs84h?)$`)
const LATITUDE_FIRST = new RegExp(`^${OGC}epsg(?: \\d+){0,3} 4326$`)
const MAX_SRS_LENGTH = 200

/** Axis order of a srs. `none` if it is empty, as GeoJSON allows (RFC 7946). Undefined if it is unknown. */
export function axesOf(srs: string): 'longitude first' | 'latitude first' | 'none' | undefined {
  if (srs.trim() === '') return 'none'
  if (srs.length > MAX_SRS_LENGTH) return undefined
  const words = srs
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
  return LONGITUDE_FIRST.test(words)
    ? 'longitude first'
    : LATITUDE_FIRST.test(words)
      ? 'latitude first'
      : undefined
}
