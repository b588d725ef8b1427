import { HASH_SIZE, type Tile } from '../../src/tlog'
import { Cache } from '../http/cache'

/** Tiles that proofs have read. A tile only grows; clear the cache when the database changes. */
export class TileCache {
  private readonly tiles = new Cache<Uint8Array>('log tiles')

  /** Returns tiles from the cache, and reads those that it lacks from `source`. */
  async read(
    tiles: readonly Tile[],
    source: (missing: readonly Tile[]) => Promise<readonly Uint8Array[]>,
  ): Promise<Uint8Array[]> {
    const found = tiles.map((tile) => this.find(tile))
    const missing = tiles.filter((_, at) => !found[at])
    const read = missing.length === 0 ? [] : await source(missing)
    for (const [at, hashes] of read.entries()) this.add(missing[at]!, hashes)
    let next = 0
    return found.map((hashes) => hashes ?? read[next++]!)
  }

  add(tile: Tile, hashes: Uint8Array): void {
    if (!this.find(tile)) this.tiles.set(keyOf(tile), hashes)
  }

  clear(): void {
    this.tiles.clear()
  }

  private find(tile: Tile): Uint8Array | undefined {
    const hashes = this.tiles.get(keyOf(tile))
    if (!hashes || hashes.length < tile.width * HASH_SIZE) return undefined
    // Returns the existing object if the width matches, because hashes of subtrees are cached per object
    // (src/tlog/tiles.ts).
    return hashes.length === tile.width * HASH_SIZE ? hashes : hashes.subarray(0, tile.width * HASH_SIZE)
  }
}

const keyOf = ({ level, index }: Tile) => `${level}/${index}`
