// SPDX-License-Identifier: MIT
import { HASH_SIZE, concat, equal, toHex } from './bytes'
import { parseCheckpoint, type Checkpoint } from './checkpoint'
import { TlogError } from './error'
import { leafHash, verifyInclusion } from './merkle'
import { formatNote } from './note'
import { signersOf, type Policy, type Signers } from './policy'
import { parseProof } from './proof'
import { sha256 } from './sha256'
import {
  TILE_WIDTH,
  TreeEdge,
  beginsWith,
  decodeBundle,
  tileOf,
  tilePath,
  type Tile,
  type TileSource,
} from './tiles'

/**
 * Kinds of faults of a log:
 * - `format`: a file does not match its format, or is missing
 * - `signature`: no trusted log signed the checkpoint, or a signature is not valid
 * - `quorum`: too few witnesses cosigned the checkpoint
 * - `rollback`: the tree is smaller than an earlier signed tree, which may contain it
 * - `fork`: the tree does not contain an earlier signed tree
 * - `entries`: the entries or hashes that the log serves do not match its tree
 * - `missing`: an entry is not in the tree although its time has passed
 */
export type LogFaultKind = 'format' | 'signature' | 'quorum' | 'rollback' | 'fork' | 'entries' | 'missing'

/** A fault of a log. `evidence` contains the signed checkpoints that prove it, as text. */
export class LogFault extends Error {
  override name = 'LogFault'

  constructor(
    readonly kind: LogFaultKind,
    message: string,
    readonly evidence: readonly string[] = [],
  ) {
    super(message)
  }
}

const forkOf = (older: number, newer: number, evidence: readonly string[]) =>
  new LogFault('fork', `The tree of size ${newer} does not contain that of size ${older}.`, evidence)

const evidenceOf = (...checkpoints: readonly (Checkpoint | undefined)[]) =>
  checkpoints.flatMap((each) => (each ? [formatNote(each.note)] : []))

/** Runs a step, and converts each TlogError into a LogFault of this kind. */
async function faultOf<Result>(kind: LogFaultKind, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof TlogError ? new LogFault(kind, error.message) : error
  }
}

/** Bundles, and their bytes, kept until the tree is verified. Further bundles are read a second time. */
const KEPT_BUNDLES = 64
const KEPT_BYTES = 8_000_000

/**
 * Reads a file of the log by its path, such as `checkpoint`; undefined if the log itself states that it has
 * none. Throws if the file cannot be read.
 */
export type LogFiles = (path: string) => Promise<Uint8Array | undefined>

/** Signed checkpoint, and its verified signers. */
export interface Seen extends Signers {
  checkpoint: Checkpoint
}

/** Parses a checkpoint, and verifies its signatures and the quorum of the policy. Throws a LogFault. */
async function openCheckpoint(text: string, policy: Policy): Promise<Seen> {
  const checkpoint = await faultOf('format', () => parseCheckpoint(text))
  const signers = await faultOf('signature', () => signersOf(checkpoint, policy))
  if (!signers.isQuorum)
    throw new LogFault(
      'quorum',
      `Too few witnesses cosigned the checkpoint of size ${checkpoint.size}: ` +
        `${[...signers.cosigned.keys()].join(', ') || 'none'}.`,
      [text],
    )
  return { checkpoint, ...signers }
}

/** Parses a checkpoint that a log of the policy signed, without verifying cosignatures. Throws a LogFault. */
export async function openSigned(text: string, policy: Policy): Promise<Checkpoint> {
  const checkpoint = await faultOf('format', () => parseCheckpoint(text))
  await faultOf('signature', () => signersOf(checkpoint, { ...policy, witnesses: new Map() }))
  return checkpoint
}

/** Verifies that a proof (c2sp.org/tlog-proof) shows a leaf in a log of the policy. Throws a LogFault. */
export async function openProof(
  text: string,
  leaf: Uint8Array,
  policy: Policy,
): Promise<Seen & { index: number }> {
  const { index, hashes, checkpoint } = await faultOf('format', () => parseProof(text))
  const seen = await openCheckpoint(formatNote(checkpoint.note), policy)
  if (!verifyInclusion(leaf, index, checkpoint, hashes))
    throw new LogFault('entries', `The proof does not show ${toHex(leaf)} at index ${index}.`)
  return { ...seen, index }
}

/**
 * State of an entry that a log must include by `by`, in Unix seconds. Throws a LogFault if the proof is not
 * valid, or the time has passed without one.
 */
