import { Geodesic } from 'geographiclib-geodesic'

/**
 * Geodesics in double precision (geographiclib-geodesic, errors below 15 nm), for the reference only. They
 * provide the start of its iterations, and decide whether a result is so clear (by 10 micrometres or more)
 * that fixed point is not needed.
 */
const library = Geodesic.WGS84
const SOLVED = Geodesic.DISTANCE | Geodesic.AZIMUTH
const PLACED = Geodesic.LATITUDE | Geodesic.LONGITUDE | Geodesic.AZIMUTH
const RADIUS = 6_371_008.8
const RADIANS = Math.PI / 180
/** Metres beyond which the distance along an edge may have several minima, so its slope is sampled. */
const SIMPLE = 3_000_000
const SAMPLE = 400_000
/**
 * Along an edge, a distance is convex well below a quarter of the globe, and concave well above it. Two
 * samples can hide a minimum between them only within FLAT metres of QUARTER. There its slope changes by less
 * than BEND per radius along the edge, so a steeper slope hides no minimum. Steps of FINEST hide less than 10
 * nm.
 */
const QUARTER = 10_000_000
const FLAT = 1_200_000
const BEND = 0.25
const FINEST = 1_000

export interface CoarsePlace {
  lon: number
  lat: number
}
export interface CoarseLine {
  /** position after this many metres */
  at: (metres: number) => CoarsePlace & { azimuth: number }
}

export function coarseLine({ lon, lat }: CoarsePlace, azimuth: number): CoarseLine {
  const line = library.DirectLine(lat, lon, azimuth, 0, PLACED | Geodesic.DISTANCE_IN)
  return {
    at(metres) {
      const { lat2, lon2, azi2 } = line.Position(metres, PLACED)
      return { lon: lon2!, lat: lat2!, azimuth: azi2! }
    },
  }
}

export function coarseDistance(a: CoarsePlace, b: CoarsePlace): number {
  return library.Inverse(a.lat, a.lon, b.lat, b.lon, Geodesic.DISTANCE).s12!
}

/** Degrees clockwise from north, at the first of two positions. */
export function coarseAzimuth(a: CoarsePlace, b: CoarsePlace): number {
  return library.Inverse(a.lat, a.lon, b.lat, b.lon, Geodesic.AZIMUTH).azi1!
}

/**
 * A position seen from a point of the line: its distance, metres, and the sine and cosine of its angle to the
 * right of the line.
 */
function sight(line: CoarseLine, metres: number, to: CoarsePlace) {
  const from = line.at(metres)
  const { s12, azi1 } = library.Inverse(from.lat, from.lon, to.lat, to.lon, SOLVED)
  const angle = (azi1! - from.azimuth) * RADIANS
  return { distance: s12!, cos: Math.cos(angle), sin: Math.sin(angle) }
}
const advance = ({ distance, cos }: { distance: number; cos: number }) =>
  RADIUS * Math.atan2(Math.sin(distance / RADIUS) * cos, Math.cos(distance / RADIUS))

/**
 * Foot on the whole line, found from a start near it (another foot lies half the globe away), and the offset
 * to the left, metres.
 */
export function coarseOffset(
  line: CoarseLine,
  to: CoarsePlace,
  start: number,
): { along: number; offset: number } {
  let along = start
  let seen = sight(line, along, to)
  for (let i = 0; i < 12; i++) {
    const step = advance(seen)
    along += step
    seen = sight(line, along, to)
    if (Math.abs(step) < 1e-3) break
  }
  return { along, offset: -seen.distance * seen.sin }
}

/**
 * Local minima of the distance from an edge to a position: metres along the edge, and the distance in metres.
 */
export function coarseMinima(
  line: CoarseLine,
  length: number,
  to: CoarsePlace,
): { along: number; distance: number }[] {
  const first = sight(line, 0, to)
  if (first.distance + length < SIMPLE) {
    let along = 0
    let seen = first
    for (let i = 0; i < 12; i++) {
      const next = Math.min(length, Math.max(0, along + advance(seen)))
      const step = Math.abs(next - along)
      along = next
      seen = sight(line, along, to)
      if (step < 1e-3) break
    }
    return [{ along, distance: seen.distance }]
  }
  const minima: number[] = []
  const look = (along: number) => ({ along, ...sight(line, along, to) })
  type Look = ReturnType<typeof look>
  /** Minima between two samples: the distance falls after the first, and rises after the second. */
  function scan(low: Look, high: Look): void {
    const step = high.along - low.along
    const hidden =
      step > FINEST &&
      Math.abs(low.distance - QUARTER) < step + FLAT &&
      Math.min(Math.abs(low.cos), Math.abs(high.cos)) < (BEND * step) / RADIUS
    if (hidden) {
      const middle = look((low.along + high.along) / 2)
      scan(low, middle)
      scan(middle, high)
    } else if (low.cos > 0 && high.cos <= 0) {
      let [from, until] = [low.along, high.along]
      while (until - from > 1e-6) {
        const middle = (from + until) / 2
        if (middle === from || middle === until) break
        if (sight(line, middle, to).cos > 0) from = middle
        else until = middle
      }
      minima.push((from + until) / 2)
    }
  }
  const count = Math.ceil(length / SAMPLE) + 1
  const looks = Array.from({ length: count + 1 }, (_, i) => look((length * i) / count))
  if (looks[0]!.cos <= 0) minima.push(0)
  if (looks[count]!.cos >= 0) minima.push(length)
  for (let i = 0; i < count; i++) scan(looks[i]!, looks[i + 1]!)
  return minima.map((along) => ({ along, distance: sight(line, along, to).distance }))
}
