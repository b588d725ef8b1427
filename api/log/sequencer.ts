import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyBaseLogger } from 'fastify'
import {
  EMPTY_ROOT,
  HASH_SIZE,
  TILE_WIDTH,
  TreeEdge,
  decodeBundle,
  encodeBundle,
  equalBytes,
  formatNote,
  leafHash,
  parseCheckpoint,
  signatureBy,
  type NoteSignature,
  type SignerKey,
  type Tile,
} from '../../src/tlog'
import { NEW_LOG, signedCheckpoint } from './key'
import type { Group, LogState, LogStore, Step } from './store'
import type { Round, Witnesses } from './witnesses'

const compress = promisify(gzip)

/** Periods of the sequencer, in milliseconds. */
export interface SequencerOptions {
  pollMs: number
  /** Time after which the lease of a process that does not renew it expires, and interval of the renewals. */
  leaseMs: number
  renewMs: number
  /** Time without a renewal for which entries are accepted: above the lease, to outlast a failover. */
  openMs: number
  /** Interval between requests to witnesses that did not cosign the last checkpoint. */
  retryMs: number
}
const USUAL: SequencerOptions = {
  pollMs: 500,
  leaseMs: 6_000,
  renewMs: 2_000,
  openMs: 30_000,
  retryMs: 5_000,
}
/** Bytes of entries per step, about 8,000 entries; halved while steps fail, for example by a time limit. */
const STEP_BYTES = { most: 5_000_000, least: 150_000 }

const REMEDY = `The database was restored from an older backup or lost commits. Restore a newer state, or ${NEW_LOG}`

interface Tree {
  edge: TreeEdge
  /** Entries of the partial bundle, and the groups that have them. */
  entries: Uint8Array[]
  groups: PlacedGroup[]
}
type PlacedGroup = Group & { position: number }

/**
 * Assigns positions to entries, and signs checkpoints, in the process with the lease. Safety does not depend
 * on the lease: a step applies only to the tree on which it was computed. Entries are accepted once
 * witnesses have confirmed that no larger tree exists, again on another server (`log_here`), such as a
 * promoted replica or a restored backup.
 */
