import { reachOf, readGeometry, toCentimeters } from '../../src/geodesy'
import type { Place } from './sieve'
import { POLAR, type Bbox, type NearRecords, type PlacedRecord, type RecordFilter } from '../store'
import type { Position } from '../http/paging'

/**
 * The records nearest to a place, by the kernel. The index knows the order on the plane of longitude and
 * latitude only. So the first records in that order give a radius that has enough records in it, whatever
 * their order; then all records within this radius are measured. One statement does both, where the filter is
 * empty, the first page is asked for, and the place is far enough from the poles and the antimeridian.
 */

/** A search with no more candidates than this measures them all. */
const FEW = 4_000
/**
 * A circle with so many times the wanted candidates is halved, where the plane misleads: near a pole, and
 * where the nearest are so far away, metres.
 */
const CROWDED = 8
const FAR = 1_000_000
/** Between a circle with too few and a crowded one that is at most so many times as large, none is tried. */
const CLOSE = 1.1
/** Half the way round the earth is 20,003,931.5 m: no place is farther. */
const FARTHEST = 20_004_000
/** Records in the order on the plane that are read at most. */
const MOST_SAMPLED = 1_000
/** Records that are looked for by one statement at most. */
const MOST_AT_ONCE = 200
/** From this longitude on, what is across the antimeridian. */
const MERIDIAN = 120

export interface NearestQuery {
  /** What the database decides: neither place, nor order, nor paging. */
  filter: RecordFilter
  /** A position, and how many metres records may be away from it */
  place: Place
  /** How many at most. */
  limit: number
  /** Only those after this position, whose `at` is in centimetres. */
  from?: Position
}

/** What a search for the nearest asks of others. */
export interface NearestReads {
  /** All records round a position, that many at least; undefined where this is not told at once. */
  near: (at: readonly [number, number], limit: number) => Promise<NearRecords | undefined>
  /** Counts candidates, up to a cap. */
  count: (filter: RecordFilter, cap: number) => Promise<number>
  /** The first records in the order of distances from each of these boxes on the plane. */
  sample: (filter: RecordFilter, boxes: readonly Bbox[], limit: number) => Promise<PlacedRecord[]>
  /** All candidates, in parts. Throws where they are too many. */
  all: (filter: RecordFilter) => AsyncIterable<PlacedRecord[]>
  /** Distances in whole centimetres; null where nobody can tell. */
  measure: (records: readonly PlacedRecord[], place: Place) => Promise<(number | null)[]>
}

/** A record that was measured. */
export interface Measured {
  /** `<chain>-<uid>` */
  id: string
  centimeters: number
}

/**
 * The records nearest to a position: by their distance in whole centimetres, then by id. Records without a
 * geometry that can be measured are left out.
 * @param most candidates that may be measured for one answer
 */
export async function nearest(query: NearestQuery, reads: NearestReads, most: number): Promise<Measured[]> {
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
  const before = from ? await reads.count({ ...filter, reaching: circle(place, from.at / 100) }, most) : 0
  const wanted = before + limit
  /** Certainly too small, and probably large enough, metres. */
  let [low, high] = [0, await enoughMeters(query, reads, wanted)]
  const planeMisleads = Math.abs(positionOf(place)[1]) > POLAR || high > FAR
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
    // The box of a circle that is crowded may hold too few that are in the circle itself.
    meters = high > CLOSE * meters ? Math.sqrt(low * high) : high > meters ? high : (high = 2 * meters)
  }
}

/** The nearest, if one statement tells. */
async function atOnce(
  { place, limit }: NearestQuery,
  { near, measure }: NearestReads,
): Promise<Measured[] | undefined> {
  const known = await near(positionOf(place), limit)
  if (!known) return undefined
  const distances = await measure(known.records, place)
  const found = known.records.flatMap(({ id }, i) => {
    const centimeters = distances[i]!
    // What is farther away by half a centimetre may have been left out.
    return centimeters === null || centimeters >= Math.floor(known.meters * 100) ? [] : [{ id, centimeters }]
  })
  return found.length >= limit ? found.sort(inOrder).slice(0, limit) : undefined
}

/** The same reads, which measure no record a second time. */
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

/** A radius in metres with so many records in it; where there are not so many, that of the place. */
async function enoughMeters(
  { filter, place }: NearestQuery,
  { sample, measure }: NearestReads,
  wanted: number,
): Promise<number> {
  const [lng, lat] = positionOf(place)
  const sides: Bbox[] = [[lng, lat, lng, lat]]
  // The order on the plane does not go on across the antimeridian, and not over a pole.
  if (Math.abs(lng) > MERIDIAN) {
    const image = lng < 0 ? lng + 360 : lng - 360
    sides.push([image, lat, image, lat])
  }
  if (Math.abs(lat) > POLAR) sides.push([-180, Math.sign(lat) * 90, 180, Math.sign(lat) * 90])
  const sampled = Math.min(wanted, MOST_SAMPLED)
  const distances = (await measure(await sample(filter, sides, sampled), place))
    .filter((each) => each !== null)
    .sort((a, b) => a - b)
  const last = distances[sampled - 1]
  if (last === undefined) return radiusOf(place)
  return Math.min(((last + 1) / 100) * Math.sqrt(wanted / sampled), radiusOf(place))
}

/** The nearest of all that the place reaches, those farther than `meters` aside. */
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
