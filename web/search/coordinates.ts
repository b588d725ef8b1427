/** Parser of positions in the notations that maps, GPS receivers and people use. */

export interface FoundPosition {
  longitude: number
  latitude: number
}
interface Angle {
  degrees: number
  /** letter of the hemisphere */
  letter: string | undefined
  /** number of given parts, from 1 to 3: degrees, minutes, seconds */
  parts: number
}

const NUMBER = String.raw`[+-]?\d+(?:\.\d+)?`
const DECIMAL_COMMAS =
  /^[^\d.]*[+-]?\d{1,3},\d+\s*°?\s*[NSEW]?\s*[;,/\s]\s*[NSEW]?\s*[+-]?\d{1,3},\d+\s*°?\s*[NSEW]?\s*$/
/** A number within other text, in full: without its exponent, 5e-7 would be read as 5. */
const WHOLE_NUMBER = String.raw`[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\d|[eE][+-]?\d|\.\d)`
/**
 * Patterns of map URLs and data that contain a latitude, then a longitude. A marker precedes the centre of
 * the map. Android writes `geo:0,0?q=` with the position in `q`, so the pattern of `q` precedes that of
 * `geo:`.
 */
const ADDRESSES = [
  String.raw`[?&]mlat=(N)&mlon=(N)`,
  String.raw`!3d(N)!4d(N)`,
  String.raw`#map=\d+(?:\.\d+)?/(N)/(N)`,
  String.raw`/(?:place|search)/(N)(?:,|%2C)(?:[+ ]|%20)?(N)(?=[/?#]|$)`,
  String.raw`/@(N),(N)[,/]`,
  String.raw`[?&](?:q|ll|query|center|daddr|coordinate|cp)=(?:loc:)?(N)(?:,|%2C|~)(N)(?:[&(#]|$)`,
  // Without the parameter crs, or with wgs84, a `geo:` URI has degrees (RFC 5870).
  String.raw`^geo:(?!.*;crs=(?!wgs84(?:[;?]|$)))(N),(N)(?:[,;?].*)?$`,
  String.raw`\bm?lat(?:itude)?"?\s*[:=]\s*(N)\s*[,;&]\s*"?m?(?:lng|lon|long|longitude)"?\s*[:=]\s*(N)`,
].map((pattern) => new RegExp(pattern.replaceAll('(N)', `(${WHOLE_NUMBER})`), 'gi'))
/** Directions have several positions, and their link contains the centre of the map. */
const DIRECTIONS = /\/maps\/dir\//
const YANDEX = /^[^?]*\byandex\.[^?]*\?([^#]*)/i
const YANDEX_MARKERS = ['pt', 'whatshere[point]', 'poi[point]']
const YANDEX_VALUE = new RegExp(String.raw`^(${WHOLE_NUMBER}),(${WHOLE_NUMBER})(?:,\w*)?$`)
/**
 * WKT of one point: a longitude, then a latitude. A point of another reference system, and a list of several
 * geometries, is not a position.
 */
const WKT_POINT = new RegExp(
  String.raw`^"?(?:SRID\s*=\s*4326\s*;\s*)?POINT\s*(?:ZM?\s*|M\s*)?\(\s*(${WHOLE_NUMBER})\s+(${WHOLE_NUMBER})(?:\s+${WHOLE_NUMBER}){0,2}\s*\)[\s;"]*$`,
  'i',
)
const ISO_6709 =
  /^([+-])(\d\d)(\d\d)?(\d\d)?(\.\d+)?([+-])(\d\d\d)(\d\d)?(\d\d)?(\.\d+)?(?:[+-]\d+(?:\.\d+)?)?(?:CRS\w+)?\/?$/
/** Degrees, minutes and seconds without marks, as in aviation: `485129N 0021740E`. */
const COMPACT = /^(\d{4}(?:\d\d)?(?:\.\d+)?)\s*([NS])\s*[,/]?\s*(\d{5}(?:\d\d)?(?:\.\d+)?)\s*([EW])$/i
const PLUS_DIGITS = '23456789CFGHJMPQRVWX'

/**
 * Returns the positions that a text may mean: none if it is not a position, and two if the order of its
 * numbers is ambiguous. In that case, the first position has the latitude first, as people usually write it.
 */
export function positionsIn(text: string): FoundPosition[] {
  // Programs add marks of direction, which are invisible, to what users copy.
  const trimmed = text.replace(/\p{Bidi_Control}/gu, '').trim()
  const json = geoJsonPosition(trimmed)
  if (json) return json
  if (DIRECTIONS.test(trimmed)) return []
  const [, query] = YANDEX.exec(trimmed) ?? []
  if (query !== undefined) return yandexPosition(new URLSearchParams(query))
  for (const pattern of ADDRESSES) {
    const [first, second] = trimmed.matchAll(pattern)
    // A list of several positions is not one of them.
    if (second) return []
    if (first) return valid([{ latitude: Number(first[1]), longitude: Number(first[2]) }])
  }
  const [, longitude, latitude] = WKT_POINT.exec(trimmed) ?? []
  if (latitude !== undefined) return valid([{ latitude: Number(latitude), longitude: Number(longitude) }])
  return isoPosition(signed(trimmed)) ?? plusCode(trimmed) ?? pair(trimmed)
}

/** Position of a GeoJSON Point or of a Feature of one; none for other GeoJSON; undefined for other texts. */
function geoJsonPosition(text: string): FoundPosition[] | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const json = JSON.parse(text) as { type?: unknown; geometry?: unknown }
    if (typeof json.type !== 'string') return undefined
    const { type, coordinates } = ((json.type === 'Feature' ? json.geometry : json) ?? {}) as {
      type?: unknown
      coordinates?: unknown
    }
    const numbers: readonly unknown[] = type === 'Point' && Array.isArray(coordinates) ? coordinates : []
    const [longitude, latitude] = numbers
    const isPosition = typeof longitude === 'number' && typeof latitude === 'number'
    return isPosition ? valid([{ latitude, longitude }]) : []
  } catch {
    return undefined
  }
}

