import { seededRandom } from '../../dev/random'
import { NOTHING, edges } from './edges'
import { geodesics, type LonLat } from './geodesic'

/**
 * Positions near the geodesic through an edge, with their true offset from it, to test an orientation
 * predicate. Edges have 0.1 mm to 2,000 km. Positions are up to 2,000 km before, next to and beyond them,
 * 1e-9 m to 1 m off the line, or as near to it as doubles can be. The offset is that of the resulting
 * doubles, accurate to 1e-16 of it or 1e-20 m.
 */
export interface Triple {
  a: LonLat
  b: LonLat
  p: LonLat
  /**
   * signed distance of p from the geodesic through a and b, metres, positive to the left of a -> b; 0 below
   * 1e-20 m
   */
  offset: number
  /** distance of its foot from a, metres, positive towards b */
  along: number
}

const BITS = 144
const LONGEST = 2_000_000

export function* triples(seed: number, count: number): Generator<Triple> {
  const random = seededRandom(seed)
  const globe = geodesics(BITS)
  const { edge, offset } = edges(globe)
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)]!
  const magnitude = (low: number, high: number) => low * Math.pow(high / low, random())
  const rounded = (position: LonLat, decimals: number | undefined): LonLat =>
    decimals === undefined
      ? position
      : [Number(position[0].toFixed(decimals)), Number(position[1].toFixed(decimals))]
  const start = (): LonLat => {
    const lon = pick([
      random() * 360 - 180,
      random() * 360 - 180,
      180 - magnitude(1e-9, 1),
      -180 + magnitude(1e-9, 1),
      pick([0, 90, 180, -180]),
    ])
    const lat = pick([
      random() * 180 - 90,
      random() * 180 - 90,
      (Math.asin(2 * random() - 1) * 180) / Math.PI,
      pick([-1, 1]) * (90 - magnitude(1e-9, 1)),
      pick([0, 45]),
    ])
    return [lon, lat]
  }
  const moved = (from: LonLat, direction: number, metres: number) =>
    globe.position(
      globe.line(globe.place(from), globe.direction(from, direction)).at(globe.length(metres)).place,
    )

  for (let made = 0; made < count;) {
    const decimals = pick([undefined, undefined, 5, 6, 7, 8, 9])
    const a = rounded(start(), decimals)
    const azimuth = pick([
      random() * 360 - 180,
      random() * 360 - 180,
      90 + magnitude(1e-9, 10),
      magnitude(1e-9, 10),
      pick([0, 90, 180, -90]),
    ])
    const b = rounded(moved(a, azimuth, magnitude(1e-4, LONGEST)), decimals)
    if (a[0] === b[0] && a[1] === b[1]) continue
    const through = edge(a, b)
    if (through.metres < 5e-5) continue
    // Chooses a place next to the edge, near one of its ends, or far before or beyond it.
    const place = pick([
      () => through.metres * random(),
      () => pick([0, through.metres]) + pick([-1, 1]) * magnitude(1e-9, through.metres),
      () => through.metres + magnitude(1e-4, LONGEST),
      () => -magnitude(1e-4, LONGEST),
    ])()
    const foot = through.line.at(globe.length(place))
    const aside = pick([0, pick([-1, 1]) * magnitude(1e-9, 1), pick([-1, 1]) * magnitude(1e-9, 1)])
    const left = globe.cross(foot.place, foot.direction)
    const p = globe.position(
      aside === 0 ? foot.place : globe.line(foot.place, left).at(globe.length(aside)).place,
    )
    const { metres, along } = offset(through, globe.place(p))
    made++
    yield { a, b, p, offset: Math.abs(metres) < NOTHING ? 0 : metres, along }
  }
}
