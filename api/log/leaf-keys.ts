import { HASH_SIZE, TILE_WIDTH } from '../../src/tlog'

/** Number of bits of the keys of the first tile: on average, four of its 256 hashes share a key. */
const FIRST_BITS = 6
/** Maximum number of bits: keys are 32-bit integers. It is reached at 8,600,000,000 entries. */
const MOST_BITS = 30

const keyAt = (hashes: Buffer, at: number, bits: number) =>
  2 ** bits + (hashes.readUInt32BE(at * HASH_SIZE) >>> (32 - bits))

/**
 * Keys of the hashes of a tile of level 0, by which an index finds the tile: a 1 bit, and the first bits of a
 * hash, one more whenever the number of tiles doubles, so that on average four hashes share a key. The
 * index has a quarter of the size of one with a key per hash.
 */
export function keysOf(hashes: Uint8Array, tile: number): number[] {
  // log2 is not exact for large numbers; Math.clz32 is.
  const bits = Math.min(MOST_BITS, FIRST_BITS + 31 - Math.clz32(Math.min(tile + 1, 2 ** 31)))
  const buffer = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.length)
  return Array.from({ length: TILE_WIDTH }, (_, at) => keyAt(buffer, at, bits))
}

/** Keys that a hash may have, one per number of bits. */
export function keysOfHash(hash: Uint8Array): number[] {
  const buffer = Buffer.from(hash)
  return Array.from({ length: MOST_BITS - FIRST_BITS + 1 }, (_, more) => keyAt(buffer, 0, FIRST_BITS + more))
}
