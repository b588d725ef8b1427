import { reachOf, readGeometry, toCentimeters } from '../../src/geodesy'
import { MAX_CANDIDATES } from './candidates'
import type { Place } from './sieve'
import { POLAR, type Bbox, type NearRecords, type PlacedRecord, type RecordFilter } from '../store'
import type { Position } from '../http/paging'

/**
 * Finds the records nearest to a place, by exact distance. The index orders records only on the plane of
 * longitude and latitude. The first records in that order determine a radius that contains enough records.
 * Then all records within this radius are measured. If the filter is empty, the first page is requested, and
 * the place is far enough from the poles and the antimeridian, one statement does both.
 */

/** A search with at most this many candidates measures them all. */
const FEW = 4_000
/**
 * A circle that holds CROWDED times the wanted number of candidates is halved if the order on the plane
 * differs much from the order by distance: near a pole, or if the circle's radius exceeds FAR metres.
 */
const CROWDED = 8
const FAR = 1_000_000
/** No radius is tried between one with too few records and a crowded one at most this many times as large. */
const CLOSE = 1.1
/** Metres. Half the circumference of the earth is 20,003,931.5 m, so no place is farther. */
const FARTHEST = 20_004_000
/** Records read in the order on the plane. */
const MOST_SAMPLED = 1_000
/** Records that one statement looks for. */
const MOST_AT_ONCE = 200
/** Degrees of longitude beyond which records across the antimeridian may be nearest. */
const MERIDIAN = 120

export interface NearestQuery {
  /** Filters that the database decides: no place, order or paging. */
  filter: RecordFilter
  /** A position, and the maximum distance of records from it in metres. */
  place: Place
  limit: number
  /** Position after which records are returned; its `at` is in centimetres. */
  from?: Position
}

/** Reads that a search for the nearest records needs. */
export interface NearestReads {
  /** Returns all records around a position, at least `limit`; undefined if one statement cannot find them. */
  near: (at: readonly [number, number], limit: number) => Promise<NearRecords | undefined>
  /** Counts candidates, up to a cap. */
  count: (filter: RecordFilter, cap: number) => Promise<number>
  /** Returns the first records by planar distance from each of the boxes. */
  sample: (filter: RecordFilter, boxes: readonly Bbox[], limit: number) => Promise<PlacedRecord[]>
  /** Yields all candidates, in parts. Throws if there are too many. */
  all: (filter: RecordFilter) => AsyncIterable<PlacedRecord[]>
  /** Returns distances in whole centimetres; null for a geometry that cannot be measured. */
  measure: (records: readonly PlacedRecord[], place: Place) => Promise<(number | null)[]>
}

/** Record with its measured distance. */
export interface Measured {
  /** `<chain>-<uid>` */
  id: string
  centimeters: number
}

/**
 * Returns the records nearest to a position, ordered by distance in whole centimetres and then by ID. Omits
 * records without a geometry that can be measured.
 */
export async function nearest(query: NearestQuery, reads: NearestReads): Promise<Measured[]> {
  const { filter, place, limit, from } = query
  reads = eachOnce(reads)
  const isNarrow =
    radiusOf(place) < FARTHEST || Object.values(filter).some((condition) => condition !== undefined)
  if (isNarrow && (await reads.count({ ...filter, reaching: place.reach }, FEW + 1)) <= FEW)
    return within(query, reads)
  if (!isNarrow && !from && limit <= MOST_AT_ONCE) {
    const found = await atOnce(query, reads)
    if (found) return found
  }
  const before = from
    ? await reads.count({ ...filter, reaching: circle(place, from.at / 100) }, MAX_CANDIDATES)
    : 0
  const wanted = before + limit
  /** Metres: `low` is certainly too small, `high` probably large enough. */
  const estimated = await enoughMeters(query, reads, wanted)
  let [low, high] = [0, Math.min(estimated ?? Infinity, radiusOf(place))]
  const planeMisleads = estimated === undefined || Math.abs(positionOf(place)[1]) > POLAR || high > FAR
  const crowd = CROWDED * wanted + FEW
  const isCrowded = async (reach: Place['reach']) =>
    (await reads.count({ ...filter, reaching: reach }, crowd)) >= crowd
  for (let meters = high; ;) {
    const reach = circle(place, meters)
    if (planeMisleads && meters > 1 && meters > CLOSE * low && (await isCrowded(reach))) {
      high = meters
      meters = low > 0 ? Math.sqrt(low * high) : high / 2
      continue
    }
    const found = await within({ ...query, place: { ...place, reach } }, reads, meters)
    if (found.length >= limit || meters >= radiusOf(place)) return found
    low = meters
    // A larger radius than that of the place would return records beyond it.
    if (high <= meters) meters = high = Math.min(2 * meters, radiusOf(place))
    // The box of a crowded circle may hold too few records that are within the circle itself.
    else meters = high > CLOSE * meters ? Math.sqrt(low * high) : high
  }
}

