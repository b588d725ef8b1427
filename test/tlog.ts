import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  TreeEdge,
  consistencyProof,
  encodeBundle,
  formatCheckpoint,
  formatNote,
  formatWitnessRequest,
  inclusionProof,
  leafHash,
  parseCheckpoint,
  parseSignatures,
  parseTilePath,
  signNote,
  signerKey,
  tilePath,
  withTiles,
  type Checkpoint,
  type Note,
  type SignatureType,
  type Tile,
} from '../src/tlog'

export const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
/** Definitions of RFC 6962, 2.1, transcribed literally, of the hashes of leaves instead of the leaves. */
export const split = (n: number) => 2 ** (Math.ceil(Math.log2(n)) - 1)
export const MTH = (d: readonly Uint8Array[]): Uint8Array =>
  d.length === 0
    ? sha256()
    : d.length === 1
      ? d[0]!
      : sha256(Buffer.of(1), MTH(d.slice(0, split(d.length))), MTH(d.slice(split(d.length))))
export const PATH = (m: number, d: readonly Uint8Array[]): Uint8Array[] => {
  const k = split(d.length)
  if (d.length === 1) return []
  return m < k
    ? [...PATH(m, d.slice(0, k)), MTH(d.slice(k))]
    : [...PATH(m - k, d.slice(k)), MTH(d.slice(0, k))]
}
export const SUBPROOF = (m: number, d: readonly Uint8Array[], whole: boolean): Uint8Array[] => {
  const k = split(d.length)
  if (m === d.length) return whole ? [] : [MTH(d)]
  return m <= k
    ? [...SUBPROOF(m, d.slice(0, k), whole), MTH(d.slice(k))]
    : [...SUBPROOF(m - k, d.slice(k), false), MTH(d.slice(0, k))]
}

/** Creates a key whose seed is a number, so that tests are repeatable. */
export const seededKey = (name: string, type: SignatureType, seed: number) =>
  signerKey(
    name,
    type,
    Uint8Array.from({ length: 32 }, (_, at) => (seed >>> (8 * (at % 4))) ^ at),
  )

/** Tiles of a level that has this number of hashes, or bundles of this number of entries. */
const tilesAt = (level: Tile['level'], hashes: number): Tile[] =>
  Array.from({ length: Math.ceil(hashes / 256) }, (_, index) => ({
    ...{ level, index, width: Math.min(256, hashes - index * 256) },
  }))

/** Tiles and bundles of a tree with this number of entries, by the definition of c2sp.org/tlog-tiles. */
export function allTiles(size: number): Tile[] {
  const tiles = tilesAt('entries', size)
  for (let level = 0, hashes = size; hashes > 0; level++, hashes = Math.floor(hashes / 256))
    tiles.push(...tilesAt(level, hashes))
  return tiles
}

/** Log in memory, with the files of c2sp.org/tlog-tiles. Tests can make it do anything, even fork. */
export class MemoryLog {
  readonly entries: Uint8Array[] = []
  #edge = new TreeEdge()
  readonly #tiles = new Map<string, Uint8Array>()
  /** Cosignatures of the last checkpoint, which are served with it. */
  note: Note = { text: '', signatures: [] }

  constructor(readonly key: Awaited<ReturnType<typeof seededKey>>) {}

  get size(): number {
    return this.entries.length
  }

  append(...entries: readonly Uint8Array[]): this {
    const before = this.size
    for (const entry of entries) {
      this.entries.push(entry)
      this.#edge.append(leafHash(entry), (tile, hashes) => this.#tiles.set(tilePath(tile), hashes))
    }
    for (const { tile, hashes } of this.#edge.partialTiles()) this.#tiles.set(tilePath(tile), hashes)
    for (const tile of tilesAt('entries', this.size).slice(Math.floor(before / 256)))
      this.#tiles.set(
        tilePath(tile),
        encodeBundle(this.entries.slice(tile.index * 256, tile.index * 256 + tile.width)),
      )
    return this
  }

  /** Creates a log with the same key and these entries: a fork, a backup, or a second sequencer. */
  copy(entries: readonly Uint8Array[] = this.entries): MemoryLog {
    return new MemoryLog(this.key).append(...entries)
  }

  /** Signs a checkpoint of the current size, and serves it. */
  async sign(): Promise<Checkpoint> {
    const text = formatCheckpoint({ origin: this.key.name, size: this.size, root: this.#edge.root() })
    this.note = { text, signatures: [await signNote(text, this.key)] }
    return parseCheckpoint(formatNote(this.note))
  }

  /** Content of a file; undefined if there is none. */
  read(path: string): Uint8Array | undefined {
    if (path === 'checkpoint') return Buffer.from(formatNote(this.note))
    return parseTilePath(path) && this.#tiles.get(path)
  }

  readonly source = (tiles: readonly Tile[]): Promise<Uint8Array[]> =>
    Promise.resolve(tiles.map((tile) => this.#tiles.get(tilePath(tile)) ?? new Uint8Array()))

  inclusion(index: number, size = this.size): Promise<Uint8Array[]> {
    return withTiles(this.source, size, (read) => inclusionProof(read, index, size))
  }

  consistency(oldSize: number, size = this.size): Promise<Uint8Array[]> {
    return withTiles(this.source, size, (read) => consistencyProof(read, oldSize, size))
  }

  /**
   * Sends the last signed checkpoint to a witness, with a proof from a size. Adds the returned cosignature,
   * if any. Resolves to its status and text.
   */
  async submit(
    witness: { addCheckpoint: (body: string) => Promise<{ status: number; body: string }> },
    oldSize: number,
  ): Promise<{ status: number; body: string }> {
    const hashes = oldSize < this.size ? await this.consistency(oldSize) : []
    const reply = await witness.addCheckpoint(formatWitnessRequest({ oldSize, hashes }, this.note))
    if (reply.status === 200) this.note.signatures.push(...parseSignatures(reply.body))
    return reply
  }

  /** Serves the log's files over HTTP. Tests can replace `read` to serve other files. */
  async serve(): Promise<{ url: string; stop: () => Promise<void> }> {
    const server = createServer((request, response) => {
      const content = this.read(request.url!.slice(1))
      response.writeHead(content ? 200 : 404).end(content ?? '{"message":"Not found"}')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      stop: () =>
        new Promise((resolve) => {
          server.close(() => resolve())
          server.closeAllConnections()
        }),
    }
  }
}
