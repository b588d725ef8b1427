import type { Position } from 'geojson'
import { expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { usualReference } from '../../test/reference/edges'
import type { LonLat } from '../../test/reference/geodesic'
import { positions } from '../../test/positions'
import { contains, positionFrom, prepareGeometry, readGeometry } from '.'

/**
 * Tests containment at its limit: a part almost half a centimetre outside is contained, and a part slightly
 * farther outside is not. This also holds for edges of up to 2,000 km side by side, which the curvature of
 * the earth bends apart.
 */

const reference = usualReference()
const prepare = (type: string, coordinates: unknown) =>
  prepareGeometry(readGeometry({ type, coordinates }, 'g'))
const closed = (...ring: Position[]) => [[...ring, ring[0]!]]
const pair = ([lon, lat]: Position): LonLat => [lon!, lat!]
const edgeOf = (a: Position, b: Position) => reference.edge(pair(a), pair(b))
/** Distance in metres from half a centimetre within which either result is correct. */
const EITHER = 1e-6

/** Greatest distance of a position on an edge from the nearest of some edges, metres. */
function farthest(
  a: Position,
  b: Position,
  others: readonly (readonly [Position, Position])[],
  at: number[],
) {
  const edge = edgeOf(a, b)
  const known = others.map(([c, d]) => edgeOf(c, d))
  const away = (share: number) => {
    const { place } = edge.line.at(reference.length(edge.metres * share))
    return Math.min(...known.map((other) => reference.distanceToEdge(other, place)))
  }
  return Math.max(...at.map(away))
}

hunt(
  'contains decides for a vertex within nanometres of half a centimetre inside a long edge',
  12,
  ({ cases, random, report }) => {
    let close = 0
    for (let i = 0; i < cases; i++) {
      const a: Position = [random() * 360 - 180, random() * 120 - 60]
      const azimuth = random() * 360
      const length = 5_000 * 390 ** random()
      const share = 0.05 + 0.9 * random()
      const side = random() < 0.5 ? 90 : -90
      const b = positionFrom(a, azimuth, length)
      const edge = edgeOf(a, b)
      const foot = edge.line.at(reference.length(edge.metres * share))
      const [lon, lat] = reference.position(foot.place)
      const inwards = reference.azimuth(foot.place, foot.direction) + side
      const depth = 0.005 + (random() < 0.5 ? 1 : -1) * 10 ** (-6 + 4 * random())
      const corner = positionFrom([lon, lat], inwards, depth)
      const far = positionFrom([lon, lat], inwards, length * (0.3 + random() / 2))
      const sides = [[a, corner], [corner, b]] as const // oxfmt-ignore
      const truth = farthest(a, b, sides, [
        ...[share, share - 1e-9, share + 1e-9, share * 0.999, share * 0.7, (1 + share) / 2],
      ])
      if (Math.abs(truth - 0.005) < EITHER) continue
      close += Number(Math.abs(truth - 0.005) < 2e-5)
      const container = prepare('Polygon', closed(a, corner, b, far))
      const label = JSON.stringify([a, b, corner, far, truth])
      expect(contains(container, prepare('Polygon', closed(a, b, far))), label).toBe(truth < 0.005)
    }
    report(`${close} of ${cases} within 20 micrometres`)
  },
)

hunt(
  'contains decides for an edge next to a long edge, if the curvature bends them apart',
  12,
  ({ cases, random, report }) => {
    let close = 0
    for (let i = 0; i < cases; i++) {
      const a: Position = [random() * 360 - 180, random() * 120 - 60]
      const azimuth = random() * 360
      const length = 100_000 * 19.5 ** random()
      const side = random() < 0.5 ? 90 : -90
      const b = positionFrom(a, azimuth, length)
      const edge = edgeOf(a, b)
      // The edges are farthest apart in the middle: by 55 micrometres for 1,900 km.
      const bulge = 1 / Math.cos(length / 2 / 6_371_000)
      const depth =
        (0.005 + (random() < 0.5 ? 1 : -1) * 10 ** (-6 + 3 * random())) / (random() < 0.5 ? bulge : 1)
      const arrival = reference.azimuth(edge.b, edge.end)
      const [c, d] = [
        positionFrom(a, azimuth + side, depth),
        positionFrom(b, arrival + side, depth * (0.9 + 0.1 * (random() < 0.7 ? 1 : random()))),
      ]
      const far = positionFrom(a, azimuth + side / 2, length / 2)
      const shares = Array.from({ length: 21 }, (_, j) => j / 20)
      const truth = farthest(a, b, [[c, d], [c, far], [d, far]], shares) // oxfmt-ignore
      if (Math.abs(truth - 0.005) < EITHER) continue
      close += Number(Math.abs(truth - 0.005) < 2e-5)
      const container = prepare('Polygon', closed(c, d, far))
      const label = JSON.stringify([a, b, c, d, far, truth])
      const inner = positionFrom(a, azimuth + side / 3, length / 3)
      expect(contains(container, prepare('Polygon', closed(a, b, inner))), label).toBe(truth < 0.005)
    }
    report(`${close} of ${cases} within 20 micrometres`)
  },
)

test('contains keeps its bounds for edges that leave each other by a metre in thousands of kilometres', () => {
  const [one, other] = ['179.9 -45, 179.9 -90', '179.9 -45, -111.5 -89.99997'].map((line) =>
    prepare('LineString', positions(line)),
  )
  expect([contains(one!, other!), contains(other!, one!)]).toEqual([false, false])
})

hunt(
  'contains is false for a sliver outside, even if all of it is nearer than half a centimetre',
  40,
  ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      const a: Position = [random() * 360 - 180, random() * 120 - 60]
      const azimuth = random() * 360
      const length = 10 ** (3 * random())
      const along = (share: number) => positionFrom(a, azimuth, length * share)
      const inwards = azimuth + (random() < 0.5 ? 90 : -90)
      const container = prepare('Polygon', closed(a, along(1), positionFrom(along(0.5), inwards, length / 2)))
      // The side of a sliver is ten micrometres from the edge.
      for (const [direction, depth, expected] of [
        [inwards, 0.02, true],
        [inwards + 180, 10 ** (-4 + 1.6 * random()), false],
      ] as const) {
        const [from, to] = [0.3, 0.7].map((share) => positionFrom(along(share), direction, 1e-5))
        const sliver = closed(from!, to!, positionFrom(along(0.5), direction, depth))
        const label = JSON.stringify([a, azimuth, length, depth, direction])
        expect(contains(container, prepare('Polygon', sliver)), label).toBe(expected)
      }
    }
  },
)
