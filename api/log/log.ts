import { Gauge, type Registry } from 'prom-client'
import type { FastifyBaseLogger } from 'fastify'
import {
  TILE_WIDTH,
  formatPolicy,
  formatProof,
  formatVerifierKey,
  inclusionProof,
  parseCheckpoint,
  parsePolicy,
  parseSignerKey,
  signatureBy,
  verifyInclusion,
  withTiles,
  type Policy,
  type SignerKey,
  type Tile,
} from '../../src/tlog'
import { registerFigures } from '../http/figures'
import { RecordsError, UnavailableError } from '../http/problems'
import type { SafeSender } from '../outgoing'
import type { DatabaseServers } from '../store'
import { openKey, originOf } from './key'
import { Sequencer, type SequencerOptions } from './sequencer'
import { LogStore, type LogState } from './store'
import { TileCache } from './tile-cache'
import { Witnesses } from './witnesses'
import { LogWriter } from './writer'

export interface LogParts {
  servers: DatabaseServers
  publicBaseUrl: string
  /** Key in the setting LOG_KEY. */
  key: SignerKey | undefined
  /** Witnesses and their quorum; undefined if no witness cosigns. */
  policy: Policy | undefined
  sender: SafeSender
  /** Unix milliseconds */
  clock: () => number
  logger: FastifyBaseLogger
  options?: Partial<SequencerOptions>
}

/** The transparency log of this deployment, in one API process. */
export class SignatureLog {
  readonly store: LogStore
  private readonly witnesses: Witnesses | undefined
  private readonly sequencer: Sequencer
  private readonly writer: LogWriter
  private readonly tiles = new TileCache()

  constructor(private readonly parts: LogParts) {
    const { servers, publicBaseUrl, key, policy, sender, clock, logger, options } = parts
    this.store = new LogStore(servers)
    this.witnesses = policy?.witnesses.size ? new Witnesses(policy, sender, this.store) : undefined
    const open = () => openKey(this.store, key, originOf(publicBaseUrl))
    this.sequencer = new Sequencer(this.store, open, this.witnesses, logger, options)
    const refusal = () => this.sequencer.contradiction
    this.writer = new LogWriter({ store: this.store, clock, refusal, reason: this.closedBy })
  }

  readonly append: LogWriter['append'] = (...given) => this.writer.append(...given)

  start(): void {
    this.sequencer.start()
  }

  async stop(): Promise<void> {
    await this.sequencer.stop()
    await this.parts.sender.close()
  }

  /** Returns the state of the log. Throws an UnavailableError until a process has created it. */
  async state(): Promise<LogState> {
    return this.existing(await this.store.state())
  }

  private existing<T>(read: T | undefined): T {
    if (read === undefined)
      throw new UnavailableError(`The transparency log does not exist yet. ${this.sequencer.problem}`)
    return read
  }

  /** Returns why this process commits no entry now; undefined if entries are accepted. */
  notReady({ open, stopped }: LogState): string | undefined {
    return this.sequencer.contradiction ?? (open ? undefined : this.closedBy(stopped))
  }

  /** Returns the reason why the log is closed: the stored reason, otherwise the problem of this process. */
  private readonly closedBy = (stopped: string | null | undefined): string =>
    stopped ?? (this.sequencer.problem || 'no API process has confirmed its state yet.')

  /**
   * Returns the verifier key, and the policy that names it, with https URLs of witnesses: one with http or a
   * password is for this service only. Throws an UnavailableError if LOG_KEY is missing or another key.
   */
  async verifier({ key: text, published }: LogState): Promise<{ key: string; policy: string }> {
    const key = this.parts.key ?? (text === null ? undefined : await parseSignerKey(text))
    if (!key || !(await signatureBy(parseCheckpoint(published).note, key)))
      throw new UnavailableError(`The key of the transparency log is unknown: ${this.closedBy(null)}`)
    const { witnesses: all, groups, quorum } = this.parts.policy ?? parsePolicy('quorum none')
    const witnesses = new Map(
      [...all].map(([name, each]) => [name, isPublic(each.url) ? each : { key: each.key }] as const),
    )
    return {
      key: formatVerifierKey(key),
      policy: formatPolicy({ logs: [{ key }], witnesses, groups, quorum }),
    }
  }