export async function inclusionOf(
  { leaf, by, proof }: { leaf: Uint8Array; by: number; proof: string | undefined },
  policy: Policy,
  now: number,
): Promise<(Seen & { index: number }) | 'pending'> {
  if (proof === undefined) {
    if (now <= by) return 'pending'
    throw new LogFault('missing', `The log does not include ${toHex(leaf)}, which it promised before ${by}.`)
  }
  try {
    return await openProof(proof, leaf, policy)
  } catch (error) {
    // Witnesses cosign a checkpoint some seconds after the log has signed it.
    if (error instanceof LogFault && error.kind === 'quorum' && now <= by) return 'pending'
    throw error
  }
}

/**
 * Reader of a whole log that verifies signatures, cosignatures by the policy, each entry against the tree,
 * and each tree against the last one. Start with `advance`, and with `resume` after a restart.
 */
export class LogFollower {
  /** Edge of the tree of the entries that `onEntries` has read. It may be behind `#last`. */
  #edge = new TreeEdge()
  #last: Seen | undefined

  constructor(
    private readonly files: LogFiles,
    private readonly policy: Policy,
  ) {}

  /** Last verified checkpoint. */
  get last(): Seen | undefined {
    return this.#last
  }

  /** Number of entries that `onEntries` has read. */
  get checked(): number {
    return this.#edge.size
  }

