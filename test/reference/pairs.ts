import { seededRandom } from '../../dev/random'
import { coarseDistance, coarseLine } from './coarse'
import type { LonLat } from './geodesic'

/**
 * Pairs of edges, or of an edge and a position, on which a kernel is most likely to fail; seeded, so that a
 * run can be repeated. They are generated in double precision and often rounded like written positions. The
 * reference computes with the resulting numbers.
 */
export interface Pair {
  family: string
  first: readonly [LonLat, LonLat]
  /** one position for a point; two for an edge */
  second: readonly LonLat[]
}

type Ends = [LonLat, LonLat]

/**
 * Longest generated edge, metres. Beyond it the ends are nearly antipodal, and the shortest geodesic depends
 * on their last digits.
 */
const LONGEST = 19_900_000
const SHORTEST = 1e-4

function families(random: () => number) {
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)]!
  const magnitude = (low: number, high: number) => low * Math.pow(high / low, random())
  const sign = () => pick([-1, 1])
  const azimuth = () => random() * 360 - 180
  const anywhere = (): LonLat => [random() * 360 - 180, (Math.asin(2 * random() - 1) * 180) / Math.PI]
  const byPole = (): LonLat => [random() * 360 - 180, sign() * (90 - magnitude(1e-7, 10))]
  const byAntimeridian = (): LonLat => [sign() * (180 - magnitude(1e-7, 5)), random() * 160 - 80]
  const byEquator = (): LonLat => [random() * 360 - 180, sign() * magnitude(1e-7, 5)]
  const place = () => pick([anywhere, anywhere, anywhere, byPole, byAntimeridian, byEquator])()

  function moved([lon, lat]: LonLat, direction: number, metres: number): LonLat {
    const there = coarseLine({ lon, lat }, direction).at(metres)
    return [Math.max(-180, Math.min(180, there.lon)), Math.max(-90, Math.min(90, there.lat))]
  }
  /** Position `along` metres on the line, and `left` metres to its left. */
  function beside([lon, lat]: LonLat, direction: number, along: number, left: number): LonLat {
    const there = coarseLine({ lon, lat }, direction).at(along)
    return moved([there.lon, there.lat], there.azimuth - 90, left)
  }
  /** Half of the edges are so long that the last digit of the azimuth is worth a micrometre. */
  const length = (least = SHORTEST, most = LONGEST) =>
    random() < 0.5 ? magnitude(least, most) : magnitude(Math.max(least, Math.min(1e4, most)), most)
  /** An edge on the line, from `behind` metres before its origin to `ahead` metres after it. */
  const through = (origin: LonLat, direction: number, behind: number, ahead: number): Ends => [
    moved(origin, direction, -behind),
    moved(origin, direction, ahead),
  ]

  /** Two edges of at most `most` metres that cross at a position, at an angle in degrees. */
  function crossed(at: LonLat, angle: number, most: number): [Ends, Ends] {
    const direction = azimuth()
    // The crossing is close to an end of one edge, of both, or in the middle.
    const share = () => pick([random(), magnitude(1e-6, 1), 1 - magnitude(1e-6, 1)])
    const [one, two] = [length(SHORTEST, most), length(SHORTEST, most)]
    const [x, y] = [share(), share()]
    return [
      through(at, direction, one * x, one * (1 - x)),
      through(at, direction + angle, two * y, two * (1 - y)),
    ]
  }

  return {
    random: () => [
      through(anywhere(), azimuth(), 0, length(1)),
      through(anywhere(), azimuth(), 0, length(1)),
    ],
    neighbours() {
      const size = length()
      const at = place()
      const end = () => moved(at, azimuth(), size * random())
      return [
        [end(), end()],
        [end(), end()],
      ]
    },
    'near-collinear'() {
      const [origin, direction, size] = [place(), azimuth(), length()]
      const aside = pick([() => 0, () => sign() * magnitude(1e-9, 1e3)])
      const start = size * (random() * 3 - 1.5)
      const stop = start + sign() * size * magnitude(1e-3, 1)
      const near = (along: number) =>
        beside(origin, direction, Math.max(-LONGEST, Math.min(LONGEST, along)), aside())
      return [through(origin, direction, 0, size), [near(start), near(stop)]]
    },
    'shallow-crossings': () => crossed(place(), sign() * magnitude(1e-6, 3), LONGEST),
    crossings: () => crossed(place(), azimuth(), LONGEST),
    'shallow-misses'() {
      const [first, [start, end]] = crossed(place(), sign() * magnitude(1e-6, 3), 4_000_000)
      // In this case the second edge ends before the crossing.
      const way = coarseDistance({ lon: start[0], lat: start[1] }, { lon: end[0], lat: end[1] })
      const back = moved(start, azimuth(), way * magnitude(1e-9, 1e-3))
      return [first, [start, pick([back, moved(back, azimuth(), way * random())])]]
    },
    'end-to-end'() {
      const [origin, direction, gap] = [place(), azimuth(), magnitude(1e-3, 1e5)]
      return [
        through(origin, direction, length(gap, LONGEST / 2), -gap / 2),
        through(origin, direction, -gap / 2, length(gap, LONGEST / 2)),
      ]
    },
    parallel() {
      const [origin, direction, size, aside] = [
        place(),
        azimuth(),
        length(SHORTEST, LONGEST / 2),
        sign() * magnitude(1e-3, 20),
      ]
      const [from, to] = pick([
        [0, 1],
        [0, 1],
        [random(), random()],
        [random() * 2 - 1, random() * 2],
      ])
      return [
        through(origin, direction, 0, size),
        [beside(origin, direction, from * size, aside), beside(origin, direction, to * size, aside)],
      ]
    },
    'T-shapes'() {
      const [origin, direction, size] = [place(), azimuth(), length()]
      const share = pick([random(), magnitude(1e-6, 1), 1 - magnitude(1e-6, 1)])
      const foot = beside(
        origin,
        direction,
        size * share,
        sign() *
          pick([
            0,
            0.02 * random(),
            0.005 + magnitude(1e-6, 1e-2),
            0.005 - magnitude(1e-6, 5e-3),
            magnitude(1e-9, 0.02),
          ]),
      )
      return [through(origin, direction, 0, size), [foot, moved(foot, azimuth(), length())]]
    },
    'shared-ends'() {
      const [at, direction] = [place(), azimuth()]
      const first = through(at, direction, 0, length())
      const angle = pick([azimuth(), sign() * magnitude(1e-9, 1), 0, 180])
      const other = moved(at, direction + angle, length())
      return [
        first,
        pick<Ends>([
          [at, other],
          [other, at],
          [first[1], other],
          [first[0], first[1]],
          [first[1], first[0]],
        ]),
      ]
    },
    'over-poles'() {
      const pole: LonLat = [random() * 360 - 180, pick([90, -90])]
      const near = () => moved(pole, azimuth(), pick([0, magnitude(1e-4, 1e6)]))
      const one = () =>
        through(near(), azimuth(), length(SHORTEST, LONGEST / 2), length(SHORTEST, LONGEST / 2))
      const spoke = (): Ends => [pole, moved(pole, azimuth(), length())]
      return [pick([one, spoke])(), pick([one, spoke])()]
    },
    antimeridian: () =>
      crossed([pick([180, -180]), random() * 170 - 85], pick([azimuth(), magnitude(1e-6, 3)]), LONGEST),
    antipodes() {
      const [origin, direction] = [place(), azimuth()]
      const far = through(origin, direction, 0, LONGEST - magnitude(1, 1e6))
      const opposite: LonLat = [origin[0] > 0 ? origin[0] - 180 : origin[0] + 180, -origin[1]]
      const there = moved(opposite, azimuth(), magnitude(1e5, 2e6))
      const second = pick([
        () => through(there, azimuth(), 0, length(SHORTEST, 1e6)),
        () => crossed(there, azimuth(), LONGEST)[0],
      ])()
      return pick<[Ends, Ends]>([
        [far, second],
        [through(origin, direction, 0, length(SHORTEST, 1e5)), second],
        [
          far,
          through(
            moved(origin, azimuth(), magnitude(1e-3, 1e5)),
            direction + magnitude(1e-6, 3),
            0,
            LONGEST - magnitude(1, 1e6),
          ),
        ],
      ])
    },
    meridional() {
      const lon = pick([0, 180, -180, 90, random() * 360 - 180, Math.round(random() * 360 - 180)])
      const other = pick([
        lon,
        lon,
        lon > 0 ? lon - 180 : lon + 180,
        lon + (lon > 0 ? -1 : 1) * magnitude(1e-9, 10),
      ])
      const up = () => pick([random() * 180 - 90, 90, -90, 0, Math.round(random() * 180 - 90)])
      const from = up()
      const near = () => Math.max(-90, Math.min(90, from + sign() * magnitude(1e-9, 1)))
      return [
        [
          [lon, from],
          [lon, up()],
        ],
        [
          [other, pick([up, near])()],
          [other, up()],
        ],
      ]
    },
    equatorial() {
      const from = pick([0, 180, -180, random() * 360 - 180, Math.round(random() * 360 - 180)])
      const east = () => {
        const lon = from + sign() * pick([magnitude(1e-9, 170), Math.round(random() * 170)])
        return lon > 180 ? lon - 360 : lon < -180 ? lon + 360 : lon
      }
      const up = () => pick([0, 0, sign() * magnitude(1e-9, 1)])
      return [
        [
          [from, 0],
          [east(), 0],
        ],
        [
          [east(), up()],
          [east(), up()],
        ],
      ]
    },
    tiny() {
      const [at, direction, size] = [place(), azimuth(), magnitude(SHORTEST, 1)]
      const aside = () => sign() * pick([magnitude(1e-6, 0.05), 0.005 + sign() * magnitude(1e-6, 1e-3)])
      const near = () => beside(at, direction, size * (random() * 2 - 0.5), aside())
      return [through(at, direction, 0, size), [near(), pick([near(), moved(at, azimuth(), length())])]]
    },
  } satisfies Record<string, () => [Ends, Ends]>
}