  /** Returns the proof of a published leaf (c2sp.org/tlog-proof), read by `store`. Throws a RecordsError. */
  async proof(leaf: Uint8Array, store: LogStore): Promise<string> {
    const place = this.existing(await store.find(leaf))
    const { published, publishedSize: size, known, position: index, hashes } = place
    if (!known)
      throw new RecordsError(
        'not-found',
        'The log has no entry with this leaf hash. Send log.leaf of an answer of this deployment; after log.by has passed, keep the answer as evidence',
      )
    if (index === null || index >= size)
      throw new RecordsError(
        'not-published',
        'The entry is committed, but no published checkpoint includes it yet',
      )
    const checkpoint = parseCheckpoint(published)
    if (hashes) this.tiles.add({ level: 0, index: Math.floor(index / TILE_WIDTH), width: TILE_WIDTH }, hashes)
    const read = () =>
      withTiles(
        (tiles) => this.tiles.read(tiles, (missing) => store.tiles(missing)),
        size,
        (hashOf) => inclusionProof(hashOf, index, size),
      )
    let proof = await read()
    const isValid = () => verifyInclusion(leaf, index, checkpoint, proof)
    if (!isValid()) {
      // The cached tiles belong to another database, for example to the one before a restore.
      this.tiles.clear()
      proof = await read()
      if (!isValid()) throw new Error(`The stored tiles are not those of the published tree of size ${size}.`)
    }
    return formatProof({ index, hashes: proof }, checkpoint.note)
  }

  async has({ level, index, width }: Tile): Promise<boolean> {
    const { publishedSize } = await this.state()
    return (index * TILE_WIDTH + width) * TILE_WIDTH ** (level === 'entries' ? 0 : level) <= publishedSize
  }

  /** Registers the metrics of this process, without those of the database, which all processes share. */
  register(registry: Registry): void {
    const { writer, witnesses } = this
    registerFigures(registry, [
      {
        name: 'geospatial_log_entries_total',
        help: 'Entries of the transparency log that this process has committed',
        read: () => writer.committed,
      },
    ])
    if (!witnesses) return
    registerFigures(registry, [
      {
        name: 'geospatial_log_witness_requests_total',
        help: 'Requests for cosignatures, by witness and outcome: cosigned or failed',
        labels: ['witness', 'outcome'],
        read: () =>
          [...witnesses.counts].flatMap(([witness, counts]) =>
            Object.entries(counts).map(([outcome, count]) => [{ witness, outcome }, count] as const),
          ),
      },
    ])
  }

  /** Registers the metrics of the database, and returns a function that updates them. */
  registerState(registry: Registry): () => Promise<void> {
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
    const size = gauge('geospatial_log_size', 'Entries in the tree of the transparency log')
    const published = gauge(
      'geospatial_log_published_size',
      'Entries in the tree of its published checkpoint',
    )
    const backlog = gauge('geospatial_log_backlog', 'Committed entries that the tree does not have yet')
    const open = gauge('geospatial_log_open', '1 if the log accepts entries; otherwise nothing is signed')
    return async () => {
      const state = await this.store.state().catch(() => undefined)
      const waiting = state && (await this.store.backlog().catch(() => undefined))
      if (!state || waiting === undefined) return open.set(0)
      size.set(state.size)
      published.set(state.publishedSize)
      backlog.set(waiting)
      open.set(this.notReady(state) === undefined ? 1 : 0)
    }
  }
}

function isPublic(url: string | undefined): boolean {
  if (url === undefined) return false
  const { protocol, username, password, search } = new URL(url)
  return protocol === 'https:' && username + password + search === ''
}
