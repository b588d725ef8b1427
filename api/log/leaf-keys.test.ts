import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keysOf, keysOfHash } from './leaf-keys'

describe('the leaf keys of a tile', () => {
  test.each([
    0,
    1,
    2,
    3,
    254,
    255,
    256,
    2 ** 18 - 2,
    2 ** 18 - 1,
    2 ** 24 - 2,
    2 ** 24 - 1,
    2 ** 30,
    2 ** 40,
  ])('find each hash of the tile, at index %i', (index) => {
    // A view whose offset in its buffer is not aligned, as in a part of a larger buffer.
    const hashes = randomBytes(256 * 32 + 3).subarray(3)
    hashes.fill(0xff, 0, 32)
    hashes.fill(0, 32, 64)
    const keys = keysOf(hashes, index)
    expect(Math.max(...keys)).toBeLessThan(2 ** 31)
    const isFound = (key: number, at: number) =>
      keysOfHash(hashes.subarray(32 * at, 32 * at + 32)).includes(key)
    expect(keys.every(isFound)).toBe(true)
    // On average, four hashes share a key among all tiles with this number of bits, which are as many as the
    // tiles before them.
    const bits = Math.floor(Math.log2(keys[0]!))
    const tiles = 2 ** Math.floor(Math.log2(index + 1))
    if (bits < 30) expect(2 ** bits * 4).toBe(tiles * 256)
  })
})
