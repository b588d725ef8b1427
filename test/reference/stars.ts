import { seededRandom } from '../../dev/random'
import { coarseAzimuth, coarseDistance, coarseLine } from './coarse'
import type { Edge, Reference } from './edges'
import type { LonLat } from './geodesic'

/**
 * Polygons with known results: stars around a centre, with holes that are stars around it too, in positions
 * in which kernels are most likely to fail (poles, the equator, the antimeridian, meridians of other
 * vertices), and positions, lines and stars on and near their boundaries. They are seeded, generated in
 * double precision, and often rounded. The reference computes with the resulting numbers.
 */
export interface Star {
  center: LonLat
  /** closed; the shell first, each ring inside the one before it */
  rings: LonLat[][]
}
export interface StarCase {
  star: Star
  other:
    | { kind: 'place'; positions: LonLat[] }
    | { kind: 'line'; positions: LonLat[] }
    | { kind: 'star'; star: Star }
}

/** Metres from the centre to the farthest vertex. */
const LARGEST = 5_000_000
const SMALLEST = 0.05
const DECIMALS = [undefined, undefined, 2, 4, 6, 7, 8, 9]

export function* starCases(seed: number, count: number): Generator<StarCase> {
  const random = seededRandom(seed)
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)]!
  const magnitude = (low: number, high: number) => low * Math.pow(high / low, random())
  const sign = () => pick([-1, 1])
  const azimuth = () => random() * 360 - 180
  const wrapped = (lon: number) => (lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon)
  const onGlobe = (lon: number, lat: number): LonLat => [wrapped(lon), Math.max(-90, Math.min(90, lat))]
  const coarse = ([lon, lat]: LonLat) => ({ lon, lat })
  const moved = (from: LonLat, direction: number, metres: number): LonLat => {
    const there = coarseLine(coarse(from), direction).at(metres)
    return onGlobe(there.lon, there.lat)
  }
  const away = (a: LonLat, b: LonLat) => coarseDistance(coarse(a), coarse(b))
  const middle = (): LonLat =>
    pick<() => LonLat>([
      () => [azimuth(), (Math.asin(2 * random() - 1) * 180) / Math.PI],
      () => [azimuth(), sign() * 90],
      () => [azimuth(), sign() * (90 - magnitude(1e-9, 20))],
      () => [sign() * (180 - pick([0, magnitude(1e-9, 10)])), random() * 180 - 90],
      () => [azimuth(), pick([0, sign() * magnitude(1e-9, 10)])],
      () => [Math.round(azimuth()), Math.round(random() * 180 - 90)],
    ])()

  /** Moves a vertex to a special case. The result may no longer be a star. */
  function snapped([lon, lat]: LonLat, others: readonly LonLat[]): LonLat {
    const other = pick(others)
    const little = () => pick([0, 0, sign() * magnitude(1e-15, 1e-6)])
    return pick<() => LonLat>([
      () => onGlobe(other[0] + little(), lat),
      () => onGlobe(other[0] + 180 + little(), lat),
      () => onGlobe(lon, other[1] + little()),
      () => onGlobe(lon, -other[1] + little()),
      () => onGlobe(lon, little()),
      () => onGlobe(pick([0, 180, -180, 90, -90]) + little(), lat),
      () => onGlobe(lon, sign() * 90 + little()),
      () => onGlobe(Math.round(lon), Math.round(lat)),
    ])()
  }
  /** True if the centre sees all vertices one after the other, with less than half a turn between. */
  function isStar(center: LonLat, ring: readonly LonLat[]): boolean {
    const seen = ring.map((vertex) => coarseAzimuth(coarse(center), coarse(vertex)))
    const turns = seen.map((each, i) => (((seen[(i + 1) % seen.length]! - each) % 360) + 360) % 360)
    const whole = turns.reduce((sum, turn) => sum + turn, 0)
    const near = ring.map((each) => away(center, each))
    return (
      Math.abs(whole - 360) < 1 &&
      turns.every((turn) => turn > 0.01 && turn < 175) &&
      Math.min(...near) > SMALLEST / 10 &&
      Math.max(...near) < LARGEST * 1.2
    )
  }
  function ringAround(center: LonLat, size: number, decimals: number | undefined): LonLat[] | undefined {
    const corners = 3 + Math.floor(random() * 6)
    const start = azimuth()
    const ring = Array.from({ length: corners }, (_, i) =>
      moved(
        center,
        start + (360 / corners) * (i + (random() - 0.5) * 0.4),
        size * pick([1, random(), 0.3 + 0.7 * random()]),
      ),
    )
    for (const [i, corner] of ring.entries()) if (random() < 0.3) ring[i] = snapped(corner, [center, ...ring])
    const rounded = ring.map(([lon, lat]): LonLat =>
      decimals === undefined ? [lon, lat] : [Number(lon.toFixed(decimals)), Number(lat.toFixed(decimals))],
    )
    return isStar(center, rounded) ? rounded : undefined
  }
  const closed = (ring: LonLat[]) => [...ring, ring[0]!]
  function starRound(center: LonLat, size: number): Star | undefined {
    const decimals = pick(DECIMALS)
    const shell = ringAround(center, size, decimals)
    if (!shell) return undefined
    const rings = [closed(shell)]
    if (random() < 0.3) {
      // Turns of up to 175 degrees leave enough room around the centre.
      const room = 0.03 * Math.min(...shell.map((vertex) => away(center, vertex)))
      const hole = ringAround(center, room * random(), decimals)
      if (hole?.every((each) => away(center, each) < room))
        rings.push(closed(random() < 0.5 ? hole : hole.reverse()))
    }
    return { center, rings }
  }

  /** A position on or near the boundary of a star, or in a special case. */
  function placeBy({ center, rings }: Star): LonLat {
    const ring = pick(rings)
    const i = Math.floor(random() * (ring.length - 1))
    const [a, b] = [ring[i]!, ring[i + 1]!]
    const size = away(center, a)
    const aside = () =>
      sign() * pick([0.005 + sign() * magnitude(2e-6, 4e-3), magnitude(1e-9, 1), magnitude(1e-9, size)])
    return pick<() => LonLat>([
      () => a,
      () => moved(a, azimuth(), Math.abs(aside())),
      () => {
        const length = away(a, b)
        const direction = coarseAzimuth(coarse(a), coarse(b))
        const there = coarseLine(coarse(a), direction).at(length * random())
        return moved([there.lon, there.lat], there.azimuth - 90, aside())
      },
      () => snapped(moved(center, azimuth(), size * random() * 1.5), ring),
      () => snapped(a, ring),
      () => moved(center, azimuth(), size * random() * 2),
      () => pick([center, [azimuth(), 90], [azimuth(), -90]]),
    ])()
  }

  for (let made = 0; made < count;) {
    const star = starRound(middle(), pick([magnitude(SMALLEST, LARGEST), magnitude(1e4, LARGEST)]))
    if (!star) continue
    const kind = pick(['place', 'place', 'line', 'star'] as const)
    if (kind !== 'star') {
      const positions = Array.from({ length: kind === 'place' ? 1 : 2 + Math.floor(random() * 2) }, () =>
        placeBy(star),
      )
      const lengths = positions.slice(1).map((each, i) => away(positions[i]!, each))
      if (!lengths.every((length) => length > 1e-3 && length < 15_000_000)) continue
      made++
      yield { star, other: { kind, positions } }
      continue
    }
    const size = away(star.center, star.rings[0]![0]!)
    const near = starRound(placeBy(star), Math.max(SMALLEST, Math.min(LARGEST, size * magnitude(1e-2, 10))))
    if (!near) continue
    made++
    yield { star, other: { kind, star: near } }
  }
}

