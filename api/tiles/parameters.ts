import { CQL2_FILTER, FILTERS } from '../query'
import { invalid, parameter, pathOf, queryOf, wholeReader } from '../http/parameters'
import { MAX_ZOOM, type Tile } from './grid'

/** What can be asked of tiles. */

const index = (description: string) => parameter({ type: 'integer', description, minimum: 0 }, wholeReader(0))

export const TILE_PATH = pathOf({
  z: parameter(
    {
      type: 'integer',
      description: `Zoom: the world has 2^z tiles on a side.`,
      minimum: 0,
      maximum: MAX_ZOOM,
    },
    (text, name) => {
      const zoom = /^\d{1,2}$/.test(text) ? Number(text) : NaN
      if (!(zoom <= MAX_ZOOM)) throw invalid(name, `Expected a whole number from 0 to ${MAX_ZOOM}`)
      return zoom
    },
  ),
  x: index('Column, counted from 180 degrees west.'),
  y: index('Row, counted from the north.'),
})
/** The filters of the list of records, and CQL2. */
export const TILE_QUERY = queryOf({ ...FILTERS, ...CQL2_FILTER })

/** The tile of a path. Throws a RecordsError where there is none. */
export function tileOf({ z, x, y }: Tile): Tile {
  for (const [name, value] of Object.entries({ x, y }))
    if (value >= 2 ** z) throw invalid(name, `Expected a whole number from 0 to ${2 ** z - 1} at zoom ${z}`)
  return { z, x, y }
}
