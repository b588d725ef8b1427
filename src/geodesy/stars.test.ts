import { expect } from 'vitest'
import { preciseReference, usualReference } from '../../test/reference/edges'
import { starCases, starTruth, type Star, type StarCase, type StarTruth } from '../../test/reference/stars'
import { hunt } from '../../test/seed'
import { contains, distanceMeters, intersects, prepareGeometry, readGeometry } from '.'

/**
 * Compares whole polygons with the reference in test/reference: distance, contains and intersects of a star
 * and a position, a line or another star, also as fans of triangles. No star may be rejected.
 */
const EXAMPLES = 5
/** Quarter of the globe, metres. */
const QUARTER = 1e7

const usual = usualReference()
const precise = preciseReference()

const polygon = ({ rings }: Star) => ({ type: 'Polygon', coordinates: rings })
/** Star as triangles with a vertex at its centre, whose seams are not a boundary. */
const fan = ({ center, rings: [shell] }: Star) => ({
  type: 'MultiPolygon',
  coordinates: shell!.slice(1).map((b, i) => [[shell![i]!, b, center, shell![i]!]]),
})
/** Returns each form of a star. */
const formsOf = (star: Star) => (star.rings.length === 1 ? [polygon(star), fan(star)] : [polygon(star)])
/** Returns each form of the two geometries of a case. */
function geometriesOf({ star, other }: StarCase): [object, object][] {
  const others =
    other.kind === 'star'
      ? formsOf(other.star)
      : other.kind === 'place'
        ? [{ type: 'Point', coordinates: other.positions[0] }]
        : [{ type: 'LineString', coordinates: other.positions }]
  return formsOf(star).flatMap((first) => others.map((second): [object, object] => [first, second]))
}

function problemsOf(first: object, second: object, truth: StarTruth): string[] {
  const [a, b] = [first, second].map((geometry) => prepareGeometry(readGeometry(geometry, 'g')))
  const distance = distanceMeters(a!, b!)
  const [meet, within] = [intersects(a!, b!), contains(a!, b!)]
  return [
    !(Math.abs(distance - truth.distance) <= Math.max(1e-6, 1e-13 * truth.distance)) &&
      `distance ${distance}, truth ${truth.distance}`,
    Math.abs(truth.distance - 0.005) > 1e-6 && meet !== truth.distance < 0.005 && `intersects ${meet}`,
    truth.contains !== undefined && within !== truth.contains && `contains ${within}`,
  ].filter((problem) => problem !== false)
}

hunt('distance, contains and intersects of stars agree with the reference', 40, ({ seed, cases, report }) => {
  const failures: string[] = []
  let [open, done] = [0, 0]
  for (const starCase of starCases(seed, cases)) {
    done++
    const truth = starTruth(starCase, usual, seed + done)
    if (truth.contains === undefined) open++
    let certain: StarTruth | undefined
    for (const [first, second] of geometriesOf(starCase)) {
      const report = (problem: string) =>
        failures.push(`case ${done}: ${problem}\n  ${JSON.stringify(first)}\n  ${JSON.stringify(second)}`)
      try {
        if (problemsOf(first, second, truth).length === 0) continue
        // The reference may also have a bug, so it runs again with twice the bits and without its filters.
        certain ??= starTruth(starCase, precise, seed - done)
        const problems = problemsOf(first, second, certain)
        report(problems.length > 0 ? problems.join('; ') : 'the reference differs from itself')
      } catch (error) {
        const { message } = error as Error
        // Long edges that stay a quarter of the globe away from positions take long to measure.
        if (/takes too long/.test(message) && Math.abs(truth.distance - QUARTER) < 100_000) continue
        report(message)
      }
    }
  }
  report(`${open} open`)
  expect(failures.length, failures.slice(0, EXAMPLES).join('\n')).toBe(0)
})