const DECIMALS = [undefined, undefined, 4, 5, 6, 7, 8, 9]

export function* pairs(seed: number, count: number): Generator<Pair> {
  const random = seededRandom(seed)
  const makers = Object.entries(families(random))
  const pick = <T>(choices: readonly T[]) => choices[Math.floor(random() * choices.length)]!
  for (let made = 0; made < count;) {
    const [name, make] = makers[made % makers.length]!
    const decimals = pick(DECIMALS)
    const rounded = ([lon, lat]: LonLat): LonLat =>
      decimals === undefined ? [lon, lat] : [Number(lon.toFixed(decimals)), Number(lat.toFixed(decimals))]
    const [first, second] = make().map(([a, b]) => [rounded(a), rounded(b)] as const) as [Ends, Ends]
    const size = ([a, b]: Ends) => coarseDistance({ lon: a[0], lat: a[1] }, { lon: b[0], lat: b[1] })
    // Rounding may have removed a short edge. The kernel rejects an edge that is nearly antipodal.
    if (![first, second].every((ends) => size(ends) > SHORTEST / 2 && size(ends) < LONGEST + 1e5)) continue
    made++
    if (random() < 0.25) yield { family: `${name}, place`, first, second: [pick(second)] }
    else
      yield random() < 0.5 ? { family: name, first, second } : { family: name, first: second, second: first }
  }
}
