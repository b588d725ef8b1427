/**
 * Names of location types and reference systems, in one table: records are read by it, and the documentation
 * (docs/reference/records.md) and OpenAPI list its spellings. It depends on nothing, so that the client's
 * entry can load it.
 */

/**
 * Spellings by the type's own name, as documentation shows them, and the pattern that all of them match once
 * they are in lower case and without anything but letters and digits. Sources: the Location Protocol's
 * registry and JSON schema (spec.decentralizedgeo.org), and payloads of public writers (docs/spec/facts.md
 * 2).
 */
export const LOCATION_TYPES = {
  // The content of GeoJSON decides, whatever geometry the name promises.
  geojson: {
    spellings: ['geojson', 'geojson-point', 'GeoJSON:Point', 'geojson(point)', 'application/geo+json'],
    pattern: /^(?:(?:application|text|model)?(?:vnd)?)geojson/,
  },
  wkt: { spellings: ['wkt', 'wkt-point'], pattern: /^e?wkt/ },
  'coordinate-decimal+lon-lat': {
    spellings: ['coordinate-decimal+lon-lat'],
    pattern: /^coordinates?decimall(?:on|ng|ongitude)lat(?:itude)?$/,
  },
  'coordinate-decimal+lat-lon': {
    spellings: ['coordinate-decimal+lat-lon'],
    pattern: /^coordinates?decimallat(?:itude)?l(?:on|ng|ongitude)$/,
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

/** Longer names are not searched for a type: none that means something has a tenth of it. */
const MAX_NAME_LENGTH = 1_000

/** The location type that a location_type names; undefined for an unknown one. */
export function locationTypeOf(locationType: string): LocationType | undefined {
  const squeezed = squeeze(locationType)
  return (Object.keys(LOCATION_TYPES) as LocationType[]).find((type) =>
    LOCATION_TYPES[type].pattern.test(squeezed),
  )
}

/** Not the last letter of `geometry-xy`. */
const Y = '(?<!geometr)y'
const THEN = '(?:axis)?(?:and|then|before)?'
/** In a name that is squeezed. */
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

/** The GeoJSON type that the name of a location type promises, such as Point for `GeoJSON:Point`. */
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
 * The name without the namespace and major version of the Location Protocol's later names (`geojson-point` of
 * `lp.geojson-point.v1`; another namespace or version has another meaning, and stays), in lower case, without
 * anything but letters and digits.
 */
function squeeze(locationType: string): string {
  const name = locationType.slice(0, MAX_NAME_LENGTH).trim()
  return (/^lp\.(.+)\.v1$/i.exec(name)?.[1] ?? name).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

/**
 * Spellings of WGS84 as documentation shows them. All but the last kind mean longitude, latitude: by
 * definition or, for EPSG:4326 and WGS84, by the practice of all tools.
 */
export const SRS_SPELLINGS = {
  longitudeFirst: [
    ...['EPSG:4326', '4326', 'EPSG4326', 'WGS84', 'WGS 84', 'GPS', 'CRS84', 'OGC:CRS84', 'CRS84h'],
    ...['urn:ogc:def:crs:OGC:1.3:CRS84', 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'],
  ],
  /** This matters for formats that leave the axis order to the reference system. */
  latitudeFirst: ['urn:ogc:def:crs:EPSG::4326', 'http://www.opengis.net/def/crs/EPSG/0/4326'],
} as const

/** Once the name is in lower case, and each run of other characters than letters and digits is a space. */
const OGC = '(?:urn (?:x )?ogc def crs|https? www opengis net def crs) '
const WGS_84 = [
  '(?:(?:epsg|srid) ?)?4326',
  '(?:(?:gcs )?wgs|world geodetic system) ?(?:19)?84',
  'gps',
  '(?:ogc(?: 0| 1 3)? )?crs ?84h?',
]
/** One name, or several of the same, as in `EPSG:4326 - WGS 84`. */
const ANY = `(?:${WGS_84.join('|')})`
const LONGITUDE_FIRST = new RegExp(`^(?:${ANY}(?: ${ANY})*|${OGC}ogc(?: 0| 1 3)? crs84h?)$`)
const LATITUDE_FIRST = new RegExp(`^${OGC}epsg(?: \\d+){0,3} 4326$`)
const MAX_SRS_LENGTH = 200

/**
 * The axis order of a srs: `none` if it is empty, which is right for GeoJSON alone (RFC 7946 knows no other
 * reference system); undefined if it is not known as a name of WGS84.
 */
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
