import { expect } from 'vitest'
import { hunt } from '../../test/seed'
import { readGeometry } from './geojson'
import { buildShape } from './building'
import type { Shape } from './shape'
import { selfPairs } from './tree'

/**
 * All pairs of non-consecutive elements whose boxes meet, each enlarged by `times` bulges and `margin`
 * metres.
 */
function allPairs({ x, y, z, from, to, tree: { bulges } }: Shape, times: number, margin: number): string[] {
  const pairs: string[] = []
  const apart = (axis: Float64Array, e: number, f: number) => {
    const [a, b, c, d] = [axis[from[e]!]!, axis[to[e]!]!, axis[from[f]!]!, axis[to[f]!]!]
    const reach = times * (bulges[e]! + bulges[f]!) + margin
    return Math.min(c, d) > Math.max(a, b) + reach || Math.max(c, d) < Math.min(a, b) - reach
  }
  for (let e = 0; e < from.length; e++)
    for (let f = e + 1; f < from.length; f++)
      if (from[f] !== to[e] && !apart(x, e, f) && !apart(y, e, f) && !apart(z, e, f)) pairs.push(`${e},${f}`)
  return pairs
}

hunt(
  'selfPairs finds all pairs of edges whose boxes meet, whatever their course',
  30,
  ({ random, cases }) => {
    const between = (low: number, high: number) => low + random() * (high - low)
    const walks: Record<string, (size: number, step: number) => number> = {
      onward: () => 1,
      'onward by steps of any size': (_, i) => 10 ** -between(0, 1 + (i % 7)),
      'onward and back': () => (random() < 0.9 ? 1 : -1) * random(),
      anywhere: () => between(-1, 1),
    }
    let found = 0
    for (let round = 0; round < cases; round++) {
      const [walk, other] = [0, 0].map(() => Object.values(walks)[Math.floor(random() * 4)]!)
      // Sizes range from edges of a tenth of a micrometre, whose boxes all meet, to edges of a degree.
      const size = 10 ** between(-12, 0)
      const [start, end] = [Math.floor(random() * 10), 20 + Math.floor(random() * 100)]
      let [lon, lat] = [between(-179, 60), between(-80, 80)]
      const coordinates = Array.from({ length: end }, (_, i) => {
        if (i >= start) lon = Math.max(-179, Math.min(179, lon + size * walk!(size, i)))
        lat = Math.max(-89, Math.min(89, lat + size * other!(size, i)))
        return [lon, lat]
      })
      const line = buildShape(
        readGeometry({ type: 'MultiLineString', coordinates: [coordinates, coordinates.slice(0, 7)] }, 'g'),
      )
      const pairs = new Set<string>()
      selfPairs(line, 0, line.from.length, (e, f) => pairs.add(`${e},${f}`))
      expect(allPairs(line, 1, 0).filter((pair) => !pairs.has(pair))).toEqual([])
      const near = new Set(allPairs(line, 2, 1.01e-6))
      expect([...pairs].filter((pair) => !near.has(pair))).toEqual([])
      found += pairs.size
    }
    expect(found).toBeGreaterThan(30 * cases)
  },
)