export class Sequencer {
  private readonly holder = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`
  private readonly options: SequencerOptions
  private readonly stopping = new AbortController()
  private running: Promise<void> = Promise.resolve()
  private key: SignerKey | undefined
  private tree: Tree | undefined
  /** State at the last read. `held` is true if this process has the lease. */
  private state: (LogState & { held: boolean }) | undefined
  private claimedAt = -Infinity
  /** Database server on which this process has confirmed the state. */
  private confirmed: string | undefined
  /** Largest tree that this process has seen. */
  private seen = { size: 0, root: EMPTY_ROOT }
  private stepBytes = STEP_BYTES.most
  /** Last checkpoint that this process has published, with its cosignatures. */
  private published: string | undefined
  private cosigning: Promise<void> | undefined
  private cosignedAt = -Infinity
  /** Last checkpoint for which witnesses were asked, and the time after which they may be asked again. */
  private asked = { checkpoint: '', again: Infinity }
  /** Reason why this process does not accept the tree or the key of the database. It then signs nothing. */
  contradiction: string | undefined
  /** Reason why this process makes no progress; empty while it does. */
  problem = ''
  /** Witnesses that did not cosign the last checkpoint, as a list of names. */
  private missing = ''

  constructor(
    private readonly store: LogStore,
    private readonly openKey: () => Promise<SignerKey>,
    private readonly witnesses: Witnesses | undefined,
    private readonly logger: FastifyBaseLogger,
    options: Partial<SequencerOptions> = {},
  ) {
    this.options = { ...USUAL, ...options }
  }

  start(): void {
    this.running = this.run()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
    await this.cosigning
    await this.store.release(this.holder).catch(() => {})
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping
    while (!signal.aborted) {
      let isBehind = false
      try {
        isBehind = await this.tick()
        // Until the next claim, the reason why the last one failed remains.
        if (!this.state?.held || this.confirmed) this.report('')
      } catch (error) {
        this.tree = undefined
        this.report((error as Error).message)
      }
      if (!isBehind) await pause(this.options.pollMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Logs a problem once when it begins, and once when no problem remains. */
  private report(problem: string): void {
    if (problem === this.problem) return
    if (problem) this.logger.error({ reason: problem }, 'the transparency log accepts no entries')
    else this.logger.info('the transparency log continues')
    this.problem = problem
  }

  /**
   * Renews the lease, appends entries, and asks for cosignatures. Returns true if more entries may be
   * pending. A flood of entries delays neither the renewal nor the witnesses.
   */
  private async tick(): Promise<boolean> {
    this.key ??= await this.openKey()
    if (performance.now() - this.claimedAt >= this.options.renewMs || !this.state?.held) await this.claim()
    if (!this.state?.held || !this.confirmed) return false
    const isBehind = await this.step()
    if (this.witnesses && (!isBehind || performance.now() - this.cosignedAt >= this.options.pollMs))
      this.cosignLater(this.witnesses)
    return isBehind
  }

  private async claim(): Promise<void> {
    const { leaseMs, openMs } = this.options
    // While steps fail, renewals do not keep the log open: its entries would miss the promised time.
    const claim = (opening?: Pick<LogState, 'stopped'>) => {
      const confirmed = opening || !this.problem ? this.confirmed : undefined
      return this.store.claim(this.holder, leaseMs / 1000, openMs / 1000, confirmed, opening)
    }
    const began = performance.now()
    const state = await claim()
    if (!state) throw new Error('The log of the database does not exist any more.')
    this.claimedAt = began
    const wasHeld = this.state?.held
    this.state = state
    const otherKey = await this.keyProblemOf(state)
    const problem = otherKey ?? this.treeProblemOf(state)
    this.contradiction = problem
    // Without the lease, refuse() would send its statements at each poll, without an effect.
    if (problem && !state.held) throw new Error(problem)
    if (problem) await this.refuse(problem, otherKey !== undefined)
    this.seen = { size: state.size, root: state.root }
    if (!state.held) return
    if (!wasHeld || this.confirmed !== state.here || state.stopped !== null) {
      this.tree = undefined
      this.confirmed = undefined
      this.published = state.published
      // A round that began earlier may close the log, and must not do so after the confirmation.
      await this.cosigning
      await this.confirm(state)
      this.confirmed = state.here
      this.open((await claim(state))!)
    }
  }

  /** Notes the state after a confirmation. Throws an Error if the log was closed in the meantime. */
  private open(state: LogState & { held: boolean }): void {
    this.state = state
    const { origin, size, held, stopped, open } = state
    if (!held || stopped !== null) this.confirmed = undefined
    if (held && stopped !== null) throw new Error(stopped)
    if (open) this.logger.info({ origin, entries: size }, 'the transparency log accepts entries')
  }

  /** Returns the reason why this process cannot sign the tree. Another process may have the key. */
  private async keyProblemOf({ origin, checkpoint }: LogState): Promise<string | undefined> {
    if (await signatureBy(parseCheckpoint(checkpoint).note, this.key!)) return undefined
    return `LOG_KEY is a key of ${this.key!.name}, but the log ${origin} of the database has another key. Set LOG_KEY to that key, or ${NEW_LOG}`
  }

  /** Returns the reason why the tree cannot be continued, as far as this process knows. */
  private treeProblemOf({ size, root }: LogState): string | undefined {
    const { seen } = this
    if (size < seen.size) return `it had ${seen.size} entries, but the database has ${size} now. ${REMEDY}`
    if (size === seen.size && size > 0 && !equalBytes(root, seen.root))
      return `the tree of ${size} entries has changed. ${REMEDY}`
    return undefined
  }

  /** Asks the witnesses for a larger tree. Throws an Error if one knows one, or too few respond. */
  private async confirm(state: LogState): Promise<void> {
    const { checkpoint, size } = state
    const signed = await this.signed(parseCheckpoint(checkpoint))
    if (!this.witnesses) return this.store.publish(this.holder, signed, size)
    const round = await this.witnesses.cosign(signed)
    this.noteRound(checkpoint, round)
    if (round.ahead === undefined && !round.isConfirmed) {
      const silent = round.failures.map(({ witness, reason }) => `${witness} (${reason})`).join(', ')
      return this.refuse(
        `too few witnesses have confirmed its size. No cosignature was received from ${silent}. Start these witnesses, or correct the policy that LOG names.`,
        true,
      )
    }
    await this.publish(round, size)
  }

  /** Publishes a cosigned checkpoint. Stops the log if a witness knows another tree. */
  private async publish({ ahead, checkpoint }: Round, size: number): Promise<void> {
    if (ahead !== undefined) await this.refuse(`the witness ${ahead}. ${REMEDY}`)
    this.published = withSignaturesOf(checkpoint, this.published)
    await this.store.publish(this.holder, this.published, size)
  }

  /**
   * Closes the log for new entries, and throws an Error with the reason.
   * @param isOwn true if another process may be able to open the log: it can then acquire the lease
   */
  private async refuse(reason: string, isOwn = false): Promise<never> {
    this.confirmed = undefined
    await this.store.stop(this.holder, reason)
    if (isOwn) await this.store.release(this.holder)
    throw new Error(reason)
  }

  /** Appends pending groups of entries. Returns false if no more of them are waiting. */
  private async step(): Promise<boolean> {
    const waiting = await this.store.waiting(this.stepBytes)
    if (waiting.length === 0) return false
    this.tree ??= await this.readTree()
    const { edge, entries, groups } = this.tree
    const old = { size: edge.size, root: edge.root() }
    const tiles = new Map<string, { tile: Tile; hashes: Uint8Array }>()
    const note = (tile: Tile, hashes: Uint8Array) =>
      tiles.set(`${tile.level}/${tile.index}`, { tile, hashes })
    const bundles: { index: number; entries: Buffer }[] = []
    for (const group of waiting) {
      groups.push({ ...group, position: edge.size })
      for (const [at, entry] of entriesOf(group).entries()) {
        edge.append(group.leaves.subarray(at * HASH_SIZE, (at + 1) * HASH_SIZE), note)
        entries.push(entry)
        if (entries.length < TILE_WIDTH) continue
        // Compressed one bundle at a time, so that a large step delays answers of this process by at most a
        // millisecond.
        const bundle = await compress(encodeBundle(entries.splice(0)))
        bundles.push({ index: edge.size / TILE_WIDTH - 1, entries: bundle })
      }
    }
    // A partial tile of a higher level changes only when a tile below it becomes full.
    if (bundles.length > 0)
      for (const { tile, hashes } of edge.partialTiles()) if (tile.level !== 0) note(tile, hashes)
    const head = { size: edge.size, root: edge.root() }
    const content = createHash('sha256')
    for (const group of groups.toSorted((a, b) => a.id - b.id))
      content.update(group.entries).update(group.leaves)
    const isBundled = (group: PlacedGroup) => endOf(group) <= edge.size - entries.length
    const placed = groups.filter((group) => !isBundled(group))
    const step: Step = {
      ...{ old, head, checkpoint: await this.signed(head), publish: !this.witnesses },
      content: content.digest(),
      bundled: groups.filter(isBundled).map(({ id }) => id),
      placed,
      bundles,
      tiles: [...tiles.values()].map(({ tile, hashes }) => ({
        level: tile.level as number,
        index: tile.index,
        hashes,
      })),
    }
    // If the commit fails or its result is unknown, the next step reads the tree from the database.
    this.tree = undefined
    this.stepBytes = Math.max(STEP_BYTES.least, this.stepBytes / 2)
    if (!(await this.store.apply(this.holder, step)))
      throw new Error('Another process has changed the tree of the transparency log.')
    this.tree = { edge, entries, groups: placed }
    this.stepBytes = Math.min(STEP_BYTES.most, 4 * this.stepBytes)
    this.seen = head
    this.state = {
      ...this.state!,
      ...{ size: head.size, root: Buffer.from(head.root), checkpoint: step.checkpoint },
    }
    return head.size - old.size >= TILE_WIDTH
  }

  private async readTree(): Promise<Tree> {
    const state = await this.store.state()
    const groups = await this.store.partial()
    const size = state?.size ?? 0
    const edge = await TreeEdge.read((tiles) => this.store.tiles(tiles), size)
    const start = size - (size % TILE_WIDTH)
    const entries = groups.flatMap(entriesOf)
    const first = groups[0]?.position ?? size
    const isWhole =
      first <= start &&
      groups.every(
        (group, i) => endOf(group) > start && endOf(group) === (groups[i + 1]?.position ?? size),
      ) &&
      equalBytes(Buffer.concat(entries.map(leafHash)), Buffer.concat(groups.map(({ leaves }) => leaves)))
    if (!state || !isWhole || !equalBytes(edge.root(), state.root))
      throw new Error(`The tiles of the transparency log do not match its ${size} entries.`)
    return { edge, entries: entries.slice(start - first), groups }
  }

  private signed({ size, root }: { size: number; root: Uint8Array }): Promise<string> {
    return signedCheckpoint({ origin: this.key!.name, size, root }, this.key!)
  }

  /** Asks for cosignatures of the last checkpoint, unless requests are pending or not due. */
  private cosignLater(witnesses: Witnesses): void {
    const { checkpoint, size } = this.state!
    if (this.cosigning || (checkpoint === this.asked.checkpoint && performance.now() < this.asked.again))
      return
    this.cosignedAt = performance.now()
    this.cosigning = witnesses
      .cosign(checkpoint)
      .then((round) => {
        this.noteRound(checkpoint, round)
        return this.publish(round, size)
      })
      .catch((error: Error) => this.report(error.message))
      .finally(() => (this.cosigning = undefined))
  }

  private noteRound(checkpoint: string, { failures }: Round): void {
    const again = failures.length === 0 ? Infinity : performance.now() + this.options.retryMs
    this.asked = { checkpoint, again }
    const missing = failures.map(({ witness }) => witness).join()
    if (missing !== this.missing && missing)
      this.logger.warn({ failures }, 'witnesses do not cosign checkpoints of the transparency log')
    this.missing = missing
  }
}

const sizeOf = ({ leaves }: Group) => leaves.length / HASH_SIZE
const entriesOf = (group: Group) => decodeBundle(group.entries, sizeOf(group))
/** Position after the last entry of a group. */
const endOf = (group: PlacedGroup) => group.position + sizeOf(group)

/** Returns a checkpoint with the signatures that it lacks and that an earlier note of the same tree has. */
function withSignaturesOf(checkpoint: string, earlier: string | undefined): string {
  const { text, signatures } = parseCheckpoint(checkpoint).note
  const other = earlier === undefined ? undefined : parseCheckpoint(earlier).note
  if (other?.text !== text) return checkpoint
  const isMissing = ({ name, id }: NoteSignature) =>
    !signatures.some((each) => each.name === name && each.id === id)
  return formatNote({ text, signatures: [...signatures, ...other.signatures.filter(isMissing)] })
}
