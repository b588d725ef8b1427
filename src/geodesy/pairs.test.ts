import { expect } from 'vitest'
import { preciseReference, usualReference, type Reference } from '../../test/reference/edges'
import { pairs, type Pair } from '../../test/reference/pairs'
import { hunt } from '../../test/seed'
import { GeometryError, distanceMeters, intersects, prepareGeometry, readGeometry } from '.'

/**
 * Compares distance and intersects of two edges, or of an edge and a position, with the reference in
 * test/reference. The distance must be accurate to a micrometre or 1e-13 of it. intersects must be correct
 * unless the distance is within a micrometre of half a centimetre.
 */
const EXAMPLES = 3

const usual = usualReference()
const precise = preciseReference()

function truth({ first, second }: Pair, { edge, place, distance, distanceToEdge }: Reference): number {
  const line = edge(...first)
  return second.length === 1
    ? distanceToEdge(line, place(second[0]!))
    : distance(line, edge(second[0]!, second[1]!))
}
const geometry = (positions: Pair['first'] | Pair['second']) =>
  prepareGeometry(
    readGeometry(
      positions.length === 1
        ? { type: 'Point', coordinates: positions[0] }
        : { type: 'LineString', coordinates: positions },
      'g',
    ),
  )

/**
 * True if an edge has two shortest paths: its ends mirror each other at the equator, and are nearly
 * antipodal.
 */
const isAmbiguous = ([a, b]: Pair['first'] | Pair['second']) =>
  b !== undefined && Math.abs(a[1] + b[1]) < 1e-7 && Math.abs(180 - Math.abs(a[0] - b[0])) < 180 / 298.25

interface Tally {
  pairs: number
  refused: number
  /** metres */
  largest: number
  worst?: string
  failures: { size: number; text: string }[]
}

hunt('distance and intersects of two edges agree with the reference', 300, ({ seed, cases, report }) => {
  const tallies = new Map<string, Tally>()
  for (const pair of pairs(seed, cases)) {
    const tally = tallies.get(pair.family) ?? { pairs: 0, refused: 0, largest: 0, failures: [] }
    tallies.set(pair.family, tally)
    tally.pairs++
    const expected = truth(pair, usual)
    const text = (answer: string) =>
      `${JSON.stringify(pair.first)} to ${JSON.stringify(pair.second)}: ${answer}, truth ${expected} m`
    const fails = (size: number, answer: string) => {
      // The reference must return the same result with twice the bits and without its filters. Otherwise the
      // reference has a bug.
      expect(
        Math.abs(truth(pair, precise) - expected),
        text('the reference differs from itself'),
      ).toBeLessThanOrEqual(1e-20 + 1e-15 * expected)
      tally.failures.push({ size, text: text(answer) })
    }
    try {
      const [a, b] = [geometry(pair.first), geometry(pair.second)]
      const answer = distanceMeters(a, b)
      const error = Math.abs(answer - expected)
      if (error > tally.largest) [tally.largest, tally.worst] = [error, text(`${answer} m`)]
      if (!(error <= Math.max(1e-6, 1e-13 * expected))) fails(error, `distance ${answer} m`)
      if (Math.abs(expected - 0.005) > 1e-6 && intersects(a, b) !== expected < 0.005)
        fails(error, `intersects ${!(expected < 0.005)}`)
    } catch (error) {
      if (!(error instanceof GeometryError)) throw error
      tally.refused++
      if ([pair.first, pair.second].some(isAmbiguous)) continue
      // Only these edges may be rejected as antipodal.
      fails(0, `refused: ${error.message}`)
    }
  }
  const failing = [...tallies].filter(([, { failures }]) => failures.length > 0)
  const [family, { largest, worst }] = [...tallies].sort(([, a], [, b]) => b.largest - a.largest)[0]!
  report(`largest error ${largest} m, of ${family}: ${worst}`)
  const summary = failing.map(([of, { failures, pairs: count }]) =>
    [
      `${of}: ${failures.length} of ${count}`,
      ...failures
        .sort((a, b) => a.size - b.size)
        .slice(0, EXAMPLES)
        .map(({ text }) => `  ${text}`),
    ].join('\n'),
  )
  expect(failing, summary.join('\n')).toEqual([])
})
