import { expect } from 'vitest'
import { triples } from '../../test/reference/triples'
import { hunt } from '../../test/seed'
import { geodesicLine } from './ellipsoid'
import { certainOffset, clearance, sideOf } from './orientation'
import { chord, place, type Vertices } from './vertices'

/** Tests of the orientation predicate against test/reference, and of its filter against its certain step. */

/**
 * Distance in metres from an edge within which the predicate may return 0. At u metres behind an edge of L
 * metres, the distance is (1 + u / L) times as large.
 */
const UNDECIDED = 5e-8

const vertices = (...places: (readonly [number, number])[]): Vertices =>
  place(...places.map(([lon, lat]) => ({ lon, lat })))
const behind = (V: Vertices) => Math.min(chord(V, 0, 2), chord(V, 1, 2)) / chord(V, 0, 1)

hunt(
  'sideOf returns the side of a position near an edge, and 0 only within the error bound',
  150,
  ({ seed, cases, report }) => {
    const wrong: unknown[] = []
    let [filtered, untold, largest] = [0, 0, 0]
    for (const { a, b, p, offset } of triples(seed, cases)) {
      const V = vertices(a, b, p)
      const clear = clearance(V, 2, V, 0, 1)
      const certain = certainOffset(V, 2, V, 0, 1)
      if (clear !== 0) filtered++
      // The bound of the filter never exceeds the offset.
      if (clear * offset < 0 || Math.abs(clear) > Math.abs(offset) * 1.000001 + 1e-12)
        wrong.push({ a, b, p, offset, clear })
      if (certain * offset < 0) wrong.push({ a, b, p, offset, certain })
      if (sideOf(V, 2, V, 0, 1) !== 0) continue
      untold++
      largest = Math.max(largest, Math.abs(offset) / (1 + behind(V)))
      if (Math.abs(offset) > 2 * UNDECIDED * (1 + behind(V))) wrong.push({ a, b, p, offset })
    }
    report(`${filtered} decided by the filter, ${untold} undecided, their largest offset ${largest} m`)
    expect(wrong).toEqual([])
  },
)

hunt('clearance agrees with certainOffset', 3_000, ({ random, cases, report }) => {
  const magnitude = (low: number, high: number) => low * (high / low) ** random()
  const rounded = (degrees: number, decimals: number) =>
    decimals > 9 ? degrees : Number(degrees.toFixed(decimals))
  const wrong: unknown[] = []
  let doubts = 0
  for (let i = 0; i < cases; i++) {
    const decimals = 5 + Math.floor(random() * 7)
    const moved = (
      [lon, lat]: readonly [number, number],
      azimuth: number,
      metres: number,
    ): [number, number] => {
      const there = geodesicLine(lon, lat, azimuth)(metres)
      return [rounded(there.lon, decimals), Math.max(-90, Math.min(90, rounded(there.lat, decimals)))]
    }
    const a: [number, number] = [
      rounded(random() * 360 - 180, decimals),
      rounded(random() < 0.2 ? 90 - magnitude(1e-8, 10) : random() * 180 - 90, decimals),
    ]
    const azimuth = random() < 0.2 ? 90 * Math.floor(random() * 4) : random() * 360
    const length = magnitude(1e-4, 2e6)
    const b = moved(a, azimuth, length)
    // Positions along the edge, before it or behind it, at an offset from its line of up to a tenth of the
    // distance along it.
    const along = random() < 0.5 ? random() * length : (random() < 0.5 ? -1 : 1) * magnitude(1e-4, 2e6)
    const p = moved(
      moved(a, azimuth, along),
      azimuth + (random() < 0.5 ? 90 : -90),
      magnitude(1e-9, Math.max(1e-3, Math.abs(along) / 10)),
    )
    const V = vertices(a, b, p)
    const clear = clearance(V, 2, V, 0, 1)
    if (clear === 0) doubts++
    else {
      const certain = certainOffset(V, 2, V, 0, 1)
      // The offset by azimuths at an end is computed on a sphere. It is off by at most 1 in 100, and has the
      // correct sign.
      if (clear * certain < 0 || (certain !== 0 && Math.abs(clear) > Math.abs(certain) * 1.02))
        wrong.push({ a, b, p, clear, certain })
    }
  }
  report(`${doubts} in doubt`)
  expect(wrong).toEqual([])
})