/**
 * Position in a link of Yandex. The parameters of markers and of the map's centre have a longitude, then a
 * latitude. A searched position has the latitude first.
 */
function yandexPosition(query: URLSearchParams): FoundPosition[] {
  // Directions, as in DIRECTIONS.
  if (query.has('rtext')) return []
  const marker = YANDEX_MARKERS.find((each) => query.has(each))
  const [searched] = marker === undefined ? pair(query.get('text') ?? '') : []
  if (searched) return [searched]
  const [, longitude, latitude] = YANDEX_VALUE.exec(query.get(marker ?? 'll') ?? '') ?? []
  return latitude === undefined ? [] : valid([{ latitude: Number(latitude), longitude: Number(longitude) }])
}

function valid(positions: FoundPosition[]): FoundPosition[] {
  return positions.filter(({ longitude, latitude }) => Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)
}

/** The compact notation of aviation as one of ISO 6709; any other text unchanged. */
const signed = (text: string): string =>
  text.replace(COMPACT, (_, latitude: string, n: string, longitude: string, e: string) => {
    const sign = (letter: string) => (/[SW]/i.test(letter) ? '-' : '+')
    return `${sign(n)}${latitude}${sign(e)}${longitude}`
  })

/** Position in ISO 6709, annex H: `+48.8584+002.2945/`, with minutes or seconds as further digits. */
function isoPosition(text: string): FoundPosition[] | undefined {
  const match = ISO_6709.exec(text)
  if (!match) return undefined
  const angle = ([sign, degrees, minutes, seconds, fraction = '']: (string | undefined)[]) => {
    const parts = [degrees, minutes, seconds].filter((each) => each !== undefined)
    const numbers = parts.map((each, i) => Number(i === parts.length - 1 ? each + fraction : each))
    return (sign === '-' ? -1 : 1) * (sexagesimal(numbers) ?? NaN)
  }
  return valid([{ latitude: angle(match.slice(1, 6)), longitude: angle(match.slice(6, 11)) }])
}

/** Centre of a full Open Location Code, such as `8FW4V75V+8Q`. */
function plusCode(text: string): FoundPosition[] | undefined {
  const code = text.toUpperCase()
  if (
    !/^[23456789C][23456789CFGHJMPQRV][23456789CFGHJMPQRVWX]{6}\+([23456789CFGHJMPQRVWX]{2,7})?$/.test(code)
  )
    return undefined
  const digits = [...code.replace('+', '')].map((each) => PLUS_DIGITS.indexOf(each))
  let [latitude, longitude, height, width] = [-90, -180, 400, 400]
  for (let i = 0; i < Math.min(10, digits.length); i += 2) {
    height /= 20
    width /= 20
    latitude += digits[i]! * height
    longitude += digits[i + 1]! * width
  }
  for (const digit of digits.slice(10)) {
    height /= 5
    width /= 4
    latitude += Math.floor(digit / 4) * height
    longitude += (digit % 4) * width
  }
  return valid([{ latitude: latitude + height / 2, longitude: longitude + width / 2 }])
}

/**
 * Parses two angles: decimal degrees, or degrees, minutes and seconds. Letters may name them in either order.
 */
