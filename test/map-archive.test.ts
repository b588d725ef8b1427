import { PMTiles } from 'pmtiles'
import { expect, test } from 'vitest'
import { pmtilesOf, tileId } from '../web/build/pmtiles.mjs'
import { range } from './shapes'

/** Tests the archives of map tiles that the build writes. */

test('tiles have numbers along the Hilbert curve', () => {
  // Values from the specification and from the reference implementation.
  expect([tileId(0, 0, 0), tileId(1, 0, 0), tileId(1, 0, 1), tileId(1, 1, 1), tileId(1, 1, 0)]).toEqual([
    0, 1, 2, 3, 4,
  ])
  expect([tileId(2, 0, 0), tileId(12, 3423, 1763)]).toEqual([5, 19078479])
})

test('the library of PMTiles reads each tile of an archive', { tags: ['slow'] }, async () => {
  const text = (z: number, x: number, y: number) => `tile ${z}/${x}/${y}`
  const tiles = [0, 1, 2, 3, 15].flatMap((z) => {
    const side = Math.min(2 ** z, 7)
    return range(side ** 2, (i) => {
      const [x, y] = [i % side, Math.floor(i / side)]
      return { z, x, y, data: Buffer.from(text(z, x, y)) }
    })
  })
  const bytes = pmtilesOf(tiles, { name: 'Tiles', bounds: [2.33, 48.855, 2.345, 48.866] })
  const read = new PMTiles({
    getKey: () => 'tiles',
    getBytes: async (offset, length) => ({
      data: Uint8Array.from(bytes.subarray(offset, offset + length)).buffer,
    }),
  })
  expect(await read.getHeader()).toMatchObject({ minZoom: 0, maxZoom: 15, minLon: 2.33, maxLat: 48.866 })
  for (const { z, x, y } of tiles)
    expect(Buffer.from((await read.getZxy(z, x, y))!.data).toString()).toBe(text(z, x, y))
  expect(await read.getZxy(3, 7, 0)).toBeUndefined()
})