export interface StarTruth {
  /** metres between the geometries; 0 if they share a position */
  distance: number
  /** undefined if the reference leaves it open: within millimetres of the boundary */
  contains: boolean | undefined
}

/** Metres below which the kernel treats positions as one. */
const ONE_PLACE = 0.005
const OPEN = 1e-6

/** Correct results of a case. */
export function starTruth({ star, other }: StarCase, globe: Reference, seed: number): StarTruth {
  const random = seededRandom(seed)
  const edgesOf = (positions: readonly LonLat[]) =>
    positions.slice(1).flatMap((b, i) => {
      const a = positions[i]!
      return a[0] === b[0] && a[1] === b[1] ? [] : [globe.edge(a, b)]
    })
  const boundaryOf = (of: Star) => of.rings.flatMap(edgesOf)
  const own = boundaryOf(star)
  const toBoundary = (boundary: readonly Edge[], at: LonLat) =>
    Math.min(...boundary.map((edge) => globe.distanceToEdge(edge, globe.place(at))))

  /**
   * True if a position that is not on the boundary is inside. Counts the edges between it and a position near
   * the centre, which is inside the shell, and in a hole if there is one.
   */
  function isInside(of: Star, boundary: readonly Edge[], at: LonLat): boolean {
    const room = toBoundary(boundary, of.center)
    const start = globe.line(
      globe.place(of.center),
      globe.direction(of.center, Math.round(random() * 360_000) / 1000),
    )
    const from = globe.position(start.at(globe.length(room * (0.1 + 0.3 * random()))).place)
    if (from[0] === at[0] && from[1] === at[1]) return of.rings.length % 2 === 1
    const way = globe.edge(from, at)
    const crossed = boundary.filter((edge) => globe.isCrossing(way, edge)).length
    return (crossed + of.rings.length) % 2 === 1
  }

  if (other.kind === 'place') {
    const [at] = other.positions as [LonLat]
    const away = toBoundary(own, at)
    const inside = away > 0 && isInside(star, own, at)
    return {
      distance: inside ? 0 : away,
      contains: !inside ? false : Math.abs(away - ONE_PLACE) < OPEN ? undefined : away > ONE_PLACE,
    }
  }
  const positions = other.kind === 'line' ? other.positions : other.star.rings.flat()
  const others = other.kind === 'line' ? edgesOf(positions) : boundaryOf(other.star)
  const apart = Math.min(...own.flatMap((edge) => others.map((each) => globe.distance(edge, each))))
  const outside = positions.filter((at) => {
    const away = toBoundary(own, at)
    return away > ONE_PLACE + OPEN && !isInside(star, own, at)
  })
  if (apart === 0) return { distance: 0, contains: outside.length > 0 ? false : undefined }
  const inside = isInside(star, own, positions[0]!)
  const around = (hole: readonly LonLat[]) => other.kind === 'star' && isInside(other.star, others, hole[0]!)
  const holes = star.rings.slice(1).filter(around)
  const contains = () => {
    if (outside.length > 0) return false
    // In a small hole, no position lies half a centimetre outside the polygon.
    const isSmall = holes.some((hole) => edgesOf(hole).every(({ metres }) => metres < 0.1))
    return apart <= ONE_PLACE + OPEN || isSmall ? undefined : inside && holes.length === 0
  }
  return { distance: inside || around(star.rings[0]!) ? 0 : apart, contains: contains() }
}