  /**
   * Continues at a checkpoint of `last`, and at the entry `checked`. Throws a LogFault if the tiles no longer
   * match it, with the log's current checkpoint as evidence if it can be read.
   */
  async resume(note: string, checked = Infinity): Promise<void> {
    const checkpoint = await faultOf('format', () => parseCheckpoint(note))
    const signers = await faultOf('signature', () => signersOf(checkpoint, this.policy))
    // A larger tree contains the same hashes, and the partial tiles of this size may have been deleted.
    const edge = await faultOf('entries', () => TreeEdge.read(this.#tiles, checkpoint.size)).catch(
      async (error: unknown) => {
        throw (error instanceof LogFault && (await this.#currentFault(checkpoint))) || error
      },
    )
    if (!equal(edge.root(), checkpoint.root)) {
      const message = `The tiles are not those of the checkpoint of size ${checkpoint.size}.`
      throw (await this.#currentFault(checkpoint)) ?? new LogFault('entries', message, [note])
    }
    const { size } = checkpoint
    // The next read verifies this edge, because the entries after it must lead to the same root.
    const isBehind = checked < size
    this.#edge = isBehind ? await faultOf('entries', () => TreeEdge.read(this.#within(size), checked)) : edge
    this.#last = { checkpoint, ...signers }
  }

  /**
   * Reads the checkpoint and all new entries, and passes each bundle to `onEntries` once the tree is
   * verified. Throws a LogFault, and then stays at the last checkpoint, or an error of `onEntries`, whose
   * bundle is then the first one of the next call.
   */
  async advance(
    onEntries: (entries: readonly Uint8Array[], index: number) => Promise<void> | void,
  ): Promise<Seen> {
    const seen = await openCheckpoint(new TextDecoder().decode(await this.#file('checkpoint')), this.policy)
    const { checkpoint } = seen
    const { size } = checkpoint
    const fault = this.#last && (await this.#contradiction(this.#last.checkpoint, checkpoint))
    if (fault) throw fault
    const last = this.#last?.checkpoint
    const edge = this.#edge.clone()
    const start = edge.size
    let isGrown = true
    const first = Math.floor(start / TILE_WIDTH)
    const bundles: { root: Uint8Array; kept: Record<'entries' | 'leaves', Uint8Array[]> | undefined }[] = []
    let bytes = 0
    for (let index = first; index * TILE_WIDTH < size; index++) {
      const entries = await this.#bundle(index, size)
      const leaves = entries.map(leafHash)
      for (const leaf of leaves.slice(Math.max(0, start - index * TILE_WIDTH))) {
        edge.append(leaf)
        if (last && edge.size === last.size) isGrown = equal(edge.root(), last.root)
      }
      bytes += entries.reduce((sum, { length }) => sum + length, 0)
      bundles.push({
        root: sha256(concat(...leaves)),
        kept: bundles.length < KEPT_BUNDLES && bytes <= KEPT_BYTES ? { entries, leaves } : undefined,
      })
    }
    if (!isGrown || !equal(edge.root(), checkpoint.root)) {
      const message = `The entries are not those of the tree of size ${size}.`
      throw (
        (last && (await this.#treeFault(last, checkpoint).catch(() => undefined))) ??
        new LogFault('entries', message, evidenceOf(last, checkpoint))
      )
    }
    this.#last = seen
    for (const [at, { root, kept }] of bundles.entries()) {
      const entries = kept?.entries ?? (await this.#bundle(first + at, size))
      const leaves = kept?.leaves ?? entries.map(leafHash)
      if (!kept && !equal(sha256(concat(...leaves)), root))
        throw new LogFault('entries', `The log served two bundles with the index ${first + at}.`)
      const from = (first + at) * TILE_WIDTH
      const skipped = Math.max(0, start - from)
      await onEntries(entries.slice(skipped), from + skipped)
      for (const leaf of leaves.slice(skipped)) this.#edge.append(leaf)
    }
    return seen
  }

  /** Returns the fault of the log's current checkpoint after the last one; undefined if it cannot be read. */
  async #currentFault(last: Checkpoint): Promise<LogFault | undefined> {
    try {
      const text = new TextDecoder().decode(await this.#file('checkpoint'))
      const checkpoint = await openSigned(text, this.policy)
      return (await this.#contradiction(last, checkpoint)) ?? (await this.#treeFault(last, checkpoint))
    } catch {
      return undefined
    }
  }

  /**
   * Returns the fault if a tree is smaller than the last one, or has the same size and another root. A
   * smaller tree is a `rollback` unless the tiles prove a fork: a cache may serve an older checkpoint.
   */
  async #contradiction(last: Checkpoint, checkpoint: Checkpoint): Promise<LogFault | undefined> {
    if (checkpoint.size > last.size) return undefined
    const evidence = evidenceOf(last, checkpoint)
    if (checkpoint.size === last.size) {
      if (equal(checkpoint.root, last.root)) return undefined
      return new LogFault('fork', `The log signed two trees of size ${last.size}.`, evidence)
    }
    const fault = await this.#treeFault(checkpoint, last).catch(() => undefined)
    if (fault?.kind === 'fork') return forkOf(checkpoint.size, last.size, evidence)
    return new LogFault('rollback', `The log has ${checkpoint.size} entries, and had ${last.size}.`, evidence)
  }

  /** Compares a checkpoint from another source. Throws a LogFault if neither tree contains the other. */
  async compare(text: string): Promise<void> {
    const other = await openSigned(text, this.policy)
    const { checkpoint } = this.#last!
    const { size } = checkpoint
    if (other.size > size)
      throw new LogFault('rollback', `The log has ${size} entries, and signed ${other.size}.`, [
        formatNote(checkpoint.note),
        text,
      ])
    const fault = await this.#treeFault(other, checkpoint)
    if (fault) throw fault
  }

  /**
   * Returns a fork if the tiles prove that a tree does not contain an older one. Throws if the tiles cannot
   * be read.
   */
  async #treeFault(older: Checkpoint, checkpoint: Checkpoint): Promise<LogFault | undefined> {
    const { size } = checkpoint
    const evidence = evidenceOf(older, checkpoint)
    try {
      const isContained = await beginsWith(this.#tiles, older, checkpoint)
      return isContained ? undefined : forkOf(older.size, size, evidence)
    } catch (error) {
      if (!(error instanceof LogFault || error instanceof TlogError)) throw error
      return new LogFault('entries', `The tiles are not those of the tree of size ${size}.`, evidence)
    }
  }

  async #bundle(index: number, size: number): Promise<Uint8Array[]> {
    const tile = tileOf('entries', index, size)
    const entries = await faultOf('format', async () => decodeBundle(...(await this.#partial(tile))))
    return entries.slice(0, tile.width)
  }

  /** Content and width of a tile; the full tile if the partial one was deleted (c2sp.org/tlog-tiles). */
  async #partial(tile: Tile): Promise<[content: Uint8Array, width: number]> {
    const path = tilePath(tile)
    if (tile.width === TILE_WIDTH) return [await this.#file(path), TILE_WIDTH]
    // A static copy does not state that a file is absent, so an error does not end the search.
    const [content, failure] = await this.files(path).then(
      (each) => [each] as const,
      (error: unknown) => {
        if (error instanceof LogFault) throw error
        return [undefined, error as Error] as const
      },
    )
    if (content) return [content, tile.width]
    const full = await this.files(tilePath({ ...tile, width: TILE_WIDTH }))
    if (full) return [full, TILE_WIDTH]
    throw failure ?? new LogFault('format', `${path} is missing.`)
  }

  /** Reads tiles of smaller trees, which may not be published, from those of a tree of `size`. */
  #within(size: number): TileSource {
    return async (tiles) => {
      const contents = await this.#tiles(tiles.map(({ level, index }) => tileOf(level, index, size)))
      return contents.map((content, at) => content.subarray(0, HASH_SIZE * tiles[at]!.width))
    }
  }

  async #file(path: string): Promise<Uint8Array> {
    const content = await this.files(path)
    if (!content) throw new LogFault('format', `${path} is missing.`)
    return content
  }

  readonly #tiles = async (tiles: readonly Tile[]): Promise<Uint8Array[]> =>
    Promise.all(
      tiles.map(async (tile) => {
        const [content, width] = await this.#partial(tile)
        return width === tile.width ? content : content.subarray(0, HASH_SIZE * tile.width)
      }),
    )
}
