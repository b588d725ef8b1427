import { latLngToCell } from 'h3-js'
import { expect } from 'vitest'
import { hunt } from '../../test/seed'
import { foldedGroups } from './folded-groups'
import { RECORD_DIMENSIONS, type GroupQuery, type Places } from './sql-groups'

/** Keys in the order of their bytes in UTF-8, which differs from that of their UTF-16 units. */
const TYPES = ['', 'WKT', 'wkt', 'é', '\uffee', '😀', null]
const PLACES = ['0 0', '10 50', '-60.5 -20', null]
const sumOf = (rows: readonly { records: number }[]) => rows.reduce((sum, { records }) => sum + records, 0)

hunt('folded groups are the first ones in the order of the database', 300, async ({ cases, random }) => {
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  for (let i = 0; i < cases; i++) {
    const rows = Array.from({ length: 60 }, () => ({
      ...{ place: pick(PLACES), type: pick(TYPES), records: 1 + Math.floor(random() * 3) },
    }))
    const query: GroupQuery = {
      by: [
        { name: 'h3', dimension: RECORD_DIMENSIONS.h3!, argument: 2 },
        { name: 'location_type', dimension: RECORD_DIMENSIONS.location_type!, argument: 0 },
      ],
      sums: [],
      sort: { by: pick(['records', 'h3', 'location_type']), descending: random() < 0.5 },
      top: pick([1, 2, 5, 100]),
    }
    const cells = new Map(
      PLACES.map((place) => {
        const [lng, lat] = (place ?? '').split(' ').map(Number)
        return [place, place && latLngToCell(lat!, lng!, 2)]
      }),
    )
    const sign = query.sort.descending ? -1 : 1
    const expected = PLACES.flatMap((place) =>
      TYPES.map((type, rank) => ({
        keys: [cells.get(place)!, type],
        records: sumOf(rows.filter((row) => row.place === place && row.type === type)),
        rank,
      })),
    )
      .filter(({ records }) => records > 0)
      .sort((a, b) => {
        const nullsLast = (x: unknown, y: unknown) => Number(x === null) - Number(y === null)
        const cell = nullsLast(a.keys[0], b.keys[0]) || (a.keys[0]! < b.keys[0]! ? -1 : 1)
        const byCell = a.keys[0] === b.keys[0] ? 0 : nullsLast(a.keys[0], b.keys[0]) ? cell : sign * cell
        const byType = nullsLast(a.keys[1], b.keys[1]) || sign * (a.rank - b.rank)
        const first = { records: sign * (a.records - b.records), h3: byCell, location_type: byType }
        const usual = a.keys[0] === b.keys[0] ? a.rank - b.rank : cell
        return first[query.sort.by as keyof typeof first] || usual
      })
    const withoutCell = expected.filter(({ keys }) => keys[0] === null)
    const complete = {
      shown: withoutCell.slice(0, query.top).map((group) => ({ ...group, sums: [], without: [] })),
      groups: withoutCell.length,
      total: { records: sumOf(withoutCell), sums: [], without: [] },
    }
    const withCell = TYPES.flatMap((type): Places[] => {
      const found = rows.filter((row) => row.place !== null && row.type === type)
      if (found.length === 0) return []
      return [
        {
          other: type,
          positions: found.map(({ place }) => place).join(),
          measures: found.map(({ records }) => records).join(),
        },
      ]
    })
    const { shown, groups, total } = await foldedGroups(complete, withCell, query, () => Promise.resolve())
    expect(shown.map(({ keys, records }) => ({ keys, records }))).toEqual(
      expected.slice(0, query.top).map(({ keys, records }) => ({ keys, records })),
    )
    expect([groups, total.records]).toEqual([expected.length, sumOf(rows)])
  }
})