/** Undefined if one statement does not suffice. */
async function atOnce(
  { place, limit }: NearestQuery,
  { near, measure }: NearestReads,
): Promise<Measured[] | undefined> {
  const known = await near(positionOf(place), limit)
  if (!known) return undefined
  const distances = await measure(known.records, place)
  const found = known.records.flatMap(({ id }, i) => {
    const centimeters = distances[i]!
    // The read may have left out records that are half a centimetre farther away.
    return centimeters === null || centimeters >= Math.floor(known.meters * 100) ? [] : [{ id, centimeters }]
  })
  return found.length >= limit ? found.sort(inOrder).slice(0, limit) : undefined
}

/** Wraps the reads so that no record is measured twice. */
function eachOnce(reads: NearestReads): NearestReads {
  const known = new Map<string, number | null>()
  return {
    ...reads,
    measure: async (records, place) => {
      const others = records.filter(({ id }) => !known.has(id))
      const distances = await reads.measure(others, place)
      for (const [i, { id }] of others.entries()) known.set(id, distances[i]!)
      return records.map(({ id }) => known.get(id)!)
    },
  }
}

/** Radius that probably holds `wanted` records, perhaps beyond the place's; undefined without a sample. */
async function enoughMeters(
  { filter, place }: NearestQuery,
  { sample, measure }: NearestReads,
  wanted: number,
): Promise<number | undefined> {
  const [lng, lat] = positionOf(place)
  const sides: Bbox[] = [[lng, lat, lng, lat]]
  // The order on the plane ends at the antimeridian and at the poles.
  if (Math.abs(lng) > MERIDIAN) {
    const image = lng < 0 ? lng + 360 : lng - 360
    sides.push([image, lat, image, lat])
  }
  if (Math.abs(lat) > POLAR) sides.push([-180, Math.sign(lat) * 90, 180, Math.sign(lat) * 90])
  const sampled = Math.min(wanted, MOST_SAMPLED)
  const distances = (await measure(await sample(filter, sides, sampled), place))
    .filter((each) => each !== null)
    .sort((a, b) => a - b)
  const last = distances.at(-1)
  return last === undefined ? undefined : ((last + 1) / 100) * Math.sqrt(wanted / distances.length)
}

/** Returns the nearest of all records that the place reaches, up to `meters` away. */
async function within(
  { filter, place, limit, from }: NearestQuery,
  { all, measure }: NearestReads,
  meters = radiusOf(place),
): Promise<Measured[]> {
  const radius = toCentimeters(meters)
  let found: Measured[] = []
  for await (const rows of all({ ...filter, reaching: place.reach })) {
    const distances = await measure(rows, place)
    for (const [i, { id }] of rows.entries()) {
      const centimeters = distances[i]!
      if (centimeters === null || centimeters > radius) continue
      const each = { id, centimeters }
      if (!from || isAfter(each, from)) found.push(each)
    }
    if (found.length > 2 * limit) found = found.sort(inOrder).slice(0, limit)
  }
  return found.sort(inOrder).slice(0, limit)
}

function inOrder(a: Measured, b: Measured): number {
  return a.centimeters - b.centimeters || (a.id < b.id ? -1 : 1)
}

function isAfter({ centimeters, id }: Measured, from: Position): boolean {
  return centimeters > from.at || (centimeters === from.at && id > from.id)
}

function positionOf({ geometry }: Place): [number, number] {
  return (JSON.parse(geometry) as { coordinates: [number, number] }).coordinates
}

function radiusOf({ radiusMeters }: Place): number {
  return Math.min(radiusMeters ?? FARTHEST, FARTHEST)
}

function circle(place: Place, meters: number): Place['reach'] {
  return meters >= radiusOf(place)
    ? place.reach
    : reachOf(readGeometry(JSON.parse(place.geometry), 'near'), meters)
}
