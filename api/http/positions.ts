import { degreesProblem, inRange } from '../../src/geodesy'
import { invalid } from './parameters'
import { RecordsError } from './problems'

/** Positions and boxes in parameters: degrees of longitude and latitude. */

/** minLng, minLat, maxLng, maxLat; minLng > maxLng crosses the antimeridian (RFC 7946, 5.2). */
type Box = readonly [number, number, number, number]

/** Maximum length of a number in characters. A degree needs at most 20. */
const MAX_NUMBER_LENGTH = 40
const NUMBER = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i

/** Reads at most eight comma-separated numbers; NaN for a text that is not a number. */
export function numbersOf(text: string, read: (text: string) => number = Number): number[] {
  return text
    .split(',', 8)
    .map((part) => (part.length <= MAX_NUMBER_LENGTH && NUMBER.test(part) ? read(part) : NaN))
}

function positionFrom(lng: number, lat: number): [number, number] {
  return [inRange(lng, 180), inRange(lat, 90)]
}

function isPosition(lng: number, lat: number): boolean {
  return Math.abs(lng) <= 180 && Math.abs(lat) <= 90
}

/** Reads minLng,minLat,maxLng,maxLat in degrees; minLng > maxLng is a box across the antimeridian. */
export function readBbox(text: string): Box {
  return bboxOf(numbersOf(text))
}

/**
 * Returns the box of four finite numbers in range, with minLat not above maxLat; undefined for others. A
 * number that is out of range by rounding only is moved to the limit.
 */
export function boxFrom(numbers: readonly unknown[]): Box | undefined {
  if (numbers.length !== 4 || !numbers.every((each) => typeof each === 'number')) return undefined
  const [west, south, east, north] = numbers
  const [[minLng, minLat], [maxLng, maxLat]] = [positionFrom(west!, south!), positionFrom(east!, north!)]
  return isPosition(minLng, minLat) && isPosition(maxLng, maxLat) && minLat <= maxLat
    ? [minLng, minLat, maxLng, maxLat]
    : undefined
}

/** Problem of a position or of the corners of a box, after a semicolon; empty if there is none. */
export function remedyFor([west, south, east = west, north = south]: readonly unknown[]): string {
  const [minLat, maxLat] = [Number(south), Number(north)]
  const problem =
    degreesProblem(Number(west), minLat) ??
    degreesProblem(Number(east), maxLat) ??
    (minLat > maxLat ? `the lower latitude comes first, got ${minLat} before ${maxLat}` : undefined)
  return problem === undefined ? '' : `; ${problem}`
}

/** Returns the box of these numbers. Throws a RecordsError if they do not form one. */
export function bboxOf(numbers: readonly number[]): Box {
  const box = boxFrom(numbers)
  if (box) return box
  const rules = ` (degrees; longitudes from -180 to 180, latitudes from -90 to 90, minLat not above maxLat)${remedyFor(numbers)}`
  throw new RecordsError(
    'invalid-bbox',
    `Expected format: minLng,minLat,maxLng,maxLat${numbers.length === 4 ? rules : ''}`,
  )
}

export function readPoint(text: string, name: string): readonly [number, number] {
  const coordinates = numbersOf(text)
  const [lng, lat] = positionFrom(coordinates[0] ?? NaN, coordinates[1] ?? NaN)
  if (coordinates.length !== 2 || !isPosition(lng, lat))
    throw invalid(
      name,
      `Expected format: lng,lat (degrees; longitude from -180 to 180, latitude from -90 to 90)${remedyFor([lng, lat])}`,
    )
  return [lng, lat]
}
