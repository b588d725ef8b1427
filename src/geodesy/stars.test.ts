import { expect, test } from 'vitest'
import { edges } from '../../test/reference/edges'
import { geodesics } from '../../test/reference/geodesic'
import { starCases, starTruth, type Star, type StarCase } from '../../test/reference/stars'
import { contains, distanceMeters, intersects, prepareGeometry, readGeometry } from '.'

/**
 * Whole polygons against the reference in test/reference: distance, contains and intersects of a star and a
 * place, a line or another star. No star is refused. TEST_STARS and TEST_STAR_SEED set the number and the
 * seed of the cases.
 */
const COUNT = Number(process.env.TEST_STARS ?? (process.env.TEST_QUICK ? 60 : 400))
const SEED = Number(process.env.TEST_STAR_SEED ?? 20_261_126)
const EXAMPLES = 5

const referenceOf = (bits: number, filters?: Parameters<typeof edges>[1]) => {
  const globe = geodesics(bits)
  return { ...globe, ...edges(globe, filters) }
}
const usual = referenceOf(144)
const precise = referenceOf(288, { doubt: Infinity, equal: 1_000 })

const polygon = ({ rings }: Star) => ({ type: 'Polygon', coordinates: rings })
function geometriesOf({ star, other }: StarCase): [object, object] {
  if (other.kind === 'star') return [polygon(star), polygon(other.star)]
  return [
    polygon(star),
    other.kind === 'place'
      ? { type: 'Point', coordinates: other.positions[0] }
      : { type: 'LineString', coordinates: other.positions },
  ]
}

test(`${COUNT} stars`, { timeout: 0 }, () => {
  const failures: string[] = []
  let [open, done] = [0, 0]
  for (const each of starCases(SEED, COUNT)) {
    const [first, second] = geometriesOf(each)
    const say = (problem: string) =>
      failures.push(`case ${done}: ${problem}\n  ${JSON.stringify(first)}\n  ${JSON.stringify(second)}`)
    done++
    const truth = starTruth(each, usual, SEED + done)
    if (truth.contains === undefined) open++
    const problemsOf = (expected: typeof truth) => {
      const [a, b] = [first, second].map((geometry) => prepareGeometry(readGeometry(geometry, 'g')))
      const distance = distanceMeters(a!, b!)
      const [meet, within] = [intersects(a!, b!), contains(a!, b!)]
      return [
        !(Math.abs(distance - expected.distance) <= Math.max(1e-6, 1e-13 * expected.distance)) &&
          `distance ${distance}, truth ${expected.distance}`,
        Math.abs(expected.distance - 0.005) > 1e-6 &&
          meet !== expected.distance < 0.005 &&
          `intersects ${meet}`,
        expected.contains !== undefined && within !== expected.contains && `contains ${within}`,
      ].filter((problem) => problem !== false)
    }
    try {
      if (problemsOf(truth).length === 0) continue
      // The reference may be wrong, too: it is asked again with double the bits and without its filters.
      const problems = problemsOf(starTruth(each, precise, SEED - done))
      if (problems.length > 0) say(problems.join('; '))
      else say('the reference differs from itself')
    } catch (error) {
      say((error as Error).message)
    }
  }
  if (process.env.TEST_STARS) console.log(`${done} cases, ${failures.length} failures, ${open} open`)
  expect(failures.length, failures.slice(0, EXAMPLES).join('\n')).toBe(0)
})
