// SPDX-License-Identifier: MIT
import { HASH_SIZE, concat, equal, fromBigEndian, writeBigEndian, type Bytes } from './bytes'
import { TlogError } from './error'
import {
  EMPTY_ROOT,
  consistencyProof,
  nodeHash,
  treeRoot,
  verifyConsistency,
  type HashReader,
  type TreeHead,
} from './merkle'

/** Number of hashes of a full tile, and of entries of a full bundle (c2sp.org/tlog-tiles). */
export const TILE_WIDTH = 256
const TILE_HEIGHT = 8
/** Maximum number of bytes of an entry, because a bundle stores its length in 16 bits. */
export const MAX_ENTRY_BYTES = 65_535

/** Leaves below one hash of a level: 256^level, without `**`, whose results differ between engines. */
function leavesOf(level: number): number {
  let leaves = 1
  for (let each = 0; each < level; each++) leaves *= TILE_WIDTH
  return leaves
}

/** A tile of hashes, or a bundle of entries. */
export interface Tile {
  /** Level of the hashes, 0 for those of leaves; `entries` for a bundle. */
  level: number | 'entries'
  index: number
  /** Number of hashes or entries, from 1 to 256; below 256 the tile is partial. */
  width: number
}

/** Path of a tile below the log's URL, such as `tile/0/x001/x234/067.p/112`. */
export function tilePath({ level, index, width }: Tile): string {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g)!
  const path = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/')
  return `tile/${level}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Parses a path; undefined if it is not the path of a tile. Every tile has exactly one path. */
export function parseTilePath(path: string): Tile | undefined {
  const match = /^tile\/(entries|[1-5]?\d|6[0-3])\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(
    path,
  )
  if (!match) return undefined
  const tile: Tile = {
    level: match[1] === 'entries' ? 'entries' : Number(match[1]),
    index: Number(match[2]!.replace(/[x/]/g, '')),
    width: match[3] === undefined ? TILE_WIDTH : Number(match[3]),
  }
  const isInRange = Number.isSafeInteger(tile.index) && tile.width <= TILE_WIDTH
  return isInRange && tilePath(tile) === path ? tile : undefined
}

/** Tile at an index of a level in a tree of `size` entries. Its width is 0 if the tree lacks it. */
export function tileOf(level: Tile['level'], index: number, size: number): Tile {
  const hashes = Math.floor(size / leavesOf(level === 'entries' ? 0 : level))
  return { level, index, width: Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH)) }
}

const hashAt = (hashes: Uint8Array, at: number) => hashes.subarray(at * HASH_SIZE, (at + 1) * HASH_SIZE)

/** Hash of the complete subtree over `count` hashes, a power of two, that begins at index `at`. */
function foldComplete(hashes: Uint8Array, at: number, count: number): Uint8Array {
  if (count === 1) return hashAt(hashes, at)
  const half = count / 2
  return nodeHash(foldComplete(hashes, at, half), foldComplete(hashes, at + half, half))
}

/** Hashes of `foldOnce` by the bytes of their tile, as a binary heap: that of the whole tile is at 1. */
const folded = new WeakMap<Uint8Array, { nodes: Uint8Array; isKnown: Uint8Array }>()

/** Like `foldComplete`, but only once per tile: many proofs read the same cached tiles. */
function foldOnce(hashes: Uint8Array, at: number, count: number): Uint8Array {
  if (count === 1) return hashAt(hashes, at)
  let known = folded.get(hashes)
  if (!known) {
    known = { nodes: new Uint8Array(TILE_WIDTH * HASH_SIZE), isKnown: new Uint8Array(TILE_WIDTH) }
    folded.set(hashes, known)
  }
  const node = (TILE_WIDTH + at) / count
  if (!known.isKnown[node]) {
    const half = count / 2
    const hash = nodeHash(foldOnce(hashes, at, half), foldOnce(hashes, at + half, half))
    known.nodes.set(hash, node * HASH_SIZE)
    known.isKnown[node] = 1
  }
  return hashAt(known.nodes, node)
}

/** Tile with the hash of a complete subtree, or the `count` hashes below it, from index `at`. */
function tileWith(height: number, index: number, size: number): Tile & { at: number; count: number } {
  const level = Math.floor(height / TILE_HEIGHT)
  const count = 1 << (height % TILE_HEIGHT)
  const first = index * count
  return { ...tileOf(level, Math.floor(first / TILE_WIDTH), size), at: first % TILE_WIDTH, count }
}

/** Reads tiles in parallel. Each has `width * 32` bytes. */
export type TileSource = (tiles: readonly Tile[]) => Promise<readonly Uint8Array[]>

/** Reads tiles. Throws a TlogError if the content of one has another length. */
async function readTiles(source: TileSource, tiles: readonly Tile[]): Promise<readonly Uint8Array[]> {
  const contents = await source(tiles)
  for (const [at, tile] of tiles.entries())
    if (contents[at]?.length !== tile.width * HASH_SIZE)
      throw new TlogError(tilePath(tile), `${tile.width} hashes, ${tile.width * HASH_SIZE} bytes`)
  return contents
}

/**
 * Runs a computation on hashes of a tree, such as `inclusionProof`, and reads all its tiles at once. They are
 * not trusted: compare the result with a checkpoint. The bytes of a tile must not change later.
 */
export async function withTiles<Result>(
  source: TileSource,
  size: number,
  compute: (read: HashReader) => Result,
): Promise<Result> {
  const needed = new Map<string, Tile>()
  // The first run only records which tiles the computation needs, which does not depend on the hashes.
  compute((height, index) => {
    const { level, index: tile, width, at, count } = tileWith(height, index, size)
    if (at + count > width) throw new TlogError('subtree', 'one within the tree')
    needed.set(`${level}/${tile}`, { level, index: tile, width })
    return EMPTY_ROOT
  })
  const contents = await readTiles(source, [...needed.values()])
  const hashes = new Map([...needed.keys()].map((name, at) => [name, contents[at]!]))
  return compute((height, index) => {
    const { level, index: tile, at, count } = tileWith(height, index, size)
    return foldOnce(hashes.get(`${level}/${tile}`)!, at, count)
  })
}

/**
 * True if a tree begins with an older one. Throws a TlogError if the tiles are not those of the tree: a fork
 * is proven only by hashes that lead to its root.
 */
export async function beginsWith(source: TileSource, old: TreeHead, head: TreeHead): Promise<boolean> {
  const { size } = head
  if (old.size === size) return equal(old.root, head.root)
  const { root, proof } = await withTiles(source, size, (read) => ({
    root: treeRoot(read, old.size),
    proof: consistencyProof(read, old.size, size),
  }))
  if (!verifyConsistency({ size: old.size, root }, head, proof))
    throw new TlogError('tiles', `those of the tree of size ${size}`)
  return equal(old.root, root)
}

/** Right edge of a tree, its partial tiles: all that is needed to append entries or compute the root. */
export class TreeEdge {
  /** Hashes of the partial tile of each level, fewer than 256 per level. */
  readonly #levels: Uint8Array[][] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  clone(): TreeEdge {
    const edge = new TreeEdge()
    edge.#size = this.#size
    edge.#levels.push(...this.#levels.map((hashes) => [...hashes]))
    return edge
  }

  /** Reads the edge of a tree. The caller compares `root()` with that of a checkpoint. */
  static async read(source: TileSource, size: number): Promise<TreeEdge> {
    const edge = new TreeEdge()
    edge.#size = size
    const tiles: Tile[] = []
    for (let level = 0; leavesOf(level) <= size; level++) {
      edge.#levels.push([])
      const hashes = Math.floor(size / leavesOf(level))
      if (hashes % TILE_WIDTH > 0) tiles.push(tileOf(level, Math.floor(hashes / TILE_WIDTH), size))
    }
    const contents = await readTiles(source, tiles)
    for (const [at, { level, width }] of tiles.entries())
      edge.#levels[level as number] = Array.from({ length: width }, (_, hash) => hashAt(contents[at]!, hash))
    return edge
  }

  /** Appends the hash of a leaf. `onFull` receives each tile that it fills, lowest level first. */
  append(leaf: Uint8Array, onFull?: (tile: Tile, hashes: Uint8Array) => void): void {
    let hash = leaf
    this.#size++
    for (let level = 0; ; level++) {
      const hashes = (this.#levels[level] ??= [])
      hashes.push(hash)
      if (hashes.length < TILE_WIDTH) return
      const bytes = concat(...hashes)
      hashes.length = 0
      const index = this.#size / leavesOf(level + 1) - 1
      onFull?.({ level, index, width: TILE_WIDTH }, bytes)
      hash = foldComplete(bytes, 0, TILE_WIDTH)
    }
  }

  /** Partial tiles of the tree, lowest level first. */
  partialTiles(): { tile: Tile; hashes: Uint8Array }[] {
    return this.#levels.flatMap((hashes, level) => {
      if (hashes.length === 0) return []
      const index = Math.floor(this.#size / leavesOf(level + 1))
      return [{ tile: { level, index, width: hashes.length }, hashes: concat(...hashes) }]
    })
  }

  /** Root of the tree (RFC 6962, 2.1). */
  root(): Uint8Array {
    let root: Uint8Array | undefined
    for (const hashes of this.#levels) {
      const bytes = concat(...hashes)
      let end = hashes.length
      // Complete subtrees of the level, from right to left, which is from the smallest.
      for (let count = 1; end > 0; count *= 2) {
        if ((end & count) === 0) continue
        const left = foldComplete(bytes, end - count, count)
        root = root ? nodeHash(left, root) : left
        end -= count
      }
    }
    return root ?? EMPTY_ROOT
  }
}

/** Encodes a bundle: each entry after its length in 2 bytes. */
export function encodeBundle(entries: readonly Uint8Array[]): Bytes {
  const bundle = new Uint8Array(entries.reduce((sum, { length }) => sum + 2 + length, 0))
  let at = 0
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY_BYTES) throw new TlogError('entry', `at most ${MAX_ENTRY_BYTES} bytes`)
    writeBigEndian(entry.length, bundle, at, 2)
    bundle.set(entry, at + 2)
    at += 2 + entry.length
  }
  return bundle
}

/** Decodes the entries of a bundle, which must be exactly `width`. Throws a TlogError. */
export function decodeBundle(bundle: Uint8Array, width: number): Uint8Array[] {
  const entries: Uint8Array[] = []
  let at = 0
  while (at < bundle.length && entries.length < width) {
    const start = at + 2
    at = start + fromBigEndian(bundle.subarray(at, start))
    if (start > bundle.length || at > bundle.length) throw new TlogError('bundle', 'whole entries')
    entries.push(bundle.subarray(start, at))
  }
  if (entries.length !== width || at !== bundle.length) throw new TlogError('bundle', `${width} entries`)
  return entries
}