function pair(text: string): FoundPosition[] {
  const isArray = /^\[[^[\]]*\]$/.test(text)
  const plain = normal(isArray || /^\(.*\)$/.test(text) ? text.slice(1, -1) : text)
  const halves = halvesOf(DECIMAL_COMMAS.test(plain) ? plain.replace(/(\d),(?=\d)/g, '$1.') : plain)
  const [first, second] = halves?.map(angleOf) ?? []
  if (!first || !second) return []
  const latitudeFirst = { latitude: first.degrees, longitude: second.degrees }
  const longitudeFirst = { latitude: second.degrees, longitude: first.degrees }
  const letters = `${first.letter ?? ''}${second.letter ?? ''}`
  if (/^[NS][EW]$/.test(letters)) return valid([latitudeFirst])
  if (/^[EW][NS]$/.test(letters)) return valid([longitudeFirst])
  if (letters !== '') return []
  // A comma in `13,4 52` may be that of a decimal.
  if (first.parts !== second.parts && plain.includes(',') && !/[°'":]/.test(plain)) return []
  if (first.parts > 1 || second.parts > 1) return valid([latitudeFirst])
  const both = valid(isArray ? [longitudeFirst, latitudeFirst] : [latitudeFirst, longitudeFirst])
  return first.degrees === second.degrees ? both.slice(0, 1) : both
}

/**
 * Normalizes a text: one character for each kind of mark, capital letters, letters instead of the words for
 * directions, and points instead of the decimal commas of minutes and seconds.
 */
function normal(text: string): string {
  return (
    text
      .toUpperCase()
      .replace(/\bLAT(?:ITUDE)?\b\.?\s*[:=]?\s*/g, 'N ')
      .replace(/\bLO?NG?(?:ITUDE)?\b\.?\s*[:=]?\s*/g, 'E ')
      .replace(/(?:NORTH|SOUTH|EAST|WEST)\b/g, (word) => word[0]!)
      .replace(/[−–]/g, '-')
      .replace(/º|˚|DEG(?:REES?)?/g, '°')
      .replace(/''|′′|’’|[″”“]/g, '"')
      .replace(/[′’‘`´]/g, "'")
      // As PROJ writes them: 48d51'29.9"N, or 48d51m29.9s.
      .replace(/(\d)\s*D(?=\s*[\d.]+\s*['M])/g, '$1°')
      .replace(/(°\s*[\d.]+)\s*M\s*(?:([\d.]+)\s*S)?/g, (_, minutes: string, seconds?: string) =>
        seconds === undefined ? `${minutes}'` : `${minutes}'${seconds}"`,
      )
      .replace(/(\d),(\d+\s*['"])/g, '$1.$2')
      .trim()
  )
}

/** Splits a text into its two angles; undefined if it has unsupported characters, or cannot be split. */
function halvesOf(text: string): [string, string] | undefined {
  if (!/^[-+\d.\s°'":,;/NSEW]+$/.test(text)) return undefined
  const parts = text.split(/\s*[,;/]\s*/).filter(Boolean)
  if (parts.length === 2) return [parts[0]!, parts[1]!]
  if (parts.length !== 1) return undefined
  const letters = [...text.matchAll(/[NSEW]/g)]
  if (letters.length === 2) {
    // The hemisphere letters either all precede their angles, or all follow them.
    const at = letters[0]!.index === 0 ? letters[1]!.index : letters[0]!.index + 1
    return [text.slice(0, at), text.slice(at)]
  }
  const numbers = [...text.matchAll(new RegExp(NUMBER, 'g'))]
  if (letters.length > 0 || numbers.length % 2 !== 0 || numbers.length === 0) return undefined
  const { index } = numbers[numbers.length / 2]!
  return [text.slice(0, index), text.slice(index)]
}

function angleOf(text: string): Angle | undefined {
  const [, before, sign = '', digits = '', after] =
    /^\s*([NSEW])?\s*([+-])?\s*([\d.\s°'":]+?)\s*([NSEW])?\s*$/.exec(text) ?? []
  const letter = before ?? after
  if (before !== undefined && after !== undefined) return undefined
  // A number ends before a mark or a space: 51'30" is not 5, 1 and 30.
  const match =
    /^(\d+(?:\.\d+)?)(?![\d.])(?:\s*°?)(?:[\s:]*(\d+(?:\.\d+)?)(?![\d.])\s*'?(?:[\s:]*(\d+(?:\.\d+)?)\s*"?)?)?$/.exec(
      digits.trim(),
    )
  const numbers = match?.slice(1).filter((each) => each !== undefined)
  if (!numbers) return undefined
  // Only the last part may have a fraction.
  if (numbers.slice(0, -1).some((each) => each.includes('.'))) return undefined
  const size = sexagesimal(numbers.map(Number))
  if (size === undefined) return undefined
  const isNegative = sign === '-' || letter === 'S' || letter === 'W'
  if (sign === '-' && (letter === 'S' || letter === 'W')) return undefined
  return { degrees: isNegative ? -size : size, letter, parts: numbers.length }
}

/**
 * Degrees of an angle in degrees, minutes and seconds; undefined if minutes or seconds are not below 60. The
 * sum is rounded to a tenth of a millimetre, so that it has no digits that the angle does not have.
 */
function sexagesimal([degrees = 0, ...parts]: readonly number[]): number | undefined {
  if (parts.some((each) => each >= 60)) return undefined
  if (parts.length === 0) return degrees
  return Number(parts.reduce((sum, each, i) => sum + each / 60 ** (i + 1), degrees).toFixed(9))
}
