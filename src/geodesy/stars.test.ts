import { expect } from 'vitest'
import { preciseReference, usualReference } from '../../test/reference/edges'
import { starCases, starTruth, type Star, type StarCase, type StarTruth } from '../../test/reference/stars'
import { hunt } from '../../test/seed'
import { contains, distanceMeters, intersects, prepareGeometry, readGeometry } from '.'

/**
 * Whole polygons against the reference in test/reference: distance, contains and intersects of a star and a
 * place, a line or another star, also as fans of triangles. No star is refused.
 */
const EXAMPLES = 5
/** Metres. */
const QUARTER = 1e7

const usual = usualReference()
const precise = preciseReference()

const polygon = ({ rings }: Star) => ({ type: 'Polygon', coordinates: rings })
/** The same star as triangles with its center, whose seams are no boundary. */
const fan = ({ center, rings: [shell] }: Star) => ({
  type: 'MultiPolygon',
  coordinates: shell!.slice(1).map((b, i) => [[shell![i]!, b, center, shell![i]!]]),
})
/** A star in each of its forms. */
const formsOf = (star: Star) => (star.rings.length === 1 ? [polygon(star), fan(star)] : [polygon(star)])
/** The two geometries of a case, in each of their forms. */
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

hunt('stars', 40, ({ seed, cases, report }) => {
  const failures: string[] = []
  let [open, done] = [0, 0]
  for (const each of starCases(seed, cases)) {
    done++
    const truth = starTruth(each, usual, seed + done)
    if (truth.contains === undefined) open++
    let certain: StarTruth | undefined
    for (const [first, second] of geometriesOf(each)) {
      const say = (problem: string) =>
        failures.push(`case ${done}: ${problem}\n  ${JSON.stringify(first)}\n  ${JSON.stringify(second)}`)
      try {
        if (problemsOf(first, second, truth).length === 0) continue
        // The reference may be wrong, too: it is asked again with double the bits and without its filters.
        certain ??= starTruth(each, precise, seed - done)
        const problems = problemsOf(first, second, certain)
        say(problems.length > 0 ? problems.join('; ') : 'the reference differs from itself')
      } catch (error) {
        const { message } = error as Error
        // Long edges that stay a quarter round the earth away from places take long to measure.
        if (/takes too long/.test(message) && Math.abs(truth.distance - QUARTER) < 100_000) continue
        say(message)
      }
    }
  }
  report(`${open} open`)
  expect(failures.length, failures.slice(0, EXAMPLES).join('\n')).toBe(0)
})
