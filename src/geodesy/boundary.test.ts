import type { Geometry, Position } from 'geojson'
import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { box, parts, point, polygon, prepare } from '../../test/shapes'
import { positions } from '../../test/positions'
import { contains, intersects, touchesBoundary } from '.'

const touches = (zone: Geometry, geometry: Geometry) => touchesBoundary(prepare(zone), prepare(geometry))

describe('the boundary of polygons', () => {
  const fiji = parts(
    positions('177 -20, 180 -20, 180 -15, 177 -15, 177 -20'),
    positions('-180 -20, -178 -20, -178 -15, -180 -15, -180 -20'),
  )
  const antarctica = polygon(
    positions('-180 -90, -180 -80, -90 -75, 0 -72, 90 -70, 180 -80, 180 -90, -180 -90'),
  )
  const keyhole = polygon(positions('0 0, 9 0, 9 9, 0 9, 0 4, 3 4, 3 6, 6 6, 6 3, 3 3, 3 4, 0 4, 0 0'))
  test.each([
    ['a cut at the antimeridian', fiji, point([180, -17])],
    ['a cut to a pole', antarctica, point([-180, -85])],
    ['a pole inside', antarctica, point([12, -90])],
    ['a keyhole cut', keyhole, point([1.5, 4])],
    ['a seam of two parts', parts(box(0, 0, 1, 1), box(1, 0, 2, 1)), point([1, 0.5])],
    ['a part inside another', parts(box(0, 0, 9, 9), box(2, 2, 3, 3)), point([2, 2.5])],
  ])('excludes %s', (_, zone, at) => {
    expect([touches(zone, at), contains(prepare(zone), prepare(at))]).toEqual([false, true])
  })
  test.each([
    ['an end of a cut', fiji, point([-180, -20])],
    ['an edge', fiji, point([177, -16])],
    ['a hole', keyhole, point([6, 5])],
    ['a pole as a vertex', polygon(positions('0 80, 60 80, 30 90, 0 80')), point([170, 90])],
  ])('includes %s', (_, zone, at) => {
    expect([touches(zone, at), contains(prepare(zone), prepare(at))]).toEqual([true, false])
  })
  test('is touched by a geometry around it, and not by one inside it', () => {
    expect(touches(polygon(box(0, 0, 1, 1)), polygon(box(-1, -1, 2, 2)))).toBe(true)
    expect(touches(polygon(box(0, 0, 3, 3)), polygon(box(1, 1, 2, 2)))).toBe(false)
  })
  test('does not exist for a point', () => {
    expect(touches(point([0, 0]), point([0, 0]))).toBe(false)
  })

  hunt('holds exactly the points that polygons touch but do not contain', 300, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const [west, south] = [Math.floor(random() * 360) - 180, Math.floor(random() * 160) - 80]
      const wrapped = (lon: number) => (lon > 180 ? lon - 360 : lon)
      // Cells of a small grid, which touch at seams and corners.
      const cells = [0, 1, 2, 3, 4, 5].filter(() => random() < 0.6)
      const rings = cells.map((cell) => {
        const [x, y] = [west + (cell % 3), south + Math.floor(cell / 3)]
        return box(x, y, x + 1, y + 1).map(([lon, lat]): Position => [wrapped(lon!), lat!])
      })
      if (rings.length === 0) continue
      const zone = prepare(parts(...rings))
      const at = prepare(
        point([wrapped(west + Math.round(random() * 6) / 2), south + Math.round(random() * 4) / 2]),
      )
      expect(touchesBoundary(zone, at)).toBe(intersects(zone, at) && !contains(zone, at))
    }
  })
})
